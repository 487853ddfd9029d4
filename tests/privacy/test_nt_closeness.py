import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.judges.natural_sets import class_points, nearest_set_distances, nested_boxes
from shoal.table.confidential_bins import confidential_bins
from shoal.table.microdata import Microdata


def test_large_set_may_differ_from_the_table():
    """Two towns with different incomes: each class is like its town, no class is like the country."""
    rng = np.random.default_rng(1)
    town = np.repeat([0, 1], 60)
    frame = pd.DataFrame(
        {
            "town": town,
            "age": np.tile(np.repeat(np.arange(6), 10), 2),
            "pay": np.tile(rng.permutation(10), 12) + 10 * town,
        }
    )
    assert shoal.TCloseness(t=0.1).check(frame, confidential="pay").achieved > 0.2
    assert shoal.NTCloseness(n=30, t=0.1).check(frame, confidential="pay").achieved == 0
    assert not shoal.NTCloseness(n=61, t=0.1).check(frame, confidential="pay").holds
    assert not shoal.NTCloseness(n=121, t=1).check(frame, confidential="pay").holds


@given(
    points=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25, unique=True),
    n=st.integers(1, 9),
    data=st.data(),
)
def test_boxes_are_nested_and_large(points, n, data):
    sizes = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(points), max_size=len(points))))
    x = np.array(points, dtype=float)
    levels = nested_boxes(x, sizes, n)
    assert (levels[-1] == 0).all()
    for inside, wider in zip(levels, levels[1:]):
        assert len(set(zip(inside, wider))) == len(set(inside))
        assert np.bincount(inside, weights=sizes).min() >= min(n, sizes.sum())


def test_boxes_part_no_equal_values():
    levels = nested_boxes(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([2, 2, 2, 2]), 2)
    assert [len(set(inside)) for inside in levels] == [2, 1]
    assert levels[0][0] == levels[0][1] == levels[0][2] != levels[0][3]


def test_the_box_is_cut_where_the_column_is_widest_and_nearest_to_the_median() -> None:
    """Ages 0 to 9 on a line of towns: n = 4 allows cuts that leave 4 records on both sides; the middle one is taken."""
    points = np.array([[0.0, 0.1], [0.2, 0.1], [0.4, 0.2], [0.6, 0.2], [1.0, 0.3]])
    sizes = np.array([1, 3, 2, 1, 3])
    boxes = nested_boxes(points, sizes, 4)
    # 4 and 6 records, or 6 and 4: both miss the middle by one, and the first is taken; 4 and 6 are then too few to cut
    assert [b.tolist() for b in boxes] == [[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]
    wider = np.column_stack([points[:, 0] / 10, points[::-1, 1]])  # now the second column is the wider one
    assert nested_boxes(wider, sizes, 4)[0].tolist() == [1, 1, 1, 0, 0]


def test_a_class_may_appeal_to_any_box_that_holds_it_the_smallest_first() -> None:
    """The young are ill and the old are well: a young class is far from the table, and just as the young half."""
    frame = pd.DataFrame({"age": [1, 1, 2, 2, 8, 8, 9, 9], "ill": ["y", "n", "y", "n", "n", "n", "n", "n"]})
    roles = {"age": "quasi-identifier", "ill": "confidential"}
    table = Microdata.of(frame, roles)
    assert not shoal.TCloseness(t=0.2).check(table).holds
    verdict = shoal.NTCloseness(n=4, t=0.2).check(table)
    assert (verdict.holds, verdict.achieved) == (True, 0.0)
    assert shoal.NTCloseness(n=5, t=0.2).check(table).achieved == 0.25  # no half has five, so the table is the only box


def test_the_figure_is_that_of_the_first_box_that_is_near_enough() -> None:
    """Of the class of 1 half are ill, of its half of the table three quarters, of the table five eighths: .25 counts.

    The two old classes are .5 from their half, so that the whole table is looked at, too.
    """
    frame = pd.DataFrame({"age": [1, 1, 2, 2, 8, 8, 9, 9], "ill": ["y", "n", "y", "y", "n", "n", "y", "y"]})
    records = Microdata.of(frame, {"age": "quasi-identifier", "ill": "confidential"}).encoded
    classes = records.classes(("age",))
    boxes = nested_boxes(class_points(records, ("age",), classes), classes.sizes, 4)
    columns = [(column, classes) for column in confidential_bins(records, "distinct")]
    assert nearest_set_distances(columns, boxes, 0.3).tolist() == [[0.25, 0.25, 0.5, 0.375]]
    assert nearest_set_distances(columns, boxes, 0.2).tolist() == [[0.125, 0.25, 0.5, 0.375]]


def test_missing_quasi_identifiers_stand_below_all_others_in_a_box() -> None:
    """The two without an age are their own corner: with the youngest they are a box of four, never with the oldest."""
    roles = {"age": {"role": "quasi-identifier", "missing": "keep"}, "ill": "confidential"}
    ages = [None, None, 1.0, 1.0, 8.0, 8.0, 9.0, 9.0]
    ill = ["y", "n", "y", "n", "n", "n", "n", "n"]
    records = Microdata.of(pl.DataFrame({"age": ages, "ill": ill}), roles).encoded
    classes = records.classes(("age",))
    points = class_points(records, records.quasi_identifiers, classes)[classes.ids, 0]
    assert points.tolist() == [-1, -1, 0, 0, 0.875, 0.875, 1, 1]
    assert shoal.NTCloseness(n=4, t=0.2).check(records).holds


def test_missing_confidential_values_are_as_far_as_can_be_in_boxes_too() -> None:
    roles = {"age": "quasi-identifier", "pay": {"role": "confidential", "missing": "keep"}}
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "pay": [None, None, 5.0, 6.0]})
    verdict = shoal.NTCloseness(n=4, t=0.4).check(Microdata.of(frame, roles))
    assert not verdict.holds
    # half of the table is missing, of one class all: half of everybody's mass moves a whole height
    assert verdict.achieved == pytest.approx(0.5)


def test_the_records_that_fail_are_those_of_the_classes_that_do() -> None:
    """Of three ages of four records each, the middle one earns the median; a set of all 12 is the only one."""
    frame = pd.DataFrame({"age": [3, 1, 2] * 4, "pay": [1, 2, 9] * 4})
    verdict = shoal.NTCloseness(n=12, t=0.4).check(frame, confidential="pay")
    assert not verdict.holds
    assert verdict.failing.tolist() == [pay != 2 for pay in frame["pay"]]
