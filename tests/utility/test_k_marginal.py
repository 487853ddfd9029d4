"""The k-marginal score: by hand, against SDNist's own program, on planted releases."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from published.reference import reference
from shoal.table.microdata import Microdata
from shoal.utility.k_marginal import in_parts
from shoal.vocabulary.errors import DataError, ParameterError

DEMOGRAPHIC = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"]


def table(columns, **levels):
    frame = pl.DataFrame(columns)
    roles = {
        n: {"role": "quasi-identifier", "level": levels.get(n, "nominal"), "missing": "keep"} for n in frame.columns
    }
    return Microdata.of(frame, roles).records


ORIGINAL = {"sex": list("ffmm"), "area": list("abab"), "ill": list("yynn")}
RELEASED = {"sex": list("ffmm"), "area": list("aabb"), "ill": list("yynn")}


def test_by_hand():
    # sex x area: shares 1/4 each against 1/2 fa, 1/2 mb: difference 1, score 500. area x ill likewise. sex x ill: 1000.
    finding = shoal.KMarginal().measure(table(ORIGINAL), table(RELEASED))
    assert finding.value == pytest.approx(2000 / 3)
    assert list(finding.details["worst tables"].values()) == [500, 500, 1000]
    assert finding.by_column.private() == {"sex": 750, "area": 500, "ill": 750}
    assert finding.details["tables"] == finding.details["tables in all"] == 3
    assert shoal.KMarginal(order=1).measure(table(ORIGINAL), table(RELEASED)).value == 1000
    assert shoal.KMarginal(order=3).measure(table(ORIGINAL), table(RELEASED)).value == 500


def test_groups_by_hand():
    # By area, the one other table is sex x ill. Original: a: (f, y), (m, n), b: the same, a quarter each. Released: a
    # holds both (f, y), b both (m, n). Difference 4 x 1/4 = 1: score 500. In each area it is 1/2 of 1/2: score 0.
    finding = shoal.KMarginal(group="area").measure(table(ORIGINAL), table(RELEASED))
    assert finding.value == 500
    assert finding.details["score by group"] == {"a": 0, "b": 0}
    other = shoal.KMarginal(group="area").measure(table(ORIGINAL), table({**RELEASED, "area": list("abcc")}))
    assert other.details["score by group"] == {"a": 500, "b": 500}
    assert other.value == 500


def test_parts_of_a_continuous_column():
    # 12 values in 4 parts, right ends belonging below: 1-4, 5-7, 8-10, 11-12 by the higher quartiles 4, 7, 10.
    x = table({"x": [float(i) for i in range(1, 13)]}, x="continuous")["x"]
    codes, _ = in_parts(x, x, 4)
    assert codes.tolist() == [0] * 4 + [1] * 3 + [2] * 3 + [3] * 2
    # Values below, values above and missing ones each take a part, so that one is left for the original's own range.
    y = table({"x": [0.0, 1.0, 12.0, 13.0, None]}, x="continuous")["x"]
    before, after = in_parts(x, y, 4)
    assert set(before[1:]) == {1}
    assert after.tolist() == [0, 0, 1, 2, 3]
    # At most `bins` values: each is a part, and what lies between belongs to the next.
    few = table({"x": [1.0, 1.0, 5.0]}, x="continuous")["x"]
    before, after = in_parts(few, table({"x": [0.0, 1.0, 3.0, 5.0, 9.0]}, x="continuous")["x"], 4)
    assert before.tolist() == [1, 1, 2]
    assert after.tolist() == [0, 1, 2, 2, 3]
    blank = table({"x": pl.Series([None, None], dtype=pl.Float64)}, x="continuous")["x"]
    assert [part.tolist() for part in in_parts(blank, few, 4)] == [[1, 1], [0, 0, 0]]


def test_a_copy_scores_1000_and_a_sample_as_its_size():
    rng = np.random.default_rng(5)
    frame = {
        "a": rng.integers(0, 9, 4000).astype(str),
        "b": rng.integers(0, 9, 4000).astype(str),
        "c": rng.normal(size=4000),
    }
    original = table(frame, c="continuous")
    copy = shoal.KMarginal().measure(original, original)
    assert copy.value == 1000
    part = original.take(rng.choice(4000, 1600, replace=False))
    sampled = shoal.KMarginal().measure(original, part)
    assert sampled.value == pytest.approx(sampled.details["samples"]["40%"], abs=10)
    assert sampled.details["samples"]["5%"] < sampled.value < 1000


def test_many_sets_of_columns_are_drawn():
    rng = np.random.default_rng(5)
    wide = table({f"c{j:02}": rng.integers(0, 3, 50).astype(str) for j in range(12)})
    finding = shoal.KMarginal(tables=20).measure(wide, wide.take(np.arange(30)), seed=1)
    assert (finding.details["tables"], finding.details["tables in all"]) == (20, 66)
    again = shoal.KMarginal(tables=20).measure(wide, wide.take(np.arange(30)), seed=1)
    assert again.value == finding.value
    assert shoal.KMarginal(tables=20).measure(wide, wide.take(np.arange(30)), seed=2).value != finding.value


def test_tables_too_large_for_an_array_are_counted_all_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    one, other = (table({n: rng.integers(0, 40, 300).astype(str) for n in "abcd"}) for _ in range(2))
    dense = shoal.KMarginal(order=3, group="a").measure(one, other)
    monkeypatch.setattr("shoal.utility.k_marginal.MOST_CELLS", 10)
    sparse = shoal.KMarginal(order=3, group="a").measure(one, other)
    assert sparse.value == pytest.approx(dense.value)
    assert sparse.details["score by group"] == pytest.approx(dense.details["score by group"])


def test_kinds_of_frame():
    one, other = pd.DataFrame(ORIGINAL), pd.DataFrame(RELEASED)
    values = [
        shoal.KMarginal().measure(kind(one), kind(other)).value
        for kind in (lambda f: f, pl.from_pandas, pa.Table.from_pandas)
    ]
    assert values == [pytest.approx(2000 / 3)] * 3


def test_plain_samples_of_the_nist_excerpt():
    """SDNist's reports print 946 and 954 for samples of 5 %, drawn without a seed."""
    frame = pl.read_csv(reference("nist/national2019.csv"), infer_schema=False).select(DEMOGRAPHIC)
    frame = frame.with_columns(pl.col("AGEP").cast(pl.Float64))
    finding = shoal.KMarginal().measure(frame, frame)
    assert finding.value == 1000
    assert finding.details["samples"]["5%"] == pytest.approx(950, abs=12)


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="k-marginal: order must be"):
        shoal.KMarginal(order=5)
    with pytest.raises(DataError, match="group 'town' must be a column of both tables"):
        shoal.KMarginal(group="town").measure(table(ORIGINAL), table(RELEASED))
    numbers = table({"x": [1.0, 2.0], "y": ["a", "b"], "z": ["a", "b"]}, x="continuous")
    with pytest.raises(DataError, match="group 'x' holds numbers"):
        shoal.KMarginal(group="x").measure(numbers, numbers)
    assert "Fewer than 2 columns" in shoal.KMarginal(columns=["sex"]).measure(table(ORIGINAL), table(RELEASED)).reason
