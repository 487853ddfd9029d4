"""Releases one after another: an adversary who reads only release/ folders, with the ledger and without it."""

import gc
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from command_line import Run
from shoal.desk.whole import protect_whole
from shoal.ledger.store import Ledger
from shoal.vocabulary.errors import FileError, ParameterError, PlanError, Refused
from waves import K, adversary, registry

COLUMNS = {
    "person": "identifier",
    "cohort": {"role": "quasi-identifier", "level": "nominal"},
    "region": "quasi-identifier",
    "pay": "confidential",
    "left": "identifier",
}
PLAN: dict[str, Any] = {"columns": COLUMNS, "requirements": [{"privacy": "k-anonymity", "k": K}]}
KEPT: dict[str, Any] = {**PLAN, "ledger": {"key": "person"}}


def test_a_registry_of_months_with_the_ledger_and_without_it(tmp_path: Path) -> None:
    """Without the ledger the attack finds every ninth person; with it nobody. The prices are private."""
    patient = {**PLAN, "ledger": {"key": "person", "hold_back": True, "left": "left"}}
    alone, kept = [], []
    for month, table in enumerate(registry(6, 300, 1)):
        alive = table.filter(pl.col("left").is_null())
        shoal.protect(alive, {**PLAN, "steps": [{"mask": "suppress", "k": K}]}, tmp_path / f"alone-{month}", seed=1)
        release = shoal.protect(table, patient, tmp_path / f"kept-{month}", seed=1, ledger=tmp_path / "registry.ledger")
        alone.append(tmp_path / f"alone-{month}")
        kept.append(tmp_path / f"kept-{month}")
    persons, small = adversary(alone)
    assert small > persons / 10
    assert adversary(kept)[1] == 0
    (prices,) = (step.facts for step in release.account.steps if step.step == "ledger: hold_back")
    assert sum(fact.private() for fact in prices.values()) < 0.25 * len(alive)
    assert all(fact.public() is None for fact in prices.values())
    assert "records withheld" not in (tmp_path / "kept-5" / "release" / "evidence.json").read_text()


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    return list(registry(2, 300, 2))


def test_a_release_that_tells_persons_apart_is_refused_and_nothing_is_written(
    tmp_path: Path, months: list[pl.DataFrame], run: Run
) -> None:
    ledger, plan = tmp_path / "registry.ledger", tmp_path / "plan.yaml"
    plan.write_text(shoal.Plan.of(KEPT).as_yaml())
    for month, table in zip(("jan", "feb"), months):
        table.write_csv(tmp_path / f"{month}.csv")
    arguments = ("--plan", plan, "--ledger", ledger, "--seed", "1")
    assert run("protect", tmp_path / "jan.csv", *arguments, "--out", tmp_path / "1")[0] == 0
    before = ledger.read_bytes()
    status, out, error = run("protect", tmp_path / "feb.csv", *arguments, "--out", tmp_path / "2", "--json")
    assert (status, (tmp_path / "2").exists(), ledger.read_bytes() == before) == (3, False, True)
    assert "Together with release 1 (" in error
    assert "for anybody), fewer than 5 persons share what is told of" in " ".join(error.split())
    failed = [r for r in json.loads(out)["requirements"] if not r["holds"]]
    assert [r["requirement"] for r in failed] == ["5-anonymity over releases"]
    brute = tmp_path / "brute"
    for month, table in zip(("jan", "feb"), months):
        shoal.protect(table, PLAN, brute / month, seed=1)
    assert failed[0]["facts"]["persons under it"] == adversary([brute / m for m in ("jan", "feb")])[1]
    run("ledger", "withdraw", ledger, 1, "--because", "never sent")
    assert run("protect", tmp_path / "feb.csv", *arguments, "--out", tmp_path / "2")[0] == 0


def test_the_public_evidence_names_the_earlier_releases(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    plan = {**KEPT, "release": {"audience": "researchers"}}
    for number in (1, 2):
        shoal.protect(months[0], plan, tmp_path / str(number), seed=number, ledger=tmp_path / "l")
    content = json.loads((tmp_path / "2" / "release" / "evidence.json").read_text())
    (over,) = (r for r in content["requirements"] if r["requirement"] == "5-anonymity over releases")
    assert over["holds"]
    assert over["achieved"] is None
    (named,) = over["facts"]["earlier releases"]
    assert named.startswith("1 (20")
    assert named.endswith(", for researchers)")


def test_audiences_count_together_only_if_they_collude(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """January to A; February to B passes, unless B may collude with A. A revision for A is refused."""
    ledger = tmp_path / "registry.ledger"

    def to(audience: str, table: pl.DataFrame, out: str, **more: Any) -> shoal.Release:
        plan = {**PLAN, "release": {"audience": audience}, "ledger": {"key": "person", **more}}
        return shoal.protect(table, plan, tmp_path / out, seed=1, ledger=ledger)

    to("A", months[0], "1")
    with pytest.raises(Refused, match=r"Together with release 1 \(.*, for A\)"):
        to("B", months[1], "2", collude=["A"])
    with pytest.raises(Refused, match=r"Together with release 1 \(.*, for A\)"):
        to("A", months[1], "2")
    to("B", months[1], "2")
    assert [row.about["audience"] for row in Ledger(ledger).counted()] == ["A", "B"]
    with pytest.raises(Refused):  # anybody may have it, A too
        shoal.protect(months[1], KEPT, tmp_path / "3", seed=1, ledger=ledger)


def test_a_synthetic_table_tells_nothing_of_persons_beside_a_microaggregated_one(
    tmp_path: Path, months: list[pl.DataFrame]
) -> None:
    ledger = tmp_path / "registry.ledger"
    synthetic = {
        "columns": COLUMNS,
        "steps": [{"partition": "whole", "replace": "cart", "columns": ["cohort", "region", "pay"]}],
        "ledger": {"key": "person"},
    }
    shoal.protect(months[0], KEPT, tmp_path / "1", seed=1, ledger=ledger)
    shoal.protect(months[1], synthetic, tmp_path / "2", seed=1, ledger=ledger, unproved=True)
    assert Ledger(ledger).entry(2).about["quasi-identifiers"] == []
    shoal.protect(months[0], KEPT, tmp_path / "3", seed=2, ledger=ledger)


def test_private_folders_carry_a_ledger_on(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    shoal.protect(months[0], KEPT, tmp_path / "1", seed=1)
    with pytest.raises(Refused, match="Together with release 1"):
        shoal.protect(months[1], KEPT, tmp_path / "2", seed=1, after=tmp_path / "1")
    shoal.protect(months[0], KEPT, tmp_path / "2", seed=1, after=tmp_path / "1")
    kept = Ledger(tmp_path / "2" / "private" / "releases.ledger")
    assert ([row.number for row in kept.rows()], kept.faults()) == ([1, 2], [])
    assert Ledger(tmp_path / "1" / "private" / "releases.ledger").rows()[0].about == kept.rows()[0].about
    shutil.rmtree(tmp_path / "1" / "private")
    with pytest.raises(ParameterError, match="has no ledger in its private folder"):
        shoal.protect(months[0], KEPT, tmp_path / "3", after=tmp_path / "1")


def test_releases_made_beside_each_other_are_put_together(
    tmp_path: Path, classes_of_ten: pl.DataFrame, run: Run
) -> None:
    """A and B both come after 1 and do not know of each other, which their evidence says; C is told of both."""
    table = classes_of_ten.with_columns(pay=pl.col("person") + 0.5)
    first, *both = folders = [tmp_path / name for name in "1AB"]
    shoal.protect(table, KEPT, first, seed=1)
    for folder, left_out in zip(both, (24, 30)):
        fewer = table.filter(~pl.col("person").is_in([0, 6, 12, 18, left_out]))
        release = shoal.protect(fewer, KEPT, folder, seed=1, after=first)
        assert release.evidence.verdicts[-1].sentence.endswith("folders named in --after know of were looked at.")
        assert adversary([first, folder])[1] == 0
    small = adversary(folders)[1]
    assert small == 10
    release = shoal.protect(table, KEPT, tmp_path / "C", seed=1, after=both)
    assert f"but for {small} persons of whom earlier releases told as much" in release.evidence.verdicts[-1].sentence
    kept = Ledger(tmp_path / "C" / "private" / "releases.ledger")
    assert ([len(row.about["sha256"]) > 0 for row in kept.counted()], kept.faults()) == ([True] * 4, [])
    assert len(Ledger(both[0] / "private" / "releases.ledger").counted()) == 2
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(KEPT).as_yaml())
    table.write_csv(tmp_path / "in.csv")
    after = [part for folder in both for part in ("--after", folder)]
    status, out, _ = run(
        "protect", tmp_path / "in.csv", "--plan", tmp_path / "plan.yaml", "--out", tmp_path / "E", *after
    )
    assert (status, "3 earlier ones" in " ".join(out.split())) == (0, True)
    shoal.protect(table, KEPT, tmp_path / "other", seed=1)
    with pytest.raises(FileError, match="were begun apart"):
        shoal.protect(table, KEPT, tmp_path / "D", after=[both[0], tmp_path / "other"])


def test_ledgers_put_together_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes_of_ten: pl.DataFrame
) -> None:
    """Neither a damaged ledger, the first one or another, nor a missing head leaves a copy of persons and key."""
    table = classes_of_ten.with_columns(pay=pl.col("person") + 0.5)
    one, two = folders = [tmp_path / name for name in "12"]
    shoal.protect(table, KEPT, one, seed=1)
    shoal.protect(table, KEPT, two, seed=1, after=one)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (one / "private" / "releases.ledger.head").unlink()
    release = shoal.protect(table, KEPT, seed=1, after=folders)
    assert release.evidence.verdicts[-1].facts["earlier releases"].private()[1:] != []
    del release
    (one / "private" / "releases.ledger").write_bytes(b"no ledger")
    for order in (folders, folders[::-1]):
        with pytest.raises(FileError, match="is damaged"):
            shoal.protect(table, KEPT, tmp_path / "3", seed=1, after=order)
    gc.collect()
    assert (list(temporary.iterdir()), (tmp_path / "3").exists()) == ([], False)


def test_epsilon_is_refused_with_what_is_left(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    noise = {"mask": "laplace", "columns": ["pay"], "epsilon": 1.0, "bounds": {"pay": [0, 6000]}, "clamp": True}
    plan = {
        "columns": {
            "person": "identifier",
            "pay": "confidential",
            "cohort": "other",
            "region": "other",
            "left": "identifier",
        },
        "steps": [noise],
        "ledger": {"key": "person", "epsilon": {"pay": 1.5}},
    }
    shoal.protect(months[0], plan, tmp_path / "1", seed=1, ledger=tmp_path / "l", unproved=True)
    with pytest.raises(
        Refused, match=r"Of an epsilon of 1\.5 for 'pay', 0\.5 is left for \d+ persons; this release would spend 1\."
    ):
        shoal.protect(months[1], plan, tmp_path / "2", seed=1, ledger=tmp_path / "l", unproved=True)


def test_a_sample_spends_epsilon_on_those_not_drawn_too(tmp_path: Path) -> None:
    """The next release is refused alike whoever was drawn, and whether or not the tables have a person in common."""
    plan = {
        "columns": {
            "person": "identifier",
            "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"any": ["f", "m"]}}},
        },
        "steps": [{"mask": "safepub", "epsilon": 1.0, "delta": 1e-3}],
        "ledger": {"key": "person", "epsilon": {"*": 1.5}},
    }
    tables = [pl.DataFrame({"person": range(first, first + 400), "sex": ["f", "m"] * 200}) for first in (0, 1000)]
    shoal.protect(tables[0], plan, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    for table in tables:
        with pytest.raises(Refused, match=r"0\.5 is left for everybody; this release would spend 1\."):
            shoal.protect(table, plan, tmp_path / "2", seed=2, ledger=tmp_path / "l")


@pytest.mark.parametrize(("budget", "times"), [({"delta": {"*": 2e-3}}, 2), ({"epsilon": {"*": 2.0}}, 2), ({}, 3)])
def test_a_budget_of_delta_is_kept_beside_that_of_epsilon(budget: dict[str, Any], times: int, tmp_path: Path) -> None:
    plan = {
        "columns": {"person": "identifier", "sex": {"role": "quasi-identifier"}, "old": "quasi-identifier"},
        "steps": [
            {
                "mask": "private-marginals",
                "epsilon": 1.0,
                "delta": 1e-3,
                "domain": {"sex": ["f", "m"], "old": ["n", "y"]},
            }
        ],
        "requirements": [{"privacy": "differential", "epsilon": 1.0, "delta": 1e-3}],
        "ledger": {"key": "person", **budget},
    }
    table = pl.DataFrame({"person": range(400), "sex": ["f", "m"] * 200, "old": ["n", "n", "y", "y"] * 100})
    for number in range(times):
        shoal.protect(table, plan, tmp_path / str(number), seed=number, ledger=tmp_path / "l")
    if budget:
        with pytest.raises(Refused, match=r"Of an? (epsilon|delta) of .* 0 is left for everybody; this release would"):
            shoal.protect(table, plan, tmp_path / "more", seed=9, ledger=tmp_path / "l")


def of_classes(*pays: Sequence[int]) -> pl.DataFrame:
    """Two persons a class, with their pays."""
    return pl.DataFrame(
        {
            "person": range(2 * len(pays)),
            "cohort": [number // 2 for number in range(2 * len(pays))],
            "region": ["N"] * 2 * len(pays),
            "pay": [pay for pair in pays for pay in pair],
            "left": [None] * 2 * len(pays),
        }
    )


def test_m_invariance_by_hand(tmp_path: Path) -> None:
    """Equal sets of two pays pass; a class with other pays, or with one pay twice, is refused."""
    columns = {**COLUMNS, "pay": {"role": "confidential", "level": "nominal"}}
    plan = {
        "columns": columns,
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "ledger": {"key": "person", "m": 2},
    }
    ledger = tmp_path / "l"
    shoal.protect(of_classes((1, 2), (3, 4)), plan, tmp_path / "1", seed=1, ledger=ledger)
    shoal.protect(of_classes((2, 1), (4, 3)), plan, tmp_path / "2", seed=1, ledger=ledger)
    with pytest.raises(
        Refused, match=r"2 persons of release 2 \(.*\) are now in a class with other confidential values"
    ):
        shoal.protect(of_classes((1, 2), (3, 5)), plan, tmp_path / "3", seed=1, ledger=ledger)
    with pytest.raises(Refused, match=r"The classes of 2 persons have no 2 confidential values that are all different"):
        shoal.protect(of_classes((1, 1), (3, 4)), plan, tmp_path / "3", seed=1, ledger=ledger)


def test_another_release_meanwhile_is_judged_before_this_one_is_written(
    tmp_path: Path, months: list[pl.DataFrame]
) -> None:
    ledger = tmp_path / "registry.ledger"
    to_a, to_b = ({**KEPT, "release": {"audience": audience}} for audience in "AB")
    shoal.protect(months[0], to_b, tmp_path / "1", seed=1, ledger=ledger)
    waiting = shoal.protect(months[1], to_a, seed=1, ledger=ledger)
    shoal.protect(months[0], to_a, tmp_path / "2", seed=1, ledger=ledger)
    with pytest.raises(Refused, match="Together with release 2"):
        waiting.write(tmp_path / "3")
    assert (len(Ledger(ledger).rows()), (tmp_path / "3").exists()) == (2, False)


def test_a_ledger_holds_no_cell_and_no_key(tmp_path: Path) -> None:
    cells = [f"Xyzzy{number}" for number in range(40)]
    table = pl.DataFrame({"person": [f"Quux{c}" for c in cells], "town": ["Plugh"] * 40, "pay": cells})
    plan = {
        "columns": {
            "person": "identifier",
            "town": "quasi-identifier",
            "pay": {"role": "confidential", "level": "nominal"},
        },
        "requirements": PLAN["requirements"],
        "ledger": {"key": "person", "m": 2},
        "accept": ["pay"],
    }
    shoal.protect(table, plan, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    whole = (tmp_path / "l").read_bytes()
    assert not [word for word in (b"Xyzzy", b"Quux", b"Plugh") if word in whole]


def test_bad_input_is_refused(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    with pytest.raises(ParameterError, match=r"Add it to the plan: ledger: \{key: COLUMN\}"):
        shoal.protect(months[0], PLAN, ledger=tmp_path / "l")
    with pytest.raises(PlanError, match="ledger: key must be one of the plan's columns; 'name' is none"):
        shoal.Plan.of({**PLAN, "ledger": {"key": "name"}})
    with pytest.raises(PlanError, match="ledger: left must be an identifier"):
        shoal.Plan.of({**PLAN, "ledger": {"key": "person", "left": "region"}})
    with pytest.raises(PlanError, match="ledger must be a mapping"):
        shoal.Plan.of({**PLAN, "ledger": "registry.ledger"})
    with pytest.raises(ParameterError, match="only shoal protect judges a release"):
        protect_whole(months[0], shoal.Plan.of(KEPT))


def test_a_plan_with_a_ledger_is_written_and_read_again() -> None:
    described = {"key": "person", "epsilon": {"*": 2.0}, "collude": ["A"], "hold_back": True, "file": "r.ledger"}
    plan = shoal.Plan.of({**PLAN, "ledger": described})
    assert shoal.Plan.of(plan.as_mapping()) == plan
    assert "ledger" not in shoal.Plan.of(PLAN).as_mapping()


@pytest.fixture
def classes_of_ten() -> pl.DataFrame:
    """Six classes of ten persons each."""
    cohort = [0, 1, 2] * 20
    pay = [100.0 * (number % 7) for number in range(60)]
    return pl.DataFrame({"person": range(60), "cohort": cohort, "region": ["N", "S"] * 30, "pay": pay, "left": "-"})


def with_a_mover(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(region=pl.when(pl.col("person") == 7).then(pl.lit("N")).otherwise("region"))


def test_a_key_is_the_same_written_with_a_point_or_without(tmp_path: Path, classes_of_ten: pl.DataFrame) -> None:
    shoal.protect(classes_of_ten, KEPT, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    with_points = with_a_mover(classes_of_ten).cast({"person": pl.Float64})
    with pytest.raises(Refused, match="of 1 person"):
        shoal.protect(with_points, KEPT, tmp_path / "2", seed=1, ledger=tmp_path / "l")


def test_a_release_of_nobody_known_says_so(tmp_path: Path, classes_of_ten: pl.DataFrame) -> None:
    """A key that is written differently looks like new persons."""
    shoal.protect(classes_of_ten, KEPT, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    others = with_a_mover(classes_of_ten).with_columns(person=pl.lit("P") + pl.col("person").cast(pl.String))
    release = shoal.protect(others, KEPT, tmp_path / "2", seed=1, ledger=tmp_path / "l")
    assert release.evidence.verdicts[-1].sentence.endswith(
        "None of these persons is in an earlier release; if some should be, their keys differ."
    )


def test_a_synthetic_table_hides_no_later_exposure(tmp_path: Path, classes_of_ten: pl.DataFrame) -> None:
    """A synthetic table made without one person does not count as having told that person apart."""
    steps = [{"partition": "whole", "replace": "cart", "columns": ["cohort", "region", "pay"]}]
    synthetic = {"columns": COLUMNS, "steps": steps, "ledger": {"key": "person"}}
    shoal.protect(classes_of_ten, KEPT, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    fewer = classes_of_ten.filter(pl.col("person") != 7)
    shoal.protect(fewer, synthetic, tmp_path / "2", seed=1, ledger=tmp_path / "l", unproved=True)
    with pytest.raises(Refused, match="of 1 person"):
        shoal.protect(with_a_mover(classes_of_ten), KEPT, tmp_path / "3", seed=1, ledger=tmp_path / "l")


def test_classes_with_one_recoded_cell_are_counted(tmp_path: Path, classes_of_ten: pl.DataFrame) -> None:
    patient = {**PLAN, "ledger": {"key": "person", "hold_back": True}}
    for number, table in enumerate((classes_of_ten, with_a_mover(classes_of_ten).reverse()), 1):
        shoal.protect(table, patient, tmp_path / str(number), seed=1, ledger=tmp_path / "l")
    assert Ledger(tmp_path / "l").entry(2).cells["region"] == {"blank": 0, "recoded": 10}
