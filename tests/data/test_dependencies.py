"""Columns that determine others are found by the law they keep, and only where its keeping is no chance."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.dependencies import CHANCE, Dependencies, Dependency, determines, log_chance
from shoal.data.microdata import Microdata
from shoal.data.records import Records

KEPT = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}


def table(**columns: list[object]) -> Records:
    roles = {name: "household" if name == "home" else KEPT for name in columns}
    return Microdata.of(pl.DataFrame(columns), roles).records


def test_members_of_a_household_give_each_other_away() -> None:
    records = table(home=[1, 1, 1, 2, 2, 3], town=["A", None, "A", "B", "B", None], sex=["f", "m", None, "f", "f", "m"])
    dependencies = Dependencies(records)
    assert dependencies.of("town") == [Dependency("home", "town")]
    assert dependencies.of("sex") == []  # the first household has both
    filled = dependencies.completed()
    assert filled.records["town"].values.tolist() == [0, 0, 0, 1, 1, -1]  # nobody else lives in household 3
    assert {d: c.tolist() for d, c in filled.cells.items()} == {
        Dependency("home", "town"): [False, True, False, False, False, False]
    }


def test_one_exception_or_no_household_of_two_is_no_law() -> None:
    assert Dependencies(table(home=[1, 1, 2, 2, 3, 3], town=["A", "B", "A", "A", "B", None])).of("town") == []
    assert Dependencies(table(home=[1, 2, 3], town=["A", "B", None])).of("town") == []


def test_a_postcode_tells_the_region_but_four_records_prove_nothing() -> None:
    zip_ = [f"{i % 10}" for i in range(60)]
    region = ["north" if int(z) < 5 else "south" for z in zip_]
    region[7] = None
    records = table(zip=zip_, region=region)
    assert Dependencies(records).of("region") == [Dependency("zip", "region")]
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
