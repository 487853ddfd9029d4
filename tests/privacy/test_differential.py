"""Differential privacy as a requirement: sums of losses against other formulas, and plans that leave out a cost."""

import json
from math import erf, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar

import shoal
from shoal.judges.privacy_bought import PrivacyBought
from shoal.kernels.concentrated import epsilon_of
from shoal.mask.private_noise import PrivateNoise
from shoal.vocabulary.errors import PlanError, Refused
from shoal.vocabulary.facts import PrivacyLoss

N = 60
BOUNDS = {"pay": [0, 100], "tax": [0, 40]}
LAPLACE = {"mask": "laplace", "epsilon": 0.1, "columns": ["pay"], "bounds": BOUNDS}
ON_TAX = {"mask": "geometric", "epsilon": 0.2, "columns": ["tax"], "bounds": BOUNDS}
MARGINALS = {
    "mask": "private-marginals",
    "epsilon": 1.0,
    "delta": 1e-6,
    "domain": {"pay": [0, 25, 50, 75, 100], "tax": [0, 10, 20, 40]},
}
ROLES: dict[str, Any] = {"pay": "confidential", "tax": "confidential"}


def people(**more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    pay = rng.integers(10, 90, N).astype(float)
    return pl.DataFrame({"pay": pay, "tax": np.round(pay / 3), **more})


def verdict(
    steps: list[dict[str, Any]], epsilon: float, delta: float = 0.0, table: pl.DataFrame | None = None, **sections: Any
) -> Any:
    required = {"privacy": "differential", "epsilon": epsilon, "delta": delta}
    plan = {"columns": ROLES, "steps": steps, "requirements": [required], **sections}
    try:
        release = shoal.protect(people() if table is None else table, plan, seed=1)
    except Refused as refused:
        return refused.verdicts[0]
    return release.evidence.verdicts[0]


def delta_of_gaussian(sigma: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise on a count (Balle & Wang 2018, theorem 8)."""

    def normal(x: float) -> float:
        return 0.5 * (1 + erf(x / sqrt(2)))

    return normal(0.5 / sigma - epsilon * sigma) - exp(epsilon) * normal(-0.5 / sigma - epsilon * sigma)


@pytest.mark.parametrize("rho", [1e-4, 0.015, 0.3, 4.0, 60.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
def test_epsilon_of_a_rho_is_that_of_the_best_order_and_no_less_than_gaussian_noise_has(
    rho: float, delta: float
) -> None:
    def at(logarithm: float) -> float:
        a = 1 + exp(logarithm)
        return a * rho + log(1 / (delta * (a - 1))) / (a - 1) + a * log(1 - 1 / a) / (a - 1)

    reached = epsilon_of(rho, delta)
    best = minimize_scalar(at, bounds=(-12, 40), method="bounded", options={"xatol": 1e-10}).fun
    assert reached == pytest.approx(max(best, 0), rel=1e-7)
    assert delta_of_gaussian(1 / sqrt(2 * rho), reached) <= delta * (1 + 1e-6)
    assert reached <= rho + 2 * sqrt(rho * log(1 / delta))  # Bun & Steinke (2016), proposition 1.3


def test_losses_add_up_as_epsilons_or_as_rhos_whichever_is_less() -> None:
    def account(*losses: PrivacyLoss) -> PrivacyBought:
        return PrivacyBought(losses=losses, whole=False, records=1, persons=False, beyond="")

    pure = PrivacyLoss(epsilon=0.1, columns=("x",), rho=0.005)
    assert account(pure).epsilon_at(0) == 0.1
    assert account(*[pure] * 3).epsilon_at(0) == pytest.approx(0.3)
    many = account(*[pure] * 400)
    assert many.epsilon_at(0) == pytest.approx(40)
    assert many.epsilon_at(1e-9) == pytest.approx(epsilon_of(2.0, 1e-9), rel=1e-9)
    assert many.epsilon_at(1e-9) < 15
    with_delta = PrivacyLoss(epsilon=1.0, columns=("x",), delta=1e-6)
    assert account(with_delta).epsilon_at(1e-6) == 1.0
    assert account(with_delta).epsilon_at(0.9e-6) is None
    assert account(pure, with_delta).epsilon_at(1e-6) == pytest.approx(1.1)
    assert account(*[PrivacyLoss(epsilon=1.0, columns=("x",), delta=1e-9)] * 3).epsilon_at(3e-9) == 3.0


def test_noise_on_all_columns_adds_up() -> None:
    reached = verdict([LAPLACE, ON_TAX], 0.3)
    assert reached.holds
    assert reached.achieved == pytest.approx(0.3)
    assert reached.sentence == (
        "What stands in the noisy cells of a record changes the odds of all that is released by a factor of exp(0.3) "
        "at most."
    )
    reached = verdict([LAPLACE, ON_TAX], 0.29)
    assert not reached.holds
    assert "spend an epsilon of 0.3 at a delta of 0" in reached.sentence


def test_a_table_made_anew_holds_at_its_own_delta_and_at_others_for_more() -> None:
    reached = verdict([MARGINALS], 1.0, 1e-6)
    assert reached.holds
    assert reached.achieved <= 1.0
    assert reached.sentence.startswith("Whether a record is in the table changes the odds of all that is released")
    assert not verdict([MARGINALS], 1.0, 1e-7).holds
    stricter = verdict([MARGINALS], 1.5, 1e-7)
    assert stricter.holds
    assert 1.0 < stricter.achieved < 1.2
    assert verdict([MARGINALS], 1.0, 1e-5).achieved < 0.95
    assert "spend a delta of 1e-06, and 0 is allowed" not in stricter.sentence
    assert verdict([MARGINALS], 20.0).sentence.startswith("Not proved: the steps spend a delta of 1e-06, and 0 is")


def test_of_persons_says_so() -> None:
    columns = {**ROLES, "who": {"role": "person", "release_key": False}}
    table = people(who=np.arange(N) // 3)
    step = {**MARGINALS, "records_per_person": 2}
    reached = verdict([step], 1.0, 1e-6, table, columns=columns)
    assert reached.holds
    assert "Whether a person is in the table, with 2 records at most that count, changes the odds" in reached.sentence


KEEPING = {**ROLES, "pay": {"role": "confidential", "missing": "keep"}}
BANDS = {**ROLES, "pay": {"role": "confidential", "hierarchy": {"equal-frequency": [2, 4]}}}
MORE = {"steps": [LAPLACE, ON_TAX]}


@pytest.mark.parametrize(
    ("sections", "more", "named"),
    [
        ({"steps": [LAPLACE]}, {}, "'tax' is released as it is or changed by other steps"),
        ({"steps": [{**LAPLACE, "columns": ["pay"]}], "columns": {**ROLES, "tax": "other"}}, {}, "'tax' is released"),
        ({**MORE, "constraints": {"rules": ["tax <= pay"], "broken_rules": "report"}}, {}, "whether the table keeps"),
        ({**MORE, "columns": KEEPING}, {}, "which cells of 'pay' are missing has no noise"),
        (
            {**MORE, "columns": {**ROLES, "who": {"role": "person", "release_key": False}}},
            {"who": np.arange(N) // 2},
            "'who' may have more of them than records_per_person",
        ),
        (
            {
                "columns": {**ROLES, "name": "identifier"},
                "steps": [LAPLACE, ON_TAX, {"partition": "mdav", "k": 5, "columns": ["pay"], "replace": "centroid"}],
            },
            {"name": [f"n{i}" for i in range(N)]},
            "",
        ),
        (
            {
                "columns": {**ROLES, "name": "identifier"},
                "steps": [LAPLACE, ON_TAX, {"mask": "data-swap", "share": 0.2, "columns": ["pay"]}],
            },
            {"name": [f"n{i}" for i in range(N)]},
            "data-swap may look at 'name', on which no private step works",
        ),
    ],
    ids=["bare", "another role", "rules", "gaps", "persons", "groups of noisy cells", "may look"],
)
def test_what_is_not_paid_for_is_named(sections: dict[str, Any], more: dict[str, Any], named: str) -> None:
    steps = sections.pop("steps")
    reached = verdict(steps, 100.0, 0.1, people(**more), **sections)
    assert reached.holds is not bool(named), reached.sentence
    assert named in reached.sentence


def test_a_plan_that_spends_nothing_and_a_table_alone_prove_nothing() -> None:
    swapped = [{"partition": "mdav", "k": 3, "columns": ["pay", "tax"], "replace": "centroid"}]
    assert "No step of the plan is differentially private" in verdict(swapped, 1.0).sentence
    reached = shoal.Differential(epsilon=1.0).check(people())
    assert not reached.holds
    assert "No table shows by itself how it was made" in reached.sentence
    plan = {"columns": ROLES, "requirements": [{"privacy": "differential", "epsilon": 1.0}]}
    assert not shoal.audit(people(), plan).verdicts[0].holds


def test_a_release_is_written_proved_and_says_so(tmp_path: Path) -> None:
    plan = {
        "columns": ROLES,
        "steps": [MARGINALS],
        "requirements": [{"privacy": "differential", "epsilon": 1.0, "delta": 1e-6}],
    }
    shoal.protect(people(), plan, tmp_path, seed=1)
    evidence = json.loads((tmp_path / "release" / "evidence.json").read_text())
    (shown,) = evidence["requirements"]
    assert shown["holds"]
    assert shown["requirement"] == "differential privacy (epsilon 1, delta 1e-06)"
    assert shown["achieved"] <= 1.0
    assert "at most, but for a probability of 1e-06." in shown["sentence"]


# Attacks: the mechanism's answers held fixed, two tables, one public folder

KEPT = {name: {"role": "other", "missing": "refuse"} for name in ("pay", "tax")}
NOISE = {**LAPLACE, "epsilon": 50, "columns": ["pay", "tax"]}
ANSWERS = np.round(np.random.default_rng(7).uniform(0, 100, N), 3)
AS_ANSWERED = pl.DataFrame({"pay": np.arange(N) * 1.0, "tax": ANSWERS})
NEAR = pl.DataFrame({"pay": np.arange(N) * 1.0, "tax": ANSWERS + 0.0001})
BOTH_AS_ANSWERED = pl.DataFrame({"pay": ANSWERS, "tax": ANSWERS})
FAR = pl.DataFrame({"pay": np.full(N, 50.0), "tax": np.arange(N) * 1.0})


@pytest.mark.parametrize("accept", [[], ["pay", "tax"]], ids=["nothing accepted", "both accepted"])
@pytest.mark.parametrize("table", [AS_ANSWERED, NEAR, BOTH_AS_ANSWERED], ids=["one", "near", "both"])
def test_noise_that_happens_to_be_little_neither_stops_a_release_nor_shows(
    table: pl.DataFrame, accept: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrivateNoise, "_noisy", lambda self, variable, *_: (variable.with_values(ANSWERS), {}))
    plan = {
        "columns": KEPT,
        "steps": [NOISE],
        "requirements": [{"privacy": "differential", "epsilon": 50}],
        "accept": accept,
    }
    folders = []
    for name, frame in (("first", table), ("second", FAR)):
        shoal.protect(frame, plan, tmp_path / name, seed=1)
        folders.append({file.name: file.read_bytes() for file in sorted((tmp_path / name / "release").iterdir())})
    assert folders[0] == folders[1]


def test_an_epsilon_that_hides_nothing_does_not_keep_a_release_from_being_stopped() -> None:
    tens = pl.DataFrame(
        {"pay": np.arange(N) % 11 * 10.0, "tax": np.arange(N) // 11 % 11 * 10.0, "sex": ["f", "m"] * 30}
    )
    kept = {"columns": {**KEPT, "sex": "quasi-identifier"}, "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    with pytest.raises(Refused, match="'pay' changed, but most of its cells still tell the original ones"):
        shoal.protect(tens, {**kept, "steps": [{**NOISE, "epsilon": 90}]}, seed=1)
    assert shoal.protect(tens, {**kept, "steps": [{**NOISE, "epsilon": 9}]}, seed=1).evidence.verdicts[0].holds


TREES: dict[str, Any] = {
    "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"any": ["female", "male"]}}},
    "town": {"role": "other", "hierarchy": {"nested": {"all": ["Bonn", "Cork", "Evora"]}}},
}
SAFEPUB = {"mask": "safepub", "epsilon": 2.0, "delta": 1e-3, "levels": {"sex": [0, 0], "town": [0, 0]}}


def townspeople(n: int = 400) -> pl.DataFrame:
    return pl.DataFrame({"sex": ["female", "male"] * (n // 2), "town": ["Bonn", "Cork"] * (n // 2)})


def test_units_that_a_later_step_draws_must_be_paid_for() -> None:
    table = townspeople().with_columns(who=pl.Series(np.arange(400)))
    sample = {"mask": "sample", "fraction": 0.5}
    for role in ("person", "household"):
        columns = {**TREES, "who": {"role": role, "release_key": False}}
        reached = verdict([SAFEPUB, sample], 2.0, 1e-3, table, columns=columns)
        assert not reached.holds
        assert "sample may look at 'who', on which no private step works" in reached.sentence
        assert verdict([SAFEPUB], 2.0, 1e-3, table, columns=columns).holds
    assert verdict([SAFEPUB, sample], 2.0, 1e-3, table, columns={**TREES, "who": "identifier"}).holds


def test_a_stop_by_the_ledger_must_be_paid_for_where_it_says_who_was_drawn(tmp_path: Path) -> None:
    table = townspeople().with_columns(who=pl.Series([f"P{i}" for i in range(400)]))
    plan: dict[str, Any] = {
        "columns": {**TREES, "who": "identifier"},
        "steps": [SAFEPUB],
        "requirements": [{"privacy": "differential", "epsilon": 2.0, "delta": 1e-3}],
        "ledger": {"key": "who"},
    }
    with pytest.raises(Refused, match="the ledger looks at whose records were drawn"):
        shoal.protect(table, plan, tmp_path / "drawn", seed=1)
    shared = {"sex": ["female", "male"], "town": ["Bonn", "Cork"]}
    anew = {"mask": "private-marginals", "epsilon": 2.0, "delta": 1e-3, "domain": shared}
    columns = {"sex": "quasi-identifier", "town": "other", "who": "identifier"}
    shoal.protect(table, {**plan, "columns": columns, "steps": [anew]}, tmp_path / "anew", seed=1)


def test_the_order_of_a_sampled_table_is_not_kept_and_that_of_new_records_never_was() -> None:
    with pytest.raises(PlanError, match=r"output: shuffle must be true, for in the order of the table"):
        verdict([SAFEPUB], 2.0, 1e-3, townspeople(), columns=TREES, output={"shuffle": False})
    assert verdict([MARGINALS], 1.0, 1e-6, output={"shuffle": False}).holds


def test_a_law_of_the_table_stops_no_release_that_is_paid_for(tmp_path: Path) -> None:
    """A rare record that breaks the law, and is left out: whether the release is stopped would tell of it."""
    table = townspeople()
    further = pl.concat([table, pl.DataFrame({"sex": ["male"], "town": ["Bonn"]})])
    swapped = {"mask": "pram", "diagonal": 0.5, "columns": ["sex"]}
    plan = {
        "columns": TREES,
        "steps": [SAFEPUB, swapped],
        "requirements": [{"privacy": "differential", "epsilon": 2.0, "delta": 1e-3}],
    }
    folders = []
    for name, frame in (("lawful", table), ("broken", further)):
        shoal.protect(frame, plan, tmp_path / name, seed=1)
        folders.append({file.name: file.read_bytes() for file in sorted((tmp_path / name / "release").iterdir())})
    assert folders[0] == folders[1]
