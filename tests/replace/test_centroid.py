"""Centroids: mean, median, medoid, mode, nearest common ancestor."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from naive.hierarchy import ancestor
from shoal.replace.centroid import Centroid
from shoal.table.hierarchy import Hierarchy
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError


def column(level: str, values: list[float], **extra: object) -> Variable:
    kind = np.float64 if level == "continuous" else np.int32
    return Variable(
        name=f"{level} column",
        role="quasi-identifier",
        level=level,  # type: ignore[arg-type]
        values=np.array(values, dtype=kind),
        **extra,
    )  # type: ignore[arg-type]


def replaced(variable: Variable, labels: list[int], method: Centroid, *others: Variable) -> Variable:
    records = Records.of([variable, *others])
    return method.apply(records, [variable.name], Partition.of(labels), np.random.default_rng(0)).records[variable.name]


def test_means_medians_and_medoids_by_hand() -> None:
    values, labels = [1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 8.0], [0, 0, 0, 1, 1, 1, 1]
    expected = {
        "mean": [4, 4, 4, 5.75, 5.75, 5.75, 5.75],
        "median": [2, 2, 2, 5.5, 5.5, 5.5, 5.5],
        "medoid": [2, 2, 2, 6, 6, 6, 6],
    }
    for kind, centre in expected.items():
        method = Centroid(continuous=kind)  # type: ignore[arg-type]
        assert replaced(column("continuous", values), labels, method).values == pytest.approx(centre)


def test_an_offset_costs_no_digits() -> None:
    values = np.array([1.0, 2.0, 4.0]) + 1e15
    assert replaced(column("continuous", values.tolist()), [0, 0, 1], Centroid()).values[0] == 1e15 + 1.5


def test_ordinal_columns_get_the_lower_median() -> None:
    variable = column("ordinal", [0, 1, 2, 2, 0, 1], categories=("low", "mid", "high"))
    assert replaced(variable, [0, 0, 0, 1, 1, 1], Centroid()).values.tolist() == [1, 1, 1, 1, 1, 1]


def test_ties_of_the_mode_go_to_the_category_more_frequent_overall() -> None:
    variable = column("nominal", [0, 1, 1, 2, 1, 2], categories=("x", "y", "z"))
    assert replaced(variable, [0, 0, 1, 1, 2, 2], Centroid()).values.tolist() == [1, 1, 1, 1, 1, 1]


def test_nearest_common_ancestor() -> None:
    tree = Hierarchy.from_nested({"n": {"c": ["a", "b"], "h": ["e"]}, "s": {"p": ["d"]}})
    variable = column("nominal", [0, 1, 0, 3, 2, 2], categories=("a", "b", "d", "e"), hierarchy=tree)
    out = replaced(variable, [0, 0, 1, 1, 2, 2], Centroid())
    assert [out.categories[c] for c in out.values] == ["c", "c", "n", "n", "d", "d"]
    assert replaced(variable, [0, 0, 1, 1, 2, 2], Centroid(ancestors=False)).categories == variable.categories


@given(seed=st.integers(0, 10_000), groups=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_ancestors_are_those_of_the_slow_climb(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    leaves = [f"{i}" for i in range(9)]
    tree = Hierarchy(tuple((leaf, f"pair {i // 2}", f"half {i // 4}", "*") for i, leaf in enumerate(leaves)))
    codes, labels = rng.integers(0, 9, 14), Partition.of(rng.integers(0, groups, 14))
    variable = column("nominal", codes.tolist(), categories=tuple(leaves), hierarchy=tree)
    out = Centroid().apply(Records.of([variable]), [variable.name], labels, rng).records[variable.name]
    for rows in labels.members():
        assert {out.categories[out.values[row]] for row in rows} == {ancestor(tree, codes[rows].tolist())}


def test_missing_as_a_category_has_no_ancestor_and_weights_enter_its_mode() -> None:
    tree = Hierarchy.from_nested({"n": ["a", "b"]})
    variable = column("nominal", [0, 0, 1], categories=("a", "b", None), hierarchy=tree)
    weight = Variable(name="w", role="weight", level="continuous", values=np.array([1.0, 1.0, 5.0]))
    assert replaced(variable, [0, 0, 0], Centroid()).values.tolist() == [0, 0, 0]
    assert replaced(variable, [0, 0, 0], Centroid(weighted=True), weight).values.tolist() == [1, 1, 1]


def test_weights_enter_when_asked() -> None:
    weight = Variable(name="w", role="weight", level="continuous", values=np.array([3.0, 1.0]))
    assert replaced(column("continuous", [0.0, 4.0]), [0, 0], Centroid(weighted=True), weight).values[0] == 1.0
    with pytest.raises(DataError, match="needs a column with the role weight"):
        replaced(column("continuous", [0.0, 4.0]), [0, 0], Centroid(weighted=True))


def test_a_group_of_equal_values_keeps_them_to_the_last_bit():
    """A mean taken about the middle of the table would turn zeros into 1e-16."""
    x = np.array([[0.1, 1e8 + 0.1], [0.1, 1e8 + 0.1], [0.1, 1e8 + 0.1], [0.7, 3.0], [0.7, 3.0]])
    weights = np.array([3.0, 0.1, 7.0, 1.0, 0.3])
    part = Partition.of([0, 0, 0, 1, 1])
    assert np.array_equal(part.means(x)[part.labels], x)
    assert np.array_equal(part.means(x, weights)[part.labels], x)


def test_ancestors_can_be_averaged_again() -> None:
    """An earlier step left nodes of the hierarchy: no cell becomes finer again, and the common ancestor is found."""
    tree = {"nested": {"north": ["a", "b"], "south": ["c", "d"]}}
    frame = pl.DataFrame({"x": ["a", "b", "c", "d", "a", "a"], "y": [1.0, 1.1, 5.0, 5.1, 9.0, 9.1]})
    plan = {
        "columns": {"x": {"role": "quasi-identifier", "hierarchy": tree}, "y": "quasi-identifier"},
        "steps": [
            {"partition": "mdav", "k": 2, "columns": ["x"], "by": ["y"]},
            {"partition": "mdav", "k": 3, "columns": ["x", "y"], "by": ["x", "y"]},
        ],
        "output": {"shuffle": False},
    }
    once = shoal.protect(frame, {**plan, "steps": plan["steps"][:1]}, seed=1).data["x"].to_list()
    assert once == ["north", "north", "south", "south", "a", "a"]
    twice = shoal.protect(frame, plan, seed=1).data["x"].to_list()
    assert set(twice) <= {"north", "south", "*"}
    assert all(len([t for t in twice if t == label]) >= 3 for label in twice)


def test_trimmed_means_by_hand() -> None:
    """A quarter of three is less than one value; of 1, 5, 6 and 8 the middle two are left; of a tenth of 30, three."""
    method = Centroid(continuous="trimmed mean", trim=0.25)
    x = column("continuous", [1.0, 2, 9, 1, 5, 6, 8])
    assert replaced(x, [0, 0, 0, 1, 1, 1, 1], method).values.tolist() == [4, 4, 4, 5.5, 5.5, 5.5, 5.5]
    assert replaced(column("continuous", [1.0, 2, 9]), [0, 0, 0], Centroid(continuous="trimmed mean", trim=0.0)).values[
        0
    ] == pytest.approx(4)
    tenth = Centroid(continuous="trimmed mean", trim=0.1)
    assert replaced(column("continuous", [*range(29), 1000.0]), [0] * 30, tenth).values[0] == pytest.approx(14.5)
    weights = column("continuous", [1.0, 1, 1, 3]).with_values(np.array([1.0, 1, 1, 3]))
    weighted = Centroid(continuous="trimmed mean", trim=0.25, weighted=True)
    records = Records.of(
        [
            column("continuous", [1.0, 5, 8, 6]),
            Variable(name="w", role="weight", level="continuous", values=weights.values),
        ]
    )
    change = weighted.apply(records, ["continuous column"], Partition.of([0] * 4), np.random.default_rng(0))
    assert change.records["continuous column"].values[0] == pytest.approx((5 + 3 * 6) / 4)


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=1, max_size=40),
    trim=st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.49]),
)
def test_trimmed_means_are_those_of_each_group_alone(rows: list[tuple[int, int]], trim: float) -> None:
    labels = [label for label, _ in rows]
    method = Centroid(continuous="trimmed mean", trim=trim)
    new = replaced(column("continuous", [value for _, value in rows]), labels, method).values
    for group in set(labels):
        inside = sorted(value for label, value in rows if label == group)
        cut = int(round(trim * 100) * len(inside) // 100)
        kept = inside[cut : len(inside) - cut]
        own = {float(v) for v, label in zip(new, labels) if label == group}
        assert len(own) == 1
        assert own.pop() == pytest.approx(sum(kept) / len(kept))


def test_a_trimmed_mean_needs_values_that_are_left() -> None:
    with pytest.raises(shoal.ParameterError, match=r"centroid: trim must be less than 0\.5; got 0\.5"):
        Centroid(continuous="trimmed mean", trim=0.5)


def test_the_geometric_mean_by_hand() -> None:
    """The root of 2 times 8 is 4; of 10, 100 and 1000 it is 100; a missing cell does not count and stays."""
    values = [2.0, 8.0, 10.0, 100.0, 1000.0, float("nan")]
    new = replaced(column("continuous", values), [0, 0, 1, 1, 1, 1], Centroid(continuous="geometric mean")).values
    np.testing.assert_allclose(new, [4, 4, 100, 100, 100, np.nan])
    with pytest.raises(DataError, match=r"has 1 number of 0 or less; the geometric mean needs positive ones"):
        replaced(column("continuous", [0.0, 2.0]), [0, 0], Centroid(continuous="geometric mean"))


def test_groups_formed_on_logarithms_are_those_of_the_logged_column() -> None:
    """As microaggregation with transf = "log" in sdcMicro: grouped and averaged on logarithms, and taken back."""
    pay = np.random.default_rng(4).lognormal(8, 1.5, 120)
    centroid = {"method": "centroid", "continuous": "geometric mean"}
    plan = {
        "columns": {"pay": {"role": "quasi-identifier", "scale": "log", "decimals": 6}},
        "steps": [{"partition": "mdav", "k": 4, "replace": centroid}],
        "output": {"shuffle": False},
    }
    released = shoal.protect(pl.DataFrame({"pay": pay}), plan, seed=1).data["pay"].to_numpy()
    part = shoal.MDAV(k=4).partition(np.log(pay))
    np.testing.assert_allclose(released, np.exp(part.means(np.log(pay)[:, None])[part.labels, 0]), rtol=1e-6)
    assert not np.array_equal(part.labels, shoal.MDAV(k=4).partition(pay).labels)
    with pytest.raises(DataError, match=r"Column 'pay' has 1 number of 0 or less; scale: log needs positive ones"):
        shoal.protect(pl.DataFrame({"pay": [0.0, *pay]}), plan, seed=1)
