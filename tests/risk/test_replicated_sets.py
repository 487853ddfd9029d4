"""Replicated uniques of small sets of columns: a slow twin, and planted leaks."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.vocabulary.errors import Refused

ROLES = {
    "age": "quasi-identifier",
    "sex": "quasi-identifier",
    "ill": "confidential",
    "days": "other",
    "pay": "confidential",
}


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {
            "age": age.astype(float),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(list("abcdefgh"), n, p=np.array([40, 25, 15, 8, 5, 4, 2, 1]) / 100),
            "days": (rng.geometric(0.15, n) + age // 30).astype(float),
            "pay": rng.choice([1000.0, 1500.0, 2000.0, 3000.0, 5000.0], n),
        }
    )


def records(frame: pl.DataFrame) -> shoal.Records:
    return shoal.Microdata.of(frame, ROLES).records


def marginals(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Each column drawn by itself."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({c: frame[c].to_numpy()[rng.integers(0, len(frame), len(frame))] for c in frame.columns})


def slow(original: pl.DataFrame, released: pl.DataFrame, names: tuple[str, ...]) -> int:
    before, after = (Counter(frame.select(names).iter_rows()) for frame in (original, released))
    return sum(count == 1 and after[row] == 1 for row, count in before.items())


def test_the_worst_set_is_that_of_a_slow_twin() -> None:
    original, holdout = people(300, 0), people(300, 1)
    released = pl.concat([original.head(60), marginals(original, 2).tail(240)])
    names = tuple(original.columns)
    for order in (1, 2, 4):
        sets = [chosen for k in range(1, order + 1) for chosen in combinations(names, k)]
        mine = {chosen: slow(original, released, chosen) for chosen in sets}
        excess = {chosen: mine[chosen] - slow(holdout, released, chosen) for chosen in sets}
        finding = shoal.ReplicatedSets(order=order, holdout=records(holdout)).measure(
            records(original), records(released)
        )
        assert finding.value == pytest.approx(max(0, *excess.values()) / 300)
        assert finding.details["sets of columns"] == len(sets)
        assert list(finding.details["worst sets"].values()) == sorted(excess.values(), reverse=True)[:5]
        alone = shoal.ReplicatedSets(order=order).measure(records(original), records(released))
        assert alone.value == pytest.approx(max(mine.values()) / 300)
        assert alone.interval is None and "by chance is not known" in alone.sentence


def test_planted_leaks() -> None:
    """Whoever copies all or half gives it away; who draws columns by themselves, or anew from the law, does not."""
    original, holdout = people(2000, 3), people(2000, 4)
    half = pl.concat([original.head(1000), people(1000, 5)])
    releases = {"copy": original, "half": half, "marginals": marginals(original, 6), "anew": people(2000, 7)}
    finding = {
        name: shoal.ReplicatedSets(holdout=records(holdout)).measure(records(original), records(frame))
        for name, frame in releases.items()
    }
    assert finding["copy"].value > 0.3
    assert 0.25 * finding["copy"].value < finding["half"].value < 0.75 * finding["copy"].value
    for name in ("copy", "half"):
        assert finding[name].interval.low > 0.05
    for name in ("marginals", "anew"):
        assert finding[name].value < 0.02
        assert finding[name].interval.low == 0


def test_a_smaller_holdout_is_compared_with_as_many_and_few_sets_are_drawn() -> None:
    original, holdout = people(900, 8), people(300, 9)
    measure = shoal.ReplicatedSets(holdout=records(holdout), sets=12)
    finding = measure.measure(records(original), records(original))
    assert finding.details["records compared"] == 300
    assert finding.details["sets of columns"] == 12
    anew = measure.measure(records(original), records(people(900, 10)))
    assert anew.interval.low == 0


def test_it_is_a_bound_in_a_plan() -> None:
    """Columns swapped by themselves keep it, and records that stay as they are do not."""
    table, holdout = people(400, 11), people(400, 12)
    bound = {"risk": "replicated-sets", "holdout": holdout, "order": 3, "at most": 0.2}
    apart = [{"mask": "permute", "columns": [name]} for name in ROLES]
    plan = {"columns": ROLES, "steps": apart, "requirements": [bound]}
    assert shoal.protect(table, plan, seed=1).evidence.verdicts[0].holds
    same = {**plan, "steps": [{"mask": "round", "columns": ["pay"], "base": 1000}], "accept": list(ROLES)}
    with pytest.raises(Refused, match=r"alone in .* and come back alone"):
        shoal.protect(table, same, seed=1)
