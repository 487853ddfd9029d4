"""Columns that determine others are found by the law they keep, and only where its keeping is no chance."""

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.arithmetic import Arithmetic
from shoal.table.dependencies import (
    CHANCE,
    Dependencies,
    Dependency,
    LawSupport,
    determines,
    log_chance,
    log_chance_of,
    most_frequent,
    nearly_determines,
    support_of,
)
from shoal.table.microdata import Microdata
from shoal.table.records import Records

KEPT = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}


def table(**columns: list[object]) -> Records:
    roles = {name: "household" if name == "home" else KEPT for name in columns}
    return Microdata.of(pl.DataFrame(columns), roles).records


def test_members_of_a_household_give_each_other_away() -> None:
    records = table(home=[1, 1, 1, 2, 2, 3], town=["A", None, "A", "B", "B", None], sex=["f", "m", None, "f", "f", "m"])
    dependencies = Dependencies(records)
    assert dependencies.of("town") == [Dependency(("home",), "town")]
    assert dependencies.of("sex") == []  # the first household has both
    filled = dependencies.completed()
    assert filled.records["town"].values.tolist() == [0, 0, 0, 1, 1, -1]  # nobody else lives in household 3
    assert {d: c.tolist() for d, c in filled.cells.items()} == {
        Dependency(("home",), "town"): [False, True, False, False, False, False]
    }


def test_one_exception_or_no_household_of_two_is_no_law() -> None:
    assert Dependencies(table(home=[1, 1, 2, 2, 3, 3], town=["A", "B", "A", "A", "B", None])).of("town") == []
    assert Dependencies(table(home=[1, 2, 3], town=["A", "B", None])).of("town") == []


def test_a_postcode_tells_the_region_but_four_records_prove_nothing() -> None:
    zip_ = [f"{i % 10}" for i in range(60)]
    region = ["north" if int(z) < 5 else "south" for z in zip_]
    region[7] = None
    records = table(zip=zip_, region=region)
    assert Dependencies(records).of("region") == [Dependency(("zip",), "region")]
    assert Dependencies(records).of("zip") == []
    assert Dependencies(records).completed().records["region"].categories[0] == "north"
    assert not Dependencies(records).completed().records["region"].missing.any()
    assert Dependencies(table(zip=zip_[:4], region=region[:4])).of("region") == []


def test_a_design_weight_tells_the_stratum() -> None:
    weight = [100.5, 20.25, 7.0] * 30
    frame = pl.DataFrame({"w": weight, "area": ["a", "b", "c"] * 29 + ["a", "b", None]})
    records = Microdata.of(frame, {"w": "weight", "area": KEPT}).records
    assert Dependencies(records).completed().records["area"].values[-1] == 2


def test_numbers_are_filled_in_too_and_missing_causes_tell_nothing() -> None:
    frame = pl.DataFrame({"home": [1, 1, None, None, 2, 2], "rent": [7.5, None, 3.0, None, 4.0, 4.0]})
    roles = {"home": {"role": "household", "missing": "keep"}, "rent": {"role": "quasi-identifier", "missing": "keep"}}
    rent = Dependencies(Microdata.of(frame, roles).encoded).completed().records["rent"].values
    assert rent[:3].tolist() == [7.5, 7.5, 3.0]
    assert np.isnan(rent[3])


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=40), st.booleans())
def test_determination_equals_comparing_all_pairs(pairs: list[tuple[int, int]], unit: bool) -> None:
    known = [(a, b) for a, b in pairs if a >= 0 and b >= 0]
    agree = all(b == d for (a, b), (c, d) in itertools.combinations(known, 2) if a == c)
    by, on = (np.array(column, dtype=np.int32) for column in zip(*pairs))
    if unit:
        enough = any(a == c for (a, _), (c, _) in itertools.combinations(known, 2))
    else:
        enough = bool(known) and log_chance(*(np.array(c) for c in zip(*known))) < np.log(CHANCE)
    assert determines(by, on, unit=unit) == (bool(known) and agree and enough)


def test_the_chance_of_no_exception_is_that_of_cells_drawn_at_random() -> None:
    by, on = np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1])
    # by hand: a pair agrees with 1/4 + 1/4, three with 1/8 + 1/8
    assert np.exp(log_chance(by, on)) == pytest.approx(1 / 2 * 1 / 4)
    drawn = np.random.default_rng(3).integers(0, 2, (20_000, 6))
    agree = [(row[1] == row[2]) & (row[3] == row[4] == row[5]) for row in drawn]
    assert np.mean(agree) == pytest.approx(1 / 8, abs=0.008)


def test_a_contradiction_far_down_ends_a_law_without_exceptions() -> None:
    by = np.repeat(np.arange(4000, dtype=np.int32), 2)
    on = (by % 3).astype(np.int32)
    assert determines(by, on, unit=False)
    assert determines(by, on, unit=True)
    on[-1] = 9  # long after the records that are looked at first
    assert not determines(by, on, unit=False)
    assert not determines(by, on, unit=True)


def test_what_one_cause_leaves_open_another_fills_in() -> None:
    """The household of the last record tells nothing, its postcode does."""
    home = [i // 2 for i in range(40)] + [98, 99]
    records = table(
        home=home, zip=[f"{h % 5}" for h in home], region=["ns"[h % 5 // 3] for h in home[:-2]] + ["s", None]
    )
    region = Dependencies(records).completed()
    assert [d.by for d in region.cells] == [("zip",)]
    lacking = records["region"].values.copy()
    lacking[0] = -1
    both = Dependencies(records.with_variables(records["region"].with_values(lacking))).completed()
    assert [d.by for d in both.cells] == [("home",), ("zip",)]
    assert not both.records["region"].missing.any()


def test_persons_are_units_as_households_are() -> None:
    """Two records of one person need no further evidence; two with one word in another column do."""
    frame = pl.DataFrame({"who": [1, 1, 2, 3], "born": ["A", None, "B", "C"]})
    frame = pl.concat([frame, pl.DataFrame({"who": [3], "born": ["C"]})])
    for role, laws in (("identifier", 1), ("household", 1), ("other", 0)):
        records = Microdata.of(frame, {"who": role, "born": KEPT}).records
        assert len(Dependencies(records).of("born")) == laws


def planted(exceptions: int, n: int = 300, seed: int = 1) -> Records:
    """Households in one of six regions each, but for some of two or more; every twentieth region is blank."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), rng.integers(1, 5, n))
    region = rng.integers(0, 6, n)[home]
    second = np.flatnonzero(np.diff(home) == 0)[::3][:exceptions]
    region[second] = (region[second + 1] + 1) % 6
    blank = (np.arange(len(home)) % 20 == 0) & ~np.isin(np.arange(len(home)), [*second, *(second + 1)])
    cells = [None if b else f"r{r}" for b, r in zip(blank, region.tolist())]
    return table(home=home.tolist(), region=cells)


@pytest.mark.parametrize("exceptions", [1, 3, 40])
def test_a_law_of_households_survives_exceptions(exceptions: int) -> None:
    records = planted(exceptions)
    assert Dependencies(records).of("region") == []
    filled = Dependencies(records, exceptions=True)
    assert filled.of("region") == [Dependency(("home",), "region")]
    whole = planted(exceptions).with_variables(records["region"])
    (cells,) = filled.completed().cells.values()
    others = [set(whole["region"].values[(whole["home"].values == h)].tolist()) for h in whole["home"].values[cells]]
    values = filled.completed().records["region"].values[cells].tolist()
    assert all(value in several for value, several in zip(values, others))


def test_nine_in_ten_is_enough_of_units_and_nineteen_in_twenty_of_others() -> None:
    """Groups of ten, in some of which one record differs: a tenth of the pairs wrong, a twentieth, one more."""
    by = np.repeat(np.arange(40, dtype=np.int32), 10)
    for wrong, unit, others in ((20, True, True), (21, True, False), (40, True, False)):
        on = (by % 4).astype(np.int32)
        on[np.arange(wrong) * 10] = (on[np.arange(wrong) * 10] + 1) % 4
        assert nearly_determines(by, on, unit=True) == unit
        assert nearly_determines(by, on, unit=False) == others
    on[[1, 2]] = (on[[1, 2]] + 1) % 4
    assert not nearly_determines(by, on, unit=True)
    alone = np.arange(1000, 1400, dtype=np.int32)  # pairs that nobody shares say nothing
    assert not nearly_determines(np.append(by, alone), np.append(on, alone % 4).astype(np.int32), unit=True)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 2)), min_size=1, max_size=60), st.booleans())
def test_a_law_with_exceptions_equals_counting(pairs: list[tuple[int, int]], unit: bool) -> None:
    known = [(a, b) for a, b in pairs if a >= 0 and b >= 0]
    groups = [[b for a, b in known if a == cause] for cause in {a for a, _ in known}]
    wrong = sum(len(group) - max(map(group.count, group)) for group in groups)
    telling = sum(len(group) for group in groups if len(group) > 1)
    effects = [b for _, b in known]
    shares = np.array([effects.count(b) / len(known) for b in set(effects)])
    bounds = [
        math.prod(min(float(((shares + s * (1 - shares)) ** len(g)).sum()), 1.0) for g in groups) / s**wrong
        for s in ([0.5**j for j in range(1, 21)] if wrong else [1e-300])
    ]
    law = (
        telling > 0
        and wrong <= (0.1 if unit else 0.05) * telling
        and wrong / telling <= (1 - shares.max()) / 2
        and min(bounds) < (1e-3 if unit else 1e-6)
    )
    by, on = (np.array(column, dtype=np.int32) for column in zip(*pairs))
    assert nearly_determines(by, on, unit=unit) == law


def test_the_bound_of_exceptions_is_one() -> None:
    """Ten groups of four records drawn from two values: how often so few exceptions occur is no more than is said."""
    drawn = np.random.default_rng(5).integers(0, 2, (20_000, 10, 4)).sum(axis=2)
    wrong = np.minimum(drawn, 4 - drawn).sum(axis=1)
    for least in (2, 4, 6):
        bound = log_chance_of(np.array([4]), np.array([10]), np.array([1, 1]), least)
        assert np.mean(wrong <= least) <= np.exp(bound) <= 1
    assert log_chance_of(np.array([4]), np.array([10]), np.array([1, 1]), 2) < -2


def test_the_most_frequent_fills_in_and_no_tie_does() -> None:
    cells = ["A", "A", "B", None, "A", "B", None]
    by = np.array([1, 1, 1, 1, 2, 2, 2], dtype=np.int32)
    on = np.array([{"A": 0, "B": 1, None: -1}[cell] for cell in cells], dtype=np.int32)
    assert most_frequent(by, on) == {1: 0}


def test_tables_without_laws_claim_none() -> None:
    """Twenty tables of columns drawn by themselves: shares of 96 %, few values and many, in households too."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = (300, 1000, 3000)[seed % 3]
        columns = {
            "even": rng.integers(0, 5, n),
            "skewed": rng.random(n) < 0.04,
            "rarest": rng.random(n) < 0.02,
            "binary": rng.integers(0, 2, n),
            "many": rng.integers(0, n // 2, n),
            "mostly nought": np.where(rng.random(n) < 0.9, 0, rng.integers(1, 99, n)),
        }
        frame = pl.DataFrame({"home": np.sort(rng.integers(0, n // 3, n)), **columns})
        gaps = [pl.when(pl.Series(rng.random(n) < 0.05)).then(None).otherwise(c).alias(c) for c in columns]
        roles = {"home": "household", **dict.fromkeys(columns, KEPT)}
        records = Microdata.of(frame.with_columns(gaps), roles).records
        laws = Dependencies(records, exceptions=True)
        assert [law for name in columns for law in laws.of(name)] == []
        assert Arithmetic(records).laws == []


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 4)), max_size=60))
def test_support_is_what_counting_finds(pairs: list[tuple[int, int]]) -> None:
    by, on = (np.array([pair[side] for pair in pairs], dtype=np.int32) for side in (0, 1))
    groups: dict[int, Counter[int]] = {}
    for cause, effect in pairs:
        if cause >= 0 and effect >= 0:
            groups.setdefault(cause, Counter())[effect] += 1
    several = [group for group in groups.values() if group.total() > 1]
    expected = LawSupport(
        exceptions=sum(group.total() - max(group.values()) for group in several),
        pairs=sum(group.total() for group in several),
        groups=len(several),
    )
    assert support_of(by, on) == expected
