"""Hierarchies: reading, checks, and the embedding of their path distance."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary.errors import InputError, SchemaError

TREE = {"north": {"coast": ["a", "b"], "hills": ["c"]}, "south": {"plain": ["d"]}}


def test_nested_mapping_gives_paths_to_a_common_root() -> None:
    hierarchy = Hierarchy.from_nested(TREE)
    assert hierarchy.paths == (
        ("a", "coast", "north", "*"),
        ("b", "coast", "north", "*"),
        ("c", "hills", "north", "*"),
        ("d", "plain", "south", "*"),
    )
    assert hierarchy.height == 3


def test_squared_distances_are_what_is_lost_where_two_leaves_meet() -> None:
    hierarchy = Hierarchy.from_nested(TREE)
    x = hierarchy.embedding()
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    # by hand: a and b meet at the coast, 2 of 4 leaves; a and c in the north, 3 of 4; a and d at the root
    assert squared == pytest.approx(
        np.array([[0, 1 / 3, 2 / 3, 1], [1 / 3, 0, 2 / 3, 1], [2 / 3, 2 / 3, 0, 1], [1, 1, 1, 0]])
    )


@pytest.mark.parametrize("mark", [";", ","])
def test_arx_style_file(tmp_path: Path, mark: str) -> None:
    rows = ["1,2,*", "2,2,*"] if mark == "," else ["34;30-39;*", "41;40-49;*"]
    (tmp_path / "h.csv").write_text("\n".join(rows) + "\n")
    assert Hierarchy.from_csv(tmp_path / "h.csv").height == 2


def test_intervals_nest() -> None:
    assert Hierarchy.from_intervals([3, 12], [5, 10]).paths == (
        ("3", "[0, 5)", "[0, 10)", "*"),
        ("12", "[10, 15)", "[10, 20)", "*"),
    )


def test_intervals_of_decimals_hold_their_lower_end():
    """In binary, 0.3 / 0.1 is a little less than 3 and 3 x 0.1 a little more than 0.3."""
    hierarchy = Hierarchy.from_intervals([i / 10 for i in range(-10, 30)], [0.1, 0.3, 1.2])
    for leaf, small, middle, large, _ in hierarchy.paths:
        for label, width in ((small, 0.1), (middle, 0.3), (large, 1.2)):
            low, high = (Decimal(end) for end in label[1:-1].split(", "))
            assert low <= Decimal(leaf) < high and high - low == Decimal(str(width))


def test_a_tree_without_leaves_is_refused():
    for tree in ({}, {"a": []}, []):
        with pytest.raises(SchemaError, match="A hierarchy needs at least one leaf; got none"):
            Hierarchy.from_nested(tree)


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ((), "at least one leaf"),
        ((("a", "*"), ("b", "x", "*")), r"same number of levels, .* levels, most with 3 \(row 1\)"),
        ((("a",), ("b",)), "2 or more; got rows with 1 level"),
        ((("b", "*"), ("a", "*"), ("a", "*")), r"list every leaf once; one stands there again \(rows 2 and 3\)"),
        ((("a", "x", "p", "*"), ("b", "x", "q", "*")), r"must be a tree; a label of level 1 has 2 .* \(rows 1 and 2\)"),
        ((("a", "x", "*"), ("b", "", "*"), ("c", " ", "*")), r"level 1 is blank \(rows 2 and 3\)"),
    ],
)
def test_what_is_no_tree_is_refused(paths: tuple[tuple[str, ...], ...], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Hierarchy(paths)


def test_values_without_a_leaf_are_counted_and_not_shown() -> None:
    with pytest.raises(SchemaError, match="lacks 1 value of") as error:
        Hierarchy.from_nested(TREE).codes(["a", "secret"])
    assert "secret" not in str(error.value)
    assert "shoal.Hierarchy.missing(values)" in str(error.value)


@pytest.mark.parametrize(
    "column",
    [
        ["b", "new", None, "a", "other", "new", float("nan")],
        pl.Series(["b", "new", None, "a", "other", "new"]),
        pd.Series(["b", "new", None, "a", "other", "new"]),
        pd.Series(["b", "new", pd.NA, "a", "other", "new"], dtype="string"),
    ],
)
def test_values_without_a_leaf_are_given_to_who_asks(column: Any) -> None:
    assert Hierarchy.from_nested(TREE).missing(column) == ("new", "other")
    assert Hierarchy.from_nested(TREE).missing(["a", "b"]) == ()


def test_numbers_without_a_leaf_are_written_as_categories_are() -> None:
    tree = Hierarchy.from_intervals([3, 12.5], [5, 10])
    assert tree.missing(np.array([3.0, 4.0, 12.5, 0.25])) == ("4", "0.25")
    assert tree.missing([3, 7]) == ("7",)


def test_masking_by_hand():
    assert Hierarchy.from_masking(["8021", "8034", "90"]).paths == (
        ("8021", "802*", "80**", "8***", "*"),
        ("8034", "803*", "80**", "8***", "*"),
        ("90", "90*", "90**", "9***", "*"),
    )
    assert Hierarchy.from_masking(["ab1", "cb1"], side="left").paths == (
        ("ab1", "*b1", "**1", "*"),
        ("cb1", "*b1", "**1", "*"),
    )


def test_shorter_codes_are_padded_on_the_side_that_is_masked_last():
    """As ARX's redaction of values aligned on the side where masking begins."""
    assert Hierarchy.from_masking([5, 17, 120], padding="0").paths == (
        ("5", "00*", "0**", "*"),
        ("17", "01*", "0**", "*"),
        ("120", "12*", "1**", "*"),
    )
    assert Hierarchy.from_masking(["a", "bcd"], side="left", padding="_").paths == (
        ("a", "*__", "**_", "*"),
        ("bcd", "*cd", "**d", "*"),
    )
    for padding in ("00", "*", " ", 0):
        with pytest.raises(SchemaError, match="one character, neither a blank nor"):
            Hierarchy.from_masking([5, 17], padding=padding)


def test_dates_by_hand():
    assert Hierarchy.from_dates(["1999-12-31"]).paths == (("1999-12-31", "1999-12", "1999-Q4", "1999", "1990s", "*"),)
    with pytest.raises(SchemaError, match="days written YYYY-MM-DD"):
        Hierarchy.from_dates(["31.12.1999"])


def test_dates_of_some_units_by_hand():
    assert Hierarchy.from_dates(["2001-04-01"], ["quarter", "decade"]).paths == (
        ("2001-04-01", "2001-Q2", "2000s", "*"),
    )
    with pytest.raises(SchemaError, match="Units of dates must rise: some of month, quarter, year, decade"):
        Hierarchy.from_dates(["2001-04-01"], ["year", "month"])
    with pytest.raises(SchemaError, match="Unknown unit of dates 'weeks'"):
        Hierarchy.from_dates(["2001-04-01"], ["weeks"])


def test_prefixes_by_hand():
    assert Hierarchy.from_prefix(["08021", "10", "101"], [3, 1]).paths == (
        ("08021", "080**", "0****", "*"),
        ("10", "10", "1*", "*"),
        ("101", "101", "1**", "*"),
    )
    for lengths in ([1, 3], [], "3", [2, 0], [2.5]):
        with pytest.raises(SchemaError, match="Lengths of prefixes must be a list of whole numbers above 0 that falls"):
            Hierarchy.from_prefix(["08021"], lengths)


def test_priorities_by_hand():
    levels = Hierarchy.from_priority(["a", "b", "c", "d", "e"], ["d", ["a", "b"]])
    assert levels.paths == (
        ("a", "a", "other", "*"),
        ("b", "b", "other", "*"),
        ("c", "other", "other", "*"),
        ("d", "d", "d", "*"),
        ("e", "other", "other", "*"),
    )
    with pytest.raises(SchemaError, match="is itself a value"):
        Hierarchy.from_priority(["a"], ["other"])
    with pytest.raises(SchemaError, match="must name every value once"):
        Hierarchy.from_priority(["a"], ["a", ["b", "a"]])


def test_order_by_hand():
    levels = Hierarchy.from_order(["none", "little", "some", "much", "all"], [2, 4])
    assert [path[1] for path in levels.paths] == ["none to little"] * 2 + ["some to much"] * 2 + ["all"]
    assert [path[2] for path in levels.paths] == ["none to much"] * 4 + ["all"]
    with pytest.raises(SchemaError, match="Sizes of groups must be multiples of each other; got 2 and 3"):
        Hierarchy.from_order(["a", "b"], [2, 3])


def test_rounding_by_hand():
    paths = Hierarchy.from_rounding([37, 32.4, 12.5], [5, 10]).paths
    assert paths == (("37", "35", "40", "*"), ("32.4", "30", "30", "*"), ("12.5", "15", "20", "*"))


def test_frequency_by_hand():
    column = ["a"] * 5 + ["b"] * 2 + ["c", None]
    assert Hierarchy.from_frequency(column, [2, 3]).paths == (
        ("a", "a", "a", "*"),
        ("b", "b", "other", "*"),
        ("c", "other", "other", "*"),
    )
    with pytest.raises(SchemaError, match="must be a list of rising"):
        Hierarchy.from_frequency(column, [3, 2])
    with pytest.raises(SchemaError, match="is itself a value"):
        Hierarchy.from_frequency(column, [2], other="b")


def test_counts_stand_for_a_column():
    column = ["a"] * 5 + ["b"] * 2 + ["c"]
    assert Hierarchy.from_frequency({"a": 5, "b": 2, "c": 1}, [2]) == Hierarchy.from_frequency(column, [2])


def test_a_tree_in_yaml_is_read_with_numbers_as_categories_are_written(tmp_path):
    (tmp_path / "tree.yaml").write_text("low: [1, 2.0]\nhigh: [3.5]\n")
    assert Hierarchy.read(tmp_path / "tree.yaml").paths == (("1", "low", "*"), ("2", "low", "*"), ("3.5", "high", "*"))
    (tmp_path / "tree.yaml").write_text("- a\n- b\n")
    with pytest.raises(SchemaError, match="a tree is made of mappings"):
        Hierarchy.read(tmp_path / "tree.yaml")
    (tmp_path / "tree.yaml").write_text("low: [1\n")
    with pytest.raises(InputError, match=r"tree.yaml', line 2: .* Check indentation"):
        Hierarchy.read(tmp_path / "tree.yaml")


def test_a_written_file_is_read_as_it_was(tmp_path):
    levels = Hierarchy((("a;b", "x", "*"), ('c"d', "y", "*")))
    levels.to_csv(tmp_path / "levels.csv")
    assert Hierarchy.from_csv(tmp_path / "levels.csv") == levels


def test_a_file_that_is_no_table_is_one_sentence(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(SchemaError, match="is no table of cells separated by ; or ,"):
        Hierarchy.from_csv(path)
