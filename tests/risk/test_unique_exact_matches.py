"""Unique exact matches and replicated uniques: by hand, by trying every pair of records, on planted releases."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from published.reference import reference
from shoal.judges.exact_matches import exact_matches
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError

ORIGINAL = {"sex": ["f", "f", "m", "m", "f"], "area": [1, 1, 1, 2, 3]}
RELEASED = {"sex": ["m", "f", "f", "f", "m"], "area": [1, 3, 3, 1, 3]}


def table(columns):
    role = {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}
    return Microdata.of(pl.DataFrame(columns), dict.fromkeys(columns, role)).records


def test_by_hand():
    # Unique originals: (m, 1), (m, 2), (f, 3). Released: (m, 1) once, (f, 3) twice, (f, 1), (m, 3).
    finding = shoal.UniqueExactMatches().measure(table(ORIGINAL), table(RELEASED))
    assert finding.value == 2 / 3
    assert finding.details["unique originals"] == 3
    assert finding.record_risk.tolist() == [1, 1, 1, 0, 0]


def test_readings_of_a_missing_cell_by_hand():
    # The released (m, ?) is nobody as written, whoever is a man where a missing cell matches every cell, and nobody
    # where it matches none.
    blank = table({"sex": ["m"], "area": [None]})
    by_reading = {
        missing: shoal.UniqueExactMatches(missing=missing).measure(table(ORIGINAL), blank).value
        for missing in ("equal", "wildcard", "nothing")
    }
    assert by_reading == {"equal": 0, "wildcard": 2 / 3, "nothing": 0}


def test_nobody_is_unique():
    twins = table({"sex": ["f", "f"], "area": [1, 1]})
    finding = shoal.UniqueExactMatches().measure(twins, twins)
    assert finding.value == 0
    assert "0 original records" in finding.sentence


def test_a_copy_shows_all_and_a_recoded_column_nobody():
    original = table(ORIGINAL)
    assert shoal.UniqueExactMatches().measure(original, original).value == 1
    recoded = table({**ORIGINAL, "area": ["1-2", "1-2", "1-2", "1-2", "3-4"]})
    assert shoal.UniqueExactMatches().measure(original, recoded).value == 0
    assert shoal.UniqueExactMatches(columns=["sex"]).measure(original, recoded).value == 0  # neither sex is alone


def naive(x, y, missing):
    """Every pair of rows compared cell by cell; -1 is a missing cell."""

    def match(a, b):
        if missing == "wildcard":
            return all(p == q or p < 0 or q < 0 for p, q in zip(a, b))
        if missing == "nothing":
            return all(p == q and p >= 0 for p, q in zip(a, b))
        return tuple(a) == tuple(b)

    unique = [sum(match(a, b) for i, b in enumerate(x) if i != j) == 0 for j, a in enumerate(x)]
    if missing == "nothing":  # visible cells of an incomplete record are compared with complete records
        complete = [b for b in x if min(b) >= 0]
        unique = [
            u if min(a) >= 0 else not any(all(p in (q, -1) for p, q in zip(a, b)) for b in complete)
            for u, a in zip(unique, x)
        ]
    shown = [u and any(match(a, b) for b in y) for u, a in zip(unique, x)]
    showing = [any(u and match(a, b) for u, a in zip(unique, x)) for b in y]
    return unique, shown, showing


@given(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(1, 3),
    st.sampled_from(["equal", "wildcard", "nothing"]),
    st.integers(0, 2**32),
)
def test_equals_trying_every_pair(n, m, d, missing, seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-1, 3, (rows, d)) for rows in (n, m))
    frames = [
        table({f"c{j}": pl.Series([None if v < 0 else str(v) for v in codes[:, j]], dtype=pl.String) for j in range(d)})
        for codes in (x, y)
    ]
    finding = exact_matches(*frames, tuple(f"c{j}" for j in range(d)), missing)
    unique, shown, showing = naive(x.tolist(), y.tolist(), missing)
    assert finding.unique.tolist() == unique
    assert finding.shown.tolist() == shown
    assert finding.showing.tolist() == showing


DEMOGRAPHIC = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"]


@pytest.mark.parametrize(("left_out", "unique"), [(None, 14_918), ((), 27_159), (("PUMA", "PWGTP", "WGTP"), 25_774)])
def test_uniques_of_the_nist_excerpt(left_out, unique):
    """As SDNist prints for submissions of ten, 24 and 21 columns."""
    frame = pl.read_csv(reference("nist/national2019.csv"), infer_schema=False)
    frame = frame.select(DEMOGRAPHIC) if left_out is None else frame.drop(left_out)
    finding = shoal.UniqueExactMatches().measure(frame, frame)
    assert finding.details["unique originals"] == unique
    assert finding.value == 1


def test_bad_input_is_refused():
    for kind, missing in product((shoal.UniqueExactMatches, shoal.ReplicatedUniques), ("gone", 1)):
        with pytest.raises(ParameterError, match="missing must be"):
            kind(missing=missing)
    lonely = shoal.UniqueExactMatches().measure(table(ORIGINAL), table({"town": ["x"]}))
    assert lonely.value is None
    assert lonely.reason
