"""A column, or two together, before and after; counted again by loops over records."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from shoal.studio.variables import MOST_CELLS, MOST_VALUES, ComparedColumn, frequencies, summary, together
from shoal.table.microdata import Microdata

TOWNS = {"paths": [[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb")]}
BEFORE = {
    "town": ["aa", "aa", "ab", "ba", "ba", "bb", None],
    "sex": ["f", "m", "f", "m", "f", "m", "f"],
    "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0],
    "income": [1.0, 2.0, 3.0, 4.0, None, 6.0, 7.0],
}
AFTER = {
    "town": ["a", "a", "a", "*", "ba", "bb", None],
    "sex": ["f", "m", "m", "m", "f", "m", None],
    "age": [25.0, 25.0, 45.0, 45.0, 65.0, 65.0, 80.0],
    "income": [1.5, 1.5, 3.0, 4.0, None, 6.0, 7.0],
}


def seen() -> dict[str, ComparedColumn]:
    described = {name: {"role": "quasi-identifier", "missing": "keep"} for name in BEFORE}
    described["town"] |= {"hierarchy": TOWNS}
    table = Microdata.of(pl.DataFrame(BEFORE), described)
    released = Microdata.finished(pl.DataFrame(AFTER), table.schema)
    place = np.arange(len(BEFORE["sex"]))
    return {
        name: ComparedColumn(before=table.encoded[name], after=released.encoded[name], place=place) for name in BEFORE
    }


def test_labels_of_two_columns_are_spread_over_the_values_of_the_original() -> None:
    columns = seen()
    shown = together(columns["town"], columns["sex"], [{}, {"f": "female"}])
    under = {"a": ["aa", "ab"], "*": ["aa", "ab", "ba", "bb"], "ba": ["ba"], "bb": ["bb"], None: []}
    for table, content in enumerate((BEFORE, AFTER)):
        counts: Counter[tuple[str, str]] = Counter()
        for town, sex in zip(content["town"], content["sex"]):
            values = under.get(town, [town])
            for value in values if sex is not None else []:
                counts[value, sex] += 1 / len(values)
        total = sum(counts.values())
        towns, sexes = (axis["cells"] for axis in shown["axes"])
        for i, town in enumerate(towns):
            for j, sex in enumerate(sexes):
                assert shown["shares"][table][i][j] == pytest.approx(counts[town, sex] / total, abs=1e-6)
    assert sorted(towns) == ["aa", "ab", "ba", "bb"]
    assert shown["axes"][1]["labels"] == ["female", ""]
    assert shown["boxes"] is shown["points"] is None


def test_numbers_by_group_are_quartiles_of_each_group() -> None:
    columns = seen()
    for first, second, numbers in (("age", "sex", 0), ("sex", "age", 1)):
        shown = together(columns[first], columns[second], [{}, {}])
        assert shown["boxes"]["of"] == numbers
        for content, table in zip((BEFORE, AFTER), shown["boxes"]["tables"]):
            for sex, box in zip(shown["axes"][1 - numbers]["cells"], table):
                ages = [age for age, other in zip(content["age"], content["sex"]) if other == sex]
                assert box == pytest.approx(np.quantile(ages, [0, 0.25, 0.5, 0.75, 1]).tolist())


def test_two_numbers_are_points_of_records_that_have_both() -> None:
    columns = seen()
    shown = together(columns["age"], columns["income"], [{}, {}])
    for content, points in zip((BEFORE, AFTER), shown["points"]):
        assert points == [[a, i] for a, i in zip(content["age"], content["income"]) if i is not None]
    edges = shown["axes"][0]["edges"]
    assert edges[0] <= 20 < 80 <= edges[-1]
    assert np.sum(shown["shares"][0]) == pytest.approx(1, abs=1e-4)


def test_rare_values_stand_together() -> None:
    values = [f"v{i}" for i in range(30) for _ in range(40 - i)]
    table = Microdata.of(pl.DataFrame({"x": values}), {"x": {"role": "quasi-identifier"}}).encoded["x"]
    alone = ComparedColumn(before=table, after=table, place=None)
    shown = together(alone, alone, [{}, {}])
    assert shown["axes"][0]["cells"] == [*(f"v{i}" for i in range(MOST_CELLS - 1)), "21 others"]
    counts = Counter(values)
    others = sum(counts[f"v{i}"] for i in range(MOST_CELLS - 1, 30)) / len(values)
    assert shown["shares"][1][-1][-1] == pytest.approx(others, abs=1e-6)


def test_a_column_in_figures() -> None:
    assert summary(pl.Series("x", ["b", None])) == {"records": 2, "missing": 1}
    assert summary(pl.Series("x", [None, None], dtype=pl.Int64)) == {"records": 2, "missing": 2}
    shown = summary(pl.Series("x", [1, 2, 3, 4, None]))
    assert shown == {
        "records": 5,
        "missing": 1,
        "least": 1,
        "greatest": 4,
        "quartiles": [1.75, 2.5, 3.25],
        "mean": 2.5,
        "deviation": pytest.approx(np.std([1, 2, 3, 4], ddof=1)),
    }
    assert summary(pl.Series("x", [1.5, 2.5]), ends=True) == {"records": 2, "missing": 0, "least": 1.5, "greatest": 2.5}


def test_values_are_listed_with_their_labels_the_most_frequent_first() -> None:
    shown = frequencies({"1": 3, "2": 5}, {"1": 8}, {"1": "yes"})
    assert shown == {"values": [["1", "yes", 3, 8], ["2", "", 5, 0]], "further": 0, "distinct": [2, 1]}
    many = {str(i): 1 for i in range(MOST_VALUES + 3)}
    assert frequencies(many, many, {})["further"] == 3
