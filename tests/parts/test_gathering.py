"""What is gathered part by part is what the whole has: moments, spreads, orders, lookalikes; and where it is cut."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.risk.population import Lookalikes, lookalikes
from shoal.run.parts.joining import merged_order
from shoal.run.parts.part_work import Spread
from shoal.table.microdata import Microdata
from shoal.table.parts.cuts import Coordinates, Cuts
from shoal.table.parts.moments import MergedMoments
from shoal.table.parts.pieces import gathered, scatter
from shoal.table.records import Records
from shoal.table.whole_column import WholeColumn
from shoal.vocabulary.errors import Refused


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=20), min_size=1, max_size=6), st.sampled_from([0.0, 1e9]))
def test_moments_of_parts_are_those_of_the_whole(parts, offset):
    whole = np.concatenate([np.array(part, dtype=float) for part in parts]) + offset
    moments = MergedMoments()
    for part in parts:
        moments.join(MergedMoments.of(np.array(part, dtype=float) + offset))
    assert moments.count == len(whole)
    if len(whole) > 1:
        tolerance = 1e-6 * max(float(np.abs(whole).max()), 1.0) * 1e-6
        assert moments.mean == pytest.approx(whole.mean(), rel=1e-12, abs=tolerance)
        assert moments.deviation == pytest.approx(whole.std(ddof=1), rel=1e-7, abs=1e-6)
        assert (moments.low, moments.high) == (whole.min(), whole.max())


@pytest.mark.parametrize("scale", ["sd", "range", "none"])
def test_parts_are_standardised_as_the_whole(scale):
    x = np.random.default_rng(1).lognormal(3, 1, 200)
    whole = Records.from_array(x, scale)
    moments = MergedMoments()
    moments.join(MergedMoments.of(x))
    known = moments.scaled(scale)
    np.testing.assert_allclose(known.standardised(x[50:60]), whole.matrix()[50:60, 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", ["mad", "rank", "log"])
@pytest.mark.parametrize("x", [[5.0, 1, 2, 2, 9, 4], [3.0, 3, 3, 3, 8], [7.0, 7], [2.5]], ids=len)
def test_parts_are_standardised_by_all_values_as_the_whole(scale, x):
    """Ties, an even and an odd number of values, a median absolute deviation of 0, a constant, one record."""
    values, counts = np.unique(x, return_counts=True)
    known = WholeColumn(values=values, counts=counts).scaled(scale)
    whole = Records.from_array(np.array(x), scale)
    np.testing.assert_allclose(known.standardised(np.array(x)), whole.matrix()[:, 0], rtol=1e-12, atol=1e-12)


def test_a_constant_column_has_no_spread():
    moments = MergedMoments()
    moments.join(MergedMoments.of(np.full(10, 7.5)))
    assert moments.scaled("sd").standardised(np.full(3, 7.5)).tolist() == [0, 0, 0]


def test_a_value_that_the_whole_does_not_have_is_an_error():
    column = WholeColumn(values=np.array([1.0, 2.0]), counts=np.array([3, 4]), missing=2)
    assert column.places(np.array([2.0, 1.0]))[1].tolist() == [1, 0]
    assert column.with_missing.places(np.array([np.nan, 1.0]))[1].tolist() == [2, 0]
    with pytest.raises(ValueError, match="does not have"):
        column.places(np.array([3.0]))
    with pytest.raises(ValueError, match="not counted"):
        WholeColumn().places(np.array([3.0]))


def records_of(n: int) -> Records:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "x": rng.standard_normal(n),
            "level": rng.choice(["low", "middle", "high"], n),
            "kind": rng.choice(list("abcd"), n),
            "tree": rng.choice(["red", "blue"], n),
        }
    )
    roles = {
        "x": {"role": "quasi-identifier", "scale": "none"},
        "level": {"role": "quasi-identifier", "level": "ordinal", "order": ["low", "middle", "high"]},
        "kind": {"role": "quasi-identifier", "weight": 2.0},
        "tree": {"role": "quasi-identifier", "hierarchy": {"nested": {"warm": ["red"], "cold": ["blue"]}}},
    }
    return Microdata.of(frame, roles).records


@pytest.mark.parametrize("name", ["x", "level", "kind", "tree"])
def test_spreads_of_parts_are_that_of_the_whole(name):
    records = records_of(300)
    x = records.matrix([name])
    expected = float(((x - x.mean(axis=0)) ** 2).sum())
    parts = [Spread.of(records.take(np.arange(start, start + 100))[name]) for start in (0, 100, 200)]
    assert Spread.joined(parts).total == pytest.approx(expected, rel=1e-10)


def test_the_order_of_categories_is_that_of_all_parts():
    assert merged_order([("a", "c"), ("b", "c", "d"), ("a", "b")]) == ("a", "b", "c", "d")
    assert merged_order([()]) == ()
    with pytest.raises(Refused, match="order the categories"):
        merged_order([("a", "b"), ("b", "a")])


def test_lookalikes_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"area": rng.choice(list("abcdefgh"), 500), "w": rng.integers(1, 4, 500).astype(float)})
    records = Microdata.of(frame, {"area": "quasi-identifier", "w": "weight"}).records
    first = np.isin(frame["area"].to_numpy(), ["a", "b", "c"])
    whole = lookalikes(records)
    parts = Lookalikes.joined([lookalikes(records.take(first)), lookalikes(records.take(~first))])
    assert len(parts.sizes) <= 8
    assert parts.count == whole.count == 500
    assert parts.mean(1 / parts.population) == pytest.approx(whole.mean(1 / whole.population), rel=1e-12)
    assert parts.share(parts.sizes > 60) == whole.share(whole.sizes > 60)


@given(st.integers(1, 9), st.integers(1, 3), st.integers(0, 5))
def test_cuts_divide_a_sample_evenly_and_never_part_equal_records(leaves, width, seed):
    x = np.random.default_rng(seed).integers(0, 50, (400, width)).astype(float)
    cuts = Cuts.through(x, leaves)
    leaf = cuts.leaf_of(x)
    assert cuts.leaves <= leaves
    assert set(leaf.tolist()) == set(range(cuts.leaves))
    for point in np.unique(x, axis=0)[:20]:
        assert len(np.unique(leaf[(x == point).all(axis=1)])) == 1
    if width > 1:
        assert np.bincount(leaf).min() >= 400 / leaves / 2


def test_equal_records_cannot_be_cut():
    assert Cuts.through(np.ones((100, 2)), 4).leaves == 1


def test_a_cut_goes_across_the_widest_direction():
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.standard_normal(1000), 10 * rng.standard_normal(1000)])
    node = Cuts.through(x, 2).nodes[0]
    assert abs(node.weights[1]) > 0.99
    assert abs(node.at) < 1


def test_many_categories_count_by_their_order(monkeypatch):
    monkeypatch.setattr("shoal.table.parts.cuts.WIDEST", 3)
    records = records_of(120)
    points = np.vstack(list(Coordinates.of(records, ("x", "kind")).slices(records)))
    assert points.shape == (120, 2)
    np.testing.assert_allclose(points[:, 1], np.sqrt(2) * records["kind"].values / 3)


def test_records_are_dealt_out_in_their_order(tmp_path):
    chunks = [pl.DataFrame({"a": [0, 1, 2, 3]}), pl.DataFrame({"a": [4, 5]})]
    files = scatter(((chunk, chunk["a"].to_numpy() % 2) for chunk in chunks), 3, tmp_path / "out")
    assert [gathered(path)["a"].to_list() for path in files] == [[0, 2, 4], [1, 3, 5]]
