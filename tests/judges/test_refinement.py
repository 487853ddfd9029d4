"""Generalised cells are narrowed down by whoever shares their value, and by columns that determine a node."""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.judges.closure import closure
from shoal.judges.refinement import most_common, refined, trees, under_one
from shoal.table.dependencies import CHANCE
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import Schema

TOWNS = {"Spain": ["Madrid", "Vigo"], "France": ["Lyon", "Nice"]}
TREE = Hierarchy.from_nested(TOWNS)
KEY = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}


def table(**columns: list[object]) -> Records:
    roles = {name: "household" if name == "home" else KEY for name in columns}
    return Microdata.of(pl.DataFrame(columns), roles).records


def cells(records: Records, name: str) -> list[str | None]:
    variable = records[name]
    return [None if code < 0 else str(variable.categories[code]) for code in variable.values.tolist()]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("Spain", "Madrid", "Madrid"),
        ("*", "Spain", "Spain"),
        ("Madrid | Lyon", "Spain", "Madrid"),
        ("Madrid | Lyon", "Lyon | Nice", "Lyon"),
        ("Madrid | Lyon | Nice", "Lyon | Nice | Vigo", "Lyon | Nice"),
    ],
)
def test_members_of_a_household_live_where_all_their_cells_allow(first: str, second: str, both: str) -> None:
    records = table(home=[1, 1, 2, 2], town=[first, second, "Nice", "Nice"])
    after, sources = refined(records, {"town": TREE})
    assert cells(after, "town") == [both, both, "Nice", "Nice"]
    assert sources == ("home",)


def test_a_household_of_two_towns_ends_the_law() -> None:
    records = table(home=[1, 1, 2, 2], town=["Spain", "Madrid", "Nice", "Lyon"])
    assert refined(records, {"town": TREE})[0] is records


def test_a_province_tells_the_node_of_a_postcode_though_not_the_postcode() -> None:
    """Forty records of four provinces: each has many postcodes, all under one node."""
    codes = [f"{p}{i % 10}" for p in "1234" for i in range(10)]
    province = [code[0] for code in codes]
    tree = Hierarchy.from_masking(sorted(codes))
    blurred = [*codes[:-1], "*"]
    records = table(code=blurred, province=[f"p{p}" for p in province])
    after, sources = refined(records, {"code": tree})
    assert sources == ("province",)
    assert cells(after, "code")[:-1] == codes[:-1]
    assert set(cells(after, "code")[-1].split(" | ")) == {f"4{i}" for i in range(10)}


def test_a_missing_cell_is_filled_in_by_what_was_narrowed_down_and_by_no_part_of_it() -> None:
    records = table(home=[1, 1, 1, 2, 2], town=[None, "Spain", "Madrid", "Nice", "Nice"])
    assert cells(closure(records, None, {"town": TREE}).records, "town") == ["Madrid"] * 3 + ["Nice"] * 2
    codes = [f"{p}{i % 10}" for p in "1234" for i in range(10)]
    blank = table(code=[*codes[:-1], None], province=[f"p{code[0]}" for code in codes])
    assert closure(blank, None, {"code": Hierarchy.from_masking(sorted(codes))}).filled == {}


def test_intervals_are_read_and_only_their_numbers_are_leaves() -> None:
    schema = Schema.of({"home": "household", "age": {**KEY, "hierarchy": {"intervals": [10, 20]}}})
    records = table(home=[1, 1, 2, 2], age=["[20, 40)", "[20, 24]", "33", "[30, 40)"])
    tree = trees(schema, Path(), records)
    assert set(tree["age"].leaves) == {"20", "24", "30", "33", "40"}
    after, _ = refined(records, tree)
    assert cells(after, "age") == ["[20, 24]", "[20, 24]", "33", "33"]


def test_nothing_is_narrowed_down_where_cells_do_not_overlap() -> None:
    records = table(home=[1, 1, 2, 2], town=["Spain", "Spain", "France", "France"])
    assert refined(records, {"town": TREE})[0] is records
    assert closure(records, None, {"town": TREE}).filled == {}


def test_a_requirement_is_judged_on_what_is_left_of_the_cells() -> None:
    """Ten homes in `Madrid | Lyon` and Spain, one in `Madrid | Lyon` and France: the last two records live in Lyon."""
    towns = ["Madrid | Lyon", "Spain"] * 10 + ["Madrid | Lyon", "France"] + ["Nice", "France"] * 10
    frame = pl.DataFrame({"home": [i // 2 for i in range(42)], "town": towns})
    plan = {
        "columns": {"home": "household", "town": {**KEY, "hierarchy": {"nested": TOWNS}}},
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    verdict = shoal.audit(frame, plan).verdicts[0]
    assert not verdict.holds
    assert verdict.achieved == 2
    assert verdict.sentence.startswith("The release itself gives away 32 missing or generalised cells of 'town'")
    plan["columns"] = {"home": "other", "town": {**KEY, "hierarchy": {"nested": TOWNS}}}
    assert shoal.audit(frame, plan).verdicts[0].achieved == 10


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([None, "*", "Spain", "Madrid", "Vigo", "Lyon", "Lyon | Vigo"])),
        min_size=1,
        max_size=12,
    )
)
def test_households_equal_intersecting_all_members(rows: list[tuple[int, str | None]]) -> None:
    """A slow twin: the sets of each household's known cells intersected, if no household is left without a value."""
    leaves = {"*": {"Madrid", "Vigo", "Lyon", "Nice"}, "Spain": {"Madrid", "Vigo"}}
    sets = [None if cell is None else frozenset(leaves.get(cell, set(cell.split(" | ")))) for _, cell in rows]
    homes = [home for home, _ in rows]
    frame = pl.DataFrame(
        {"home": homes, "town": [cell for _, cell in rows]}, schema={"home": pl.Int64, "town": pl.String}
    )
    records = Microdata.of(frame, {"home": {"role": "household"}, "town": KEY}).records
    after = cells(closure(records, None, {"town": TREE}).records, "town")
    common = {
        home: frozenset.intersection(*known)
        for home in set(homes)
        if (known := [s for h, s in zip(homes, sets) if h == home and s is not None])
    }
    pairs = [1 for a, b in itertools.combinations(range(len(rows)), 2) if homes[a] == homes[b] and sets[a] and sets[b]]
    if not pairs or not all(common.values()):
        return
    for home, cell in zip(homes, after):
        expected = common.get(home)
        meant = (
            None
            if cell is None
            else frozenset(leaves.get(cell, {"Lyon", "Nice"} if cell == "France" else set(cell.split(" | "))))
        )
        assert meant == expected


def test_chance_is_the_one_of_dependencies() -> None:
    """Few single values prove no law: with another column of two values, four records are not enough."""
    records = table(a=["x", "x", "y", "y"], town=["Madrid", "Spain", "Lyon", "Lyon"])
    assert refined(records, {"town": TREE})[0] is records
    many = table(a=["x", "y"] * 30, town=["Madrid", "Lyon"] * 29 + ["Spain", "Lyon"])
    assert cells(refined(many, {"town": TREE})[0], "town")[-2] == "Madrid"
    assert CHANCE < 2.0**-18


@pytest.mark.parametrize(("first", "second", "left"), [("39", "[20, 39]", 39), ("20", "[20, 39]", 20)])
def test_both_ends_of_a_closed_interval_are_in_it(first: str, second: str, left: int) -> None:
    schema = Schema.of({"home": "household", "age": {**KEY, "hierarchy": {"intervals": [10, 20]}}})
    records = table(home=[1, 1, 2, 2], age=[first, second, "33", "33"])
    tree = trees(schema, Path(), records)
    assert cells(refined(records, tree)[0], "age") == [str(left), str(left), "33", "33"]


def families(stray: int, n: int = 200) -> Records:
    """Households in one town, which one member says and another only the country of; some live in two."""
    towns = ["Madrid", "Vigo", "Lyon", "Nice"]
    town = [[towns[h % 4], towns[h % 4], "Spain" if h % 4 < 2 else "France"] for h in range(n)]
    for household in town[:stray]:
        household[1] = "Nice" if household[0] != "Nice" else "Lyon"
    return table(home=[h for h in range(n) for _ in range(3)], town=[cell for three in town for cell in three])


@pytest.mark.parametrize(("stray", "law"), [(1, True), (40, True), (90, False)])
def test_some_households_of_two_towns_do_not_end_the_law_but_many_do(stray: int, law: bool) -> None:
    records = families(stray)
    assert refined(records, {"town": TREE})[0] is records
    after, sources = refined(records, {"town": TREE}, exceptions=True)
    assert sources == (("home",) if law else ())
    if law:
        assert not {"Spain", "France"} & set(cells(after, "town")[3 * stray :])
    assert (closure(records, None, {"town": TREE}).filled == {}) != law


def test_six_households_with_one_exception_are_no_law() -> None:
    """As a law they would be believed if each were counted twice."""
    records = families(1, n=6)
    assert refined(records, {"town": TREE}, exceptions=True)[0] is records


def test_overlapping_labels_without_a_law_are_left_alone() -> None:
    """Towns, countries and sets of them, drawn for each record alone."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = ["Madrid", "Vigo", "Lyon", "Nice", "Spain", "France", "Madrid | Lyon"]
        home = np.sort(rng.integers(0, 150, 400))
        records = table(
            home=home.tolist(), town=rng.choice(labels, 400).tolist(), other=rng.integers(0, 40, 400).tolist()
        )
        assert refined(records, {"town": TREE}, exceptions=True)[0] is records


def test_the_leaves_that_most_cells_of_a_group_may_have() -> None:
    """Two cells of Madrid, one of Spain and one of Lyon; then one of each country."""
    sets = [frozenset([0]), frozenset([0, 1]), frozenset([2]), frozenset([2, 3])]
    assert most_common({0: 2, 1: 1, 2: 1}, sets) == {0}
    assert most_common({1: 1, 3: 1}, sets) == {0, 1, 2, 3}


def test_leaves_lie_under_one_node_or_under_none() -> None:
    under = {0: 0, 1: 0, 2: 1}
    assert [under_one(under, frozenset(leaves)) for leaves in ([0, 1], [2], [0, 2], [])] == [0, 1, -1, -1]
    assert under_one(under, frozenset(["a label that is no leaf"])) == -1


@pytest.mark.parametrize("label", ["Paris", "[20, 39]", "Madrid | Paris"])
def test_a_label_that_cannot_be_read_stands_for_itself_alone(label: str) -> None:
    records = table(home=[1, 1, 2, 2], town=[label, label, "Spain", "Madrid"])
    assert cells(refined(records, {"town": TREE})[0], "town") == [label, label, "Madrid", "Madrid"]


def test_a_hierarchy_of_a_column_that_is_gone_or_of_numbers_narrows_nothing_down() -> None:
    records = table(home=[1, 1, 2, 2], town=["Spain", "Madrid", "Nice", "Nice"])
    assert refined(records.without(["town"]), {"town": TREE})[0].names() == ("home",)
    numbers = Microdata.of(pl.DataFrame({"home": [1, 1], "age": [20.0, 30.0]}), {"home": "household", "age": "other"})
    assert refined(numbers.records, {"age": TREE})[0] is numbers.records
