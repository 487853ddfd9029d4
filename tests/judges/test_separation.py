"""Distinction, separation and minimal unique sets: by hand, by their definitions, and in large tables."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.suda2 import minimal_sample_uniques
from shoal.judges import separation as module
from shoal.judges.separation import minimal_sets, separation
from shoal.table.microdata import Microdata


def table(columns):
    role = {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}
    return Microdata.of(pl.DataFrame(columns), dict.fromkeys(columns, role)).records


SMALL = table({"sex": ["f", "f", "m", "m", "f"], "area": [1, 2, 1, 3, 2]})


def test_by_hand():
    # f three times, m twice: of ten pairs 3 + 1 are equal. Areas 1, 2 twice each, 3 once: two equal pairs, one unique.
    sex, area, both = (separation(SMALL, names) for names in (("sex",), ("area",), ("sex", "area")))
    assert (sex.distinct, sex.distinction, sex.unique) == (2, 0.4, 0)
    assert sex.separation == pytest.approx(0.6)
    assert area.separation == pytest.approx(0.8)
    assert area.unique == 0.2
    # (f, 1), (f, 2) twice, (m, 1), (m, 3)
    assert (both.distinct, both.unique) == (4, 0.6)
    assert both.separation == pytest.approx(0.9)


def test_minimal_sets_by_hand(rng):
    sets = minimal_sets(SMALL, ("sex", "area"), rng)
    assert sets.counts == {("sex", "area"): 2, ("area",): 1}
    assert list(sets.counts) == [("sex", "area"), ("area",)]
    assert sets.records == 5


@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 2**32))
def test_by_definition(n, d, seed):
    codes = np.random.default_rng(seed).integers(0, 3, (n, d))
    names = tuple(f"c{j}" for j in range(d))
    records = table({name: codes[:, j].astype(str) for j, name in enumerate(names)})
    pairs = [(i, j) for i in range(n) for j in range(i)]
    differ = sum((codes[i] != codes[j]).any() for i, j in pairs)
    figures = separation(records, names)
    assert figures.separation == pytest.approx(differ / len(pairs))
    assert figures.distinct == len({tuple(row) for row in codes.tolist()})
    sets: dict[tuple[str, ...], int] = {}
    for _, columns in minimal_sample_uniques(codes, 4):
        key = tuple(names[j] for j in columns)
        sets[key] = sets.get(key, 0) + 1
    assert minimal_sets(records, names, np.random.default_rng(seed)).counts == sets


def test_large_tables_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MOST_RECORDS", 40)
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)
    rng = np.random.default_rng(3)
    a, b, d = (rng.integers(0, values, 200).astype(str) for values in (2, 40, 60))
    records = table({"a": a, "b": b, "c": ["x"] * 200, "d": d})
    sets = minimal_sets(records, ("a", "b", "c", "d"), np.random.default_rng(1))
    assert sets.records == 40
    assert sets.columns == ("b", "d")  # these separate best, and stand in the table's order
    assert set(sets.counts) <= {("b",), ("d",), ("b", "d")}
    again = minimal_sets(records, ("a", "b", "c", "d"), np.random.default_rng(1))
    assert again.counts == sets.counts


def test_nothing_to_tell_apart(rng):
    one = SMALL.take(np.array([0]))
    assert separation(one, ("sex",)).separation == 0
    assert minimal_sets(one, ("sex",), rng).counts == {}
    assert minimal_sets(SMALL, (), rng).counts == {}
    assert math.isfinite(separation(SMALL.take(np.arange(0)), ("sex",)).distinction)
