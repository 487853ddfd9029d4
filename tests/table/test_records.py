"""Records: one place for distances, and equivalence classes as written."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shoal
from shoal.table.hierarchy import Hierarchy
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.standardisation import standardiser
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError


def variable(name: str, values: list[float] | np.ndarray, **kwargs: object) -> Variable:
    level = kwargs.pop("level", "continuous")
    kind = np.float64 if level == "continuous" else np.int32
    return Variable(name=name, role="quasi-identifier", level=level, values=np.array(values, dtype=kind), **kwargs)


def test_continuous_columns_are_standardised_by_mean_and_n_minus_1_deviation() -> None:
    assert variable("a", [1, 2, 3]).embedded()[:, 0] == pytest.approx([-1, 0, 1])


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("range", [0.0, 0.25, 1.0]),
        ("rank", [0.0, 0.5, 1.0]),
        ("none", [0.0, 1.0, 4.0]),
        ("mad", [-1 / 1.4826, 0.0, 3 / 1.4826]),
    ],
)
def test_other_scales(scale: str, expected: list[float]) -> None:
    out = standardiser(np.array([0.0, 1.0, 4.0]), scale)(np.array([0.0, 1.0, 4.0]))  # type: ignore[arg-type]
    assert np.diff(out) == pytest.approx(np.diff(expected), rel=1e-4)


def test_logarithms_of_positive_numbers_and_of_released_ones_below_them() -> None:
    """ln 1, ln 10, ln 100 lie at -1, 0, 1; what is released below the least value counts as that."""
    to_scale = standardiser(np.array([1.0, 10.0, 100.0]), "log")
    assert to_scale(np.array([1.0, 10.0, 100.0, -5.0, 1000.0])) == pytest.approx([-1, 0, 1, -1, 2])


@given(arrays(np.float64, st.integers(2, 30), elements=st.integers(-50, 50).map(float)))
def test_an_offset_of_1e8_changes_nothing_but_rounding(values: np.ndarray) -> None:
    plain, moved = variable("a", values).embedded(), variable("a", values + 1e8).embedded()
    assert moved == pytest.approx(plain, abs=1e-7)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1.0, 1e300])
def test_scale_does_not_matter(unit: float) -> None:
    values = np.array([1.0, 2.0, 5.0, 9.0])
    assert variable("a", values * unit).embedded() == pytest.approx(variable("a", values).embedded())


def test_values_at_both_ends_of_the_range_of_floats() -> None:
    biggest = np.finfo(float).max
    assert variable("a", [-biggest, 0.0, biggest]).embedded()[:, 0] == pytest.approx([-1, 0, 1])


def test_a_constant_column_has_no_distance() -> None:
    assert not variable("a", [0.1, 0.1, 0.1]).embedded().any()


def test_mixed_distance_by_hand() -> None:
    tree = Hierarchy.from_nested({"n": {"c": ["a", "b"]}, "s": {"p": ["d"]}})
    records = Records.of(
        [
            variable("ordinal", [0, 2, 1], level="ordinal", categories=("low", "mid", "high")),
            variable("nominal", [0, 1, 1], level="nominal", categories=("x", "y")),
            variable("tree", [0, 1, 2], level="nominal", categories=("a", "b", "d"), hierarchy=tree, weight=4.0),
        ]
    )
    x = records.matrix()
    squared = ((x[0] - x[1]) ** 2).sum(), ((x[1] - x[2]) ** 2).sum()
    # rows 0, 1: ordinal 1, nominal 1, tree 4 x 1/2; rows 1, 2: ordinal (1/2)^2, nominal 0, tree 4
    assert squared == pytest.approx((1 + 1 + 2, 0.25 + 0 + 4))


def test_a_released_ancestor_lies_amid_its_leaves() -> None:
    tree = Hierarchy.from_nested({"n": ["a", "b"], "s": ["d"]})
    original = Records.of([variable("t", [0, 1, 2], level="nominal", categories=("a", "b", "d"), hierarchy=tree)])
    released = Records.of([variable("t", [0, 0, 1], level="nominal", categories=("n", "d"))])
    x, y = original.matrix(["t"]), released.matrix_like(original, ["t"])
    assert y[0] == pytest.approx(x[:2].mean(axis=0))
    assert y[2] == pytest.approx(x[2])


def test_classes_tell_cells_apart_as_they_are_written() -> None:
    records = Records.of([variable("a", [0.0, -0.0, np.nan, np.nan, 1.0, 1.0 + 1e-15])])
    assert records.classes(["a"]).sizes.tolist().count(2) == 1  # only the two missing cells are alike
    assert len(records.classes(["a"]).sizes) == 5


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0.5, 1e300, -1e-300, np.nan])), max_size=40))
def test_classes_equal_a_dictionary_of_tuples(rows: list[tuple[int, float]]) -> None:
    columns = list(zip(*rows)) or [(), ()]
    records = Records.of([variable("a", list(columns[0])), variable("b", list(columns[1]))])
    classes = records.classes(["a", "b"])
    keys = [(a, str(b)) for a, b in rows]
    assert classes.of_record.tolist() == [keys.count(key) for key in keys]


def test_no_columns_make_one_class() -> None:
    assert Records.of([variable("a", [1, 2, 3])]).classes([]).sizes.tolist() == [3]


def test_missing_columns_and_values_are_named_without_values() -> None:
    records = Records.of([variable("income", [1.0, np.nan, 3.0])])
    with pytest.raises(DataError, match="Column 'income' has 1 missing value; mdav needs complete columns"):
        records.complete(["income"], "mdav")
    with pytest.raises(DataError, match="There is no column 'age'; there are 'income'"):
        records["age"]
    with pytest.raises(DataError, match="has 1 value that is missing or infinite; numbers must be finite"):
        Records.from_array([1.0, np.inf])


@pytest.mark.parametrize(
    "array",
    [
        np.array([["1"], ["1.0"]]),
        np.array([["a"], ["b"]], dtype=object),
        np.array([[1 + 1j], [1]]),
        np.array([["2020-01-01"]], dtype="datetime64[ns]"),
    ],
    ids=["text", "objects", "complex", "dates"],
)
def test_an_array_of_anything_but_numbers_is_refused(array):
    with pytest.raises(DataError, match="must hold numbers"):
        Records.from_array(array)


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_integers_that_would_become_one_are_refused(dtype):
    """2^53 and 2^53 + 1 are one float64: as float64 these records are 4-anonymous."""
    with pytest.raises(DataError, match="beyond 2"):
        shoal.KAnonymity(k=4).check(np.array([[2**53 + i % 2] for i in range(4)], dtype=dtype))


def test_an_array_of_python_numbers_is_taken():
    assert Records.from_array(np.array([[1], [2.5]], dtype=object)).matrix(["x0"]).shape == (2, 1)


@pytest.mark.parametrize("labels", [[2**32, 0], [0.9, 0.2], [0, np.nan]])
def test_labels_that_would_join_another_group_are_refused(labels):
    with pytest.raises(DataError, match="labels must"), np.errstate(invalid="ignore"):
        Partition(labels=np.array(labels))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan]), min_size=1, max_size=12), st.randoms())
def test_cells_are_the_same_where_each_is_equal_or_missing(cells: list[float], random: Random) -> None:
    shuffled = random.sample(cells, len(cells))
    one_by_one = all(a == b or (np.isnan(a) and np.isnan(b)) for a, b in zip(cells, shuffled))
    assert variable("x", cells).same_cells(variable("x", shuffled)) == one_by_one
    assert not variable("x", cells).same_cells(variable("x", cells[:-1]))


def test_codes_are_the_same_only_beside_the_same_categories() -> None:
    column = variable("x", [0, 1, -1], level="nominal", categories=("a", "b"))
    assert column.same_cells(variable("x", [0, 1, -1], level="nominal", categories=("a", "b")))
    assert not column.same_cells(variable("x", [0, 1, -1], level="nominal", categories=("b", "a")))
    assert not column.same_cells(variable("x", [0, 1, -1]))


@given(st.lists(st.integers(0, 4), max_size=5))
def test_all_cells_in_their_order_are_the_column_itself(rows: list[int]) -> None:
    column = variable("x", [3, 1, 4, 1, 5])
    taken = column.take(np.array(rows, dtype=np.int64))
    assert (taken is column) == (rows == [0, 1, 2, 3, 4])
    assert taken.values.tolist() == [column.values[row] for row in rows]
    assert column.take(np.ones(5, dtype=bool)) is column


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, -0.0, 2.5, np.nan])), min_size=1, max_size=25))
def test_unique_records_are_counted_like_one_by_one(rows: list[tuple[int, float]]) -> None:
    records = Records.of([variable("a", [a for a, _ in rows]), variable("b", [b for _, b in rows])])
    written = [(a, repr(b)) for a, b in rows]
    assert records.uniques(["a", "b"]) == (sum(written.count(row) == 1 for row in written), len(set(written)))
    assert records.uniques(["b", "a"]) == records.uniques(["a", "b"])
