"""Confidential columns in bins, each by hand."""

import numpy as np
import polars as pl
import pytest

from shoal.table.confidential_bins import binned, confidential_bins, without_missing
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError

TREE = Hierarchy.from_nested({"cold": ["ice", "snow"], "hot": ["fire", "lava"]})


def column(cells: list[object], **described: object) -> Records:
    role = {"role": "confidential", "missing": "keep", **described}
    return Microdata.of(pl.DataFrame({"c": cells}, strict=False), {"c": role}).encoded


def test_numbers_in_ascending_order_missing_ones_in_no_bin() -> None:
    bins = binned(column([2.5, None, -1.0, 2.5, 0.0, -0.0])["c"])
    assert bins.bins.tolist() == [2, -1, 0, 2, 1, 1]  # 0 and -0 are one value
    assert bins.counts.tolist() == [1, 2, 2]
    assert (bins.m, bins.missing, bins.nodes.shape, bins.spread) == (3, 1, (0, 3), False)
    assert binned(column([1, 2, 2])["c"], "rank").spread


def test_categories_that_occur_in_the_order_of_an_ordinal_column() -> None:
    bins = binned(column(["high", "low", None, "high"], level="ordinal", order=["low", "middle", "high"])["c"])
    assert bins.bins.tolist() == [1, 0, -1, 1]
    assert bins.counts.tolist() == [1, 2]  # nobody is in the middle


def test_a_missing_category_is_one_more_category() -> None:
    bins = binned(column(["b", None, "a", None], level="nominal")["c"])
    assert sorted(bins.counts.tolist()) == [1, 1, 2]
    assert bins.bins[1] == bins.bins[3] >= 0
    assert bins.missing == 0
    assert bins.nodes.tolist() == [[0, 0, 0]]  # nothing above them but the root


def test_leaves_of_a_node_are_neighbours_and_missing_is_under_the_root_alone() -> None:
    records = column(["lava", "ice", None, "fire", "snow", "ice"], level="nominal", hierarchy=TREE)
    bins = binned(records["c"], "hierarchical")
    order = [int(bins.bins[row]) for row in (1, 4, 3, 0)]  # ice, snow, fire, lava
    assert abs(order[0] - order[1]) == 1
    assert abs(order[2] - order[3]) == 1
    below, root = bins.nodes[0], bins.nodes[-1]
    assert below[order[0]] == below[order[1]] != below[order[2]] == below[order[3]]
    assert below[int(bins.bins[2])] not in (below[order[0]], below[order[2]])
    assert len(set(root.tolist())) == 1
    assert bins.counts[bins.bins].tolist() == [1, 2, 1, 1, 1, 2]


def test_equal_distances_forget_order_and_hierarchy() -> None:
    assert binned(column(["ice", "lava"], level="nominal", hierarchy=TREE)["c"], "equal").nodes.tolist() == [[0, 0]]
    assert binned(column([3.0, 1.0])["c"], "equal").nodes.tolist() == [[0, 0]]
    with pytest.raises(
        DataError, match="Column 'c' has no hierarchy that holds all of its values, which distance: hierarchical"
    ):
        binned(column(["x", "y"], level="nominal")["c"], "hierarchical")


def test_whole_numbers_as_given_and_as_floats_are_the_same_bins() -> None:
    whole, real = binned(column([5, 3, 5])["c"]), binned(column([5.0, 3.0, 5.0])["c"])
    assert whole.bins.tolist() == real.bins.tolist() == [1, 0, 1]
    assert whole.take(np.array([2, 0])).tolist() == [1, 1]


def test_only_confidential_columns_and_missing_ones_may_be_left_out() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3], "c": ["a", None, "a"], "d": [1.0, 2.0, None]})
    keep = {"role": "confidential", "missing": "keep"}
    records = Microdata.of(frame, {"q": "quasi-identifier", "c": {**keep, "level": "nominal"}, "d": keep}).encoded
    assert [bins.name for bins in confidential_bins(records)] == ["c", "d"]
    c, d = without_missing(records)
    assert c.bins[1] == d.bins[2] == -1
    assert c.bins[0] == c.bins[2] >= 0
    assert len({*d.bins[:2].tolist()}) == 2
