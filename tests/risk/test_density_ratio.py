"""An attack on membership by the ratio of densities, and the curve of all such attacks: twins, and planted leaks."""

import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import only_by_night
from shoal.judges.density import APART, BACKGROUND, Places
from shoal.judges.membership_curve import MembershipCurve, best_attack

ROLES = {"age": "quasi-identifier", "ill": "confidential", "pay": "confidential"}


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(50, 15, n), 1)
    pay = np.round(rng.lognormal(3, 0.7, n) + age / 10, 1)
    return pl.DataFrame({"age": age, "ill": rng.choice(list("abcd"), n, p=[0.6, 0.25, 0.1, 0.05]), "pay": pay})


def marginals(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({c: frame[c].to_numpy()[rng.integers(0, len(frame), len(frame))] for c in frame.columns})


def records(frame: pl.DataFrame) -> shoal.Records:
    return shoal.Microdata.of(frame, {name: {"role": role, "missing": "keep"} for name, role in ROLES.items()}).records


def test_densities_are_those_of_a_slow_twin() -> None:
    rng = np.random.default_rng(7)
    first, second = people(9, 1), people(7, 2)
    gaps = second.with_columns(pl.when(pl.int_range(7) < 2).then(None).otherwise("pay").alias("pay"))
    gaps = gaps.with_columns(pl.when(pl.int_range(7) == 1).then(None).otherwise("ill").alias("ill"))
    places = Places.of(("age", "ill", "pay"), records(first), records(gaps))
    scale = {name: first[name].std(ddof=0) for name in ("age", "pay")}

    def square(y: dict, x: dict) -> float:
        total = 0.0
        for name in y:
            if (y[name] is None) != (x[name] is None):
                total += APART
            elif y[name] is not None and name in scale:
                total += ((y[name] - x[name]) / scale[name]) ** 2
            else:
                total += APART * (y[name] != x[name])
        return total

    points, asked = list(gaps.iter_rows(named=True)), [*first.iter_rows(named=True), *gaps.iter_rows(named=True)]
    widths = np.array([2.0, 0.5, 0.01])
    mine = places.log_densities(places.cells[1], np.hstack(places.cells), widths)
    for number, w in enumerate(widths):
        for place, y in enumerate(asked):
            sums = BACKGROUND + sum(math.exp(-square(y, x) / (2 * w * w)) for x in points)
            assert mine[number, place] == pytest.approx(math.log(sums / len(points)))
    assert places.widths(places.cells[0], rng) == pytest.approx(
        [math.sqrt(np.mean([square(y, x) for y in asked[:9] for x in asked[:9]])) / 2**i for i in range(7)]
    )


def test_true_positives_by_hand() -> None:
    """Of ten others two are above 7.5, of four members three."""
    rng = np.random.default_rng(7)
    curve = MembershipCurve.of(
        np.array([9.0, 8, 7.8, 1]), np.array([9.5, 8.5, 7.5, 1.5, 1.4, 1.3, 1.2, 1.1, 0, 0]), rng
    )
    assert curve.true_positives(0.2)[0] == pytest.approx(0.75)
    assert curve.true_positives(0.1)[0] == pytest.approx(0.25)
    assert curve.true_positives(0.15)[0] == pytest.approx(0.5)  # half way between one other and two
    assert curve.true_positives(0.01)[0] == pytest.approx(0.025)  # a tenth of the way to one other, above it a fourth
    share, interval = curve.true_positives(0.1)
    assert interval.low == 0 and interval.high > 0.75  # ten others hardly say which score goes with the rate


@only_by_night
def test_the_interval_of_true_positives_covers() -> None:
    """Normal scores a standard deviation apart, and scores of three values, put in random order."""
    rng, covered = np.random.default_rng(1), {"normal": 0, "tied": 0}
    normal = 1 - NormalDist().cdf(NormalDist().inv_cdf(0.9) - 1)
    for _ in range(300):
        curve = MembershipCurve.of(rng.normal(1, 1, 200), rng.normal(0, 1, 200), rng)
        interval = curve.true_positives(0.1)[1]
        covered["normal"] += interval.low <= normal <= interval.high
        mine, theirs = rng.choice(3, 200, p=[0.2, 0.4, 0.4]), rng.choice(3, 200, p=[0.5, 0.3, 0.2])
        interval = MembershipCurve.of(mine.astype(float), theirs.astype(float), rng).true_positives(0.1)[1]
        covered["tied"] += interval.low <= 0.2 <= interval.high  # half of those with the highest score
    assert min(covered.values()) >= 0.95 * 300


def test_an_attack_is_chosen_by_others_than_it_is_judged_by() -> None:
    """The best of thirty attacks that know nothing is no better than guessing."""
    rng = np.random.default_rng(7)
    areas = []
    for _ in range(10):
        noise = rng.normal(size=(2, 30, 60))
        areas.append(best_attack(noise[0], noise[1], rng)[1].figure(None)[0])
    assert abs(np.mean(areas) - 0.5) < 0.06
    scores = rng.normal(size=(2, 3, 200))
    scores[0, 1] += 2
    assert best_attack(scores[0], scores[1], rng)[0] == 1


@pytest.mark.parametrize("rate", [None, 0.1])
def test_planted_leaks_in_densities(rate: float | None) -> None:
    """Whoever copies all or half gives people away; who draws columns by themselves, or anew from the law, does not."""
    original, holdout = people(200, 3), people(200, 4)
    releases = {
        "copy": original,
        "half": pl.concat([original.head(100), people(100, 5)]),
        "marginals": marginals(original, 6),
        "anew": people(200, 7),
    }
    measure = shoal.DensityRatio(holdout=records(holdout), reference=records(people(200, 8)), false_positives=rate)
    findings = {name: measure.measure(records(original), records(frame)) for name, frame in releases.items()}
    chance = 0.5 if rate is None else rate
    assert findings["copy"].value > 0.8
    assert chance + 0.1 < findings["half"].value < findings["copy"].value - 0.1
    for name in ("copy", "half")[: 2 if rate is None else 1]:  # of 100 people the interval at one rate is wide
        assert findings[name].interval.low > chance
    for name in ("marginals", "anew"):
        assert findings[name].interval.low < chance < findings[name].interval.high


def test_half_of_the_holdout_is_the_reference() -> None:
    original = records(people(200, 3))
    finding = shoal.DensityRatio(holdout=records(people(100, 4)), attacks=20).measure(original, original)
    facts = finding.details
    assert (facts["records of the reference"], facts["others attacked"], facts["people attacked"]) == (50, 20, 20)
    assert finding.value > 0.8
    assert shoal.DensityRatio(holdout=records(people(15, 4))).measure(original, original).value is None


def test_they_are_bounds_in_a_plan() -> None:
    table, holdout = people(200, 3), people(200, 4)
    apart = [{"mask": "permute", "columns": [name]} for name in ROLES]
    for risk, more in (("density-ratio", {}), ("shadow-models", {"shadows": 4})):
        bound = {"risk": risk, "holdout": holdout, "at most": 0.75, **more}
        plan = {"columns": ROLES, "requirements": [bound]}
        assert shoal.protect(table, {**plan, "steps": apart}, seed=1).evidence.verdicts[0].holds
        same = [{"mask": "round", "columns": ["pay"], "base": 0.1}]
        with pytest.raises(shoal.Refused, match="A member of the data"):
            shoal.protect(table, {**plan, "steps": same, "accept": list(ROLES)}, seed=1)
