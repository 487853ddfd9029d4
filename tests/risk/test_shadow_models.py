"""An attack on membership by shadow models: its ratios by hand, the tables it draws, and planted leaks."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from risk.test_density_ratio import ROLES, people, records
from shoal.judges.density import Places
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.risk.shadow_models import _ratios, _relative
from shoal.run.again import OnOtherRecords
from shoal.vocabulary.errors import NoFigure


def test_ratios_of_shadows_by_hand() -> None:
    """Two people, four shadows each: means 3 and 1 with variance 1 for one, no difference for the other."""
    signals = np.array([[4.0, 5], [2.0, 5], [2.0, 5], [0.0, 5]])
    inside = np.array([[True, True], [True, True], [False, False], [False, False]])
    ratios = _ratios(signals, np.array([3.0, 5]), inside)
    variance = np.array([(4 + 4 * 2 / 2) / 6, (0 + 4 * 2 / 2) / 6])
    spread = max(1 - np.mean(2 * variance / 2), 0)
    drawn = 1 + spread / (spread + variance) * np.array([1, -1])
    assert ratios == pytest.approx(drawn * np.array([1.0, 0.0]) / variance)


def shadows(steps: list, n: int = 120, **more: object) -> Finding:
    table, holdout = people(n, 3), people(n, 4)
    measure = {"risk": "shadow-models", "holdout": holdout, "shadows": 8, **more}
    plan = {"columns": ROLES, "steps": steps, "measures": [measure], "accept": list(ROLES)}
    release = shoal.protect(table, plan, seed=1, unproved=True)
    return next(f for f in release.evidence.findings if f.measure == "shadow-models")


def test_planted_leaks_in_shadows() -> None:
    apart = [{"mask": "permute", "columns": [name]} for name in ROLES]
    copied = shadows([{"mask": "round", "columns": ["pay"], "base": 0.1}])
    assert copied.value > 0.9 and copied.interval.low > 0.8
    half = shadows([{"mask": "sample", "fraction": 0.5}], n=240)
    assert 0.55 < half.interval.low < half.value < copied.value - 0.1
    nothing = shadows(apart)
    assert nothing.interval.low < 0.5 < nothing.interval.high


def test_shadows_are_tables_with_half_of_those_attacked() -> None:
    """Each has as many records as the original, no row twice, and who is not in one is in the next."""
    table, holdout, seen = records(people(50, 3)), people(40, 4), []

    def again(others: pl.DataFrame, mine, theirs, seed: int, course: tuple[int, int]) -> shoal.Records:
        assert others is holdout
        assert len({*mine}) == len(mine) and len({*theirs}) == len(theirs) and len(mine) + len(theirs) == 50
        seen.append(({*mine}, {*theirs}, course))
        return table.take(np.sort(mine))

    pair = replace(TablePair.of(table, table), again=again)
    finding = shoal.ShadowModels(holdout=holdout, shadows=4, attacks=10).finding_on(pair, np.random.default_rng(1))
    assert finding.value is not None and [course for *_, course in seen] == [(i, 4) for i in range(4)]
    assert (finding.details["people attacked"], finding.details["others attacked"]) == (10, 10)
    for (mine, theirs, _), (others, strangers, _) in zip(seen[::2], seen[1::2]):
        assert len(mine ^ others) >= 20 and len(theirs ^ strangers) >= 20


def test_shadows_say_what_is_lacking() -> None:
    with pytest.raises(shoal.ParameterError, match="even"):
        shoal.ShadowModels(shadows=5)
    table = people(60, 3)
    assert "plan is not at hand" in shoal.ShadowModels(holdout=table).measure(table, table).reason
    plan = {"columns": ROLES, "steps": [{"mask": "permute", "columns": [name]} for name in ROLES]}
    measure = {"risk": "shadow-models", "holdout": table.drop("pay"), "shadows": 4, "columns": ["age", "ill"]}
    release = shoal.protect(table, {**plan, "measures": [measure]}, seed=1, unproved=True)
    assert "lacks 'pay'" in next(f for f in release.evidence.findings if f.measure == "shadow-models").reason
    again = OnOtherRecords(
        plan=shoal.Plan.of(plan), original=shoal.Microdata.of(table, ROLES), carry_out=refuse, tell=lambda *stage: None
    )
    texts, nobody = table.with_columns(pl.lit("x").alias("pay")), np.arange(0)
    reasons = (
        (texts, "other types"),
        ([1], "a file or a data frame"),
        (table, "cannot be carried out on other records"),
    )
    for others, reason in reasons:
        with pytest.raises(NoFigure, match=reason):
            again(others, nobody, np.arange(3), 1, (0, 4))


def refuse(table: shoal.Microdata, plan: shoal.Plan, seed: int) -> shoal.Records:
    raise shoal.Refused("Nothing is released.")


def test_relative_densities_by_hand_and_their_attack_on_planted_leaks() -> None:
    """Densities 1 and 3 in the shadows have the mean 2; the order of ratios is that of the share who are smaller."""
    signals = np.log(np.array([[1.0, 4.0], [3.0, 4.0]]))
    assert _relative(signals, np.log(np.array([6.0, 2.0]))) == pytest.approx(np.log([3.0, 0.5]))
    far = np.array([[-2000.0], [-2001.0]])  # no underflow
    assert _relative(far, np.array([-2000.0]))[0] == pytest.approx(-np.log((1 + np.exp(-1)) / 2))
    copied = [{"mask": "round", "columns": ["pay"], "base": 0.1}]
    relative, likelihood = (shadows(copied, shadows=4, statistic=name) for name in ("relative", "likelihood"))
    assert relative.interval.low > 0.8
    area = "area under the curve"
    for finding, other, name in ((relative, likelihood, "likelihood"), (likelihood, relative, "relative")):
        assert finding.details[f"by the statistic {name}"][area] == other.details[area]
    nothing = shadows([{"mask": "permute", "columns": [name]} for name in ROLES], shadows=4, statistic="relative")
    assert nothing.interval.low < 0.5 < nothing.interval.high


APART = [{"mask": "permute", "columns": [name]} for name in ROLES]
PLANTED = {
    "copier": ([{"mask": "round", "columns": ["pay"], "base": 0.1}], 0.95, 1.0),
    "half copier": ([{"mask": "sample", "fraction": 0.5}], 0.6, 0.85),
    "copier of values": (APART, 0.6, 0.85),
    "marginal sampler": ([{"mask": "round", "columns": ["age", "pay"], "base": 20.0}, *APART], 0.4, 0.6),
}


@pytest.mark.parametrize("leak", PLANTED)
def test_planted_leaks_in_the_ensemble(leak: str) -> None:
    """Columns dealt out anew, each with its own values, tell who has a value that nobody else has: densities do not."""
    steps, low, high = PLANTED[leak]
    finding = shadows(steps, n=240, shadows=6, statistic="ensemble")
    assert low <= finding.value <= high and (finding.interval.low > 0.5) == (leak != "marginal sampler")
    others = [
        finding.details[f"by the statistic {name}"]["area under the curve"] for name in ("likelihood", "relative")
    ]
    assert (max(low for _, low, _ in others) > 0.5) == (leak in ("copier", "half copier"))
    assert finding.details["people attacked"] == 120  # all of them, for no width was chosen by half


def test_nearness_is_that_of_a_slow_twin() -> None:
    first, second = records(people(9, 1)), records(people(7, 2))
    places = Places.of(("age", "ill", "pay"), first, second)
    asked, points = places.cells
    mine = places.nearness(asked, points)
    for place in range(9):
        apart = sorted(
            sum(
                (a - b) ** 2 if ordered else 2.0 * (a != b) for ordered, a, b in zip(places.ordered, asked[:, place], x)
            )
            for x in points.T
        )
        differ = min(sum(a != b for a, b in zip(asked[:, place], x)) for x in points.T)
        means = [np.mean(apart[:most]) + 1e-6 for most in (1, 5, 7)]
        slow = [*means, (apart[0] + 1e-6) / (apart[1] + 1e-6), differ + 1e-6]
        assert mine[:, place] == pytest.approx(-np.log(slow))
    assert places.nearness(points, points[:, :1])[3] == pytest.approx(np.zeros(7))  # of one record there is no next


def test_the_ensemble_wants_shadows_to_learn_from() -> None:
    with pytest.raises(shoal.ParameterError, match="at least 6 for the statistic ensemble"):
        shoal.ShadowModels(shadows=4, statistic="ensemble")
