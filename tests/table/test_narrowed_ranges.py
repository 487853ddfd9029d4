"""Ranges narrowed down by laws of the original: by hand, beside a slow twin, and on what is released."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.arithmetic import ArithmeticLaw, Operation
from shoal.table.microdata import Microdata
from shoal.table.narrowed_ranges import narrowed
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused


def records(**columns: list[Any]) -> Records:
    frame = pl.DataFrame(columns)
    return Microdata.finished(frame, {name: {"role": "other", "missing": "keep"} for name in columns}).encoded


def law(on: str, by: tuple[str, ...], operation: Operation, **more: Any) -> ArithmeticLaw:
    steps = more.pop("steps", (1.0,) * (1 + len(by)))
    return ArithmeticLaw(on=on, by=by, operation=operation, steps=steps, records=100, **more)


def cells(table: Records, name: str) -> list[str | None]:
    variable = table[name]
    return [None if code < 0 else str(variable.categories[code]) for code in variable.values.tolist()]


AGE = law("age", ("year",), "affine", slope=-1.0, offset=2024.0)


@pytest.mark.parametrize(
    ("age", "year", "left"),
    [
        ("[30, 39]", "1990", "34"),
        ("[30, 40)", "[1990, 1999]", "[30, 34]"),
        ("(30, 40)", "[1990, 1993]", "[31, 34]"),
        (">= 30", "[1990, 1999]", "[30, 34]"),
        ("[30, 39]", "> 1984", "[30, 39]"),
        ("[30, 39]", None, "[30, 39]"),
        ("34", "[1980, 1999]", "34"),
        (">= 30", "< 1984", ">= 41"),
        ("< 30", "> 1990", "< 30"),
        ("< 40", "> 1990", "<= 33"),
        ("*", "1990", "34"),
        ("*", "[1990, 1999]", "[25, 34]"),
    ],
)
def test_an_age_by_a_year_of_birth(age: str, year: str | None, left: str) -> None:
    table, laws = narrowed(records(age=[age, "[0, 9]"], year=[year, "[2010, 2030]"]), [AGE])
    assert cells(table, "age") == [left, "[0, 9]"]
    assert any(name == "age" for _, name, _ in laws) == (left != age)


def test_a_decade_leaves_ten_ages_and_a_range_of_ages_narrows_a_decade_down() -> None:
    """The decade of 1990 is that of the ages 25 to 34: 2019.5 less the age, rounded to tens."""
    decade = law("decade", ("age",), "affine", slope=-1.0, offset=2019.5, steps=(10.0, 1.0))
    assert cells(narrowed(records(age=["[20, 39]"], decade=[1990]), [decade])[0], "age") == ["[25, 34]"]
    assert cells(narrowed(records(age=["[25, 27]"], decade=["[1980, 1999]"]), [decade])[0], "decade") == ["1990"]


def test_nothing_is_narrowed_where_the_release_contradicts_the_law() -> None:
    table = records(age=["[30, 39]", "[30, 39]"], year=[1990, 1950])
    assert narrowed(table, [AGE]) == (table, [])
    few = records(age=["[30, 39]"] * 40, year=[1990] * 39 + [1950])
    with_exceptions = law("age", ("year",), "affine", slope=-1.0, offset=2024.0, exceptions=1)
    assert cells(narrowed(few, [with_exceptions])[0], "age") == ["34"] * 39 + ["[30, 39]"]


def test_a_few_contradictions_do_not_save_the_others() -> None:
    """One record of 40 was changed: whoever subtracts is right about 39; only what is certain leaves the law out."""
    table = records(age=["[30, 39]"] * 40, year=["1990"] * 39 + ["1950"])
    assert cells(narrowed(table, [AGE])[0], "age") == ["34"] * 39 + ["[30, 39]"]
    assert narrowed(table, [AGE], exceptions=False) == (table, [])


def test_cents_of_large_sums() -> None:
    """1234567.01 and 2345678.02 are 3580245.0300000003 to a computer: it is still the one cent in the range."""
    total = law("total", ("a", "b"), "+", steps=(0.01, 0.01, 0.01))
    table = records(total=["[3000000, 4000000)"], a=["1234567.01"], b=["2345678.02"])
    assert cells(narrowed(table, [total])[0], "total") == ["3580245.03"]


@pytest.mark.parametrize(("c", "a", "b", "left"), [
    ("[0, 99]", "[0, 5]", "[1, 3]", ("[0, 15]", "[0, 5]", "[1, 3]")),
    ("[-99, 99]", "[-5, -1]", "[1, 3]", ("[-15, -1]", "[-5, -1]", "[1, 3]")),
    ("[8, 99]", "[-2, 9]", "[2, 3]", ("[8, 27]", "[3, 9]", "[2, 3]")),
    (">= 0", ">= 0", "[0, 3]", (">= 0", ">= 0", "[0, 3]")),
    ("[8, 9]", "[-99, 99]", "[-1, 1]", ("[8, 9]", "[-99, 99]", "[-1, 1]")),
])  # fmt: skip
def test_products_of_any_sign(c: str, a: str, b: str, left: tuple[str, str, str]) -> None:
    table = narrowed(records(c=[c, "1"], a=[a, "1"], b=[b, "1"]), [law("c", ("a", "b"), "*")])[0]
    assert tuple(str(cells(table, name)[0]) for name in "cab") == left


def span(cell: str) -> range:
    """The whole numbers that a cell stands for."""
    ends = cell.strip("[]").split(", ")
    return range(int(ends[0]), int(ends[-1]) + 1)


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_what_is_left_is_what_a_slow_twin_finds(operation: Operation) -> None:
    """For whole numbers: what stays reaches from the least to the greatest number that the other cells lead to."""
    rng = np.random.default_rng(8)
    compute = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operation]
    first, second = rng.integers(20, 60, 200), rng.integers(1, 9, 200)
    truth = compute(first, second)

    def around(numbers: np.ndarray, width: int) -> list[str]:
        low = np.round(numbers).astype(int) - rng.integers(0, width, len(numbers))
        return [f"[{start}, {start + width - 1}]" for start in low]

    table = records(c=around(truth, 30), a=around(first, 12), b=[str(number) for number in second])
    computed = narrowed(table, [law("c", ("a", "b"), operation)])[0]
    for c, a, b, left in zip(cells(table, "c"), cells(table, "a"), cells(table, "b"), cells(computed, "c")):
        assert c is not None and a is not None and b is not None and left is not None
        possible = [compute(x, y) for x, y in product(span(a), span(b))]
        reached = [x for x in span(c) if min(possible) - 0.5 <= x <= max(possible) + 0.5]
        assert list(span(left)) == reached


def table_and_plan(other: str, k: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Ages of 1,200 people, in ranges of twenty years, beside something else; with the plan."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, 1200)
    columns = {"year": 2024 - age, "decade": (2024 - age) // 10 * 10, "luck": rng.integers(0, 40, 1200)}
    frame = pl.DataFrame({"age": age, other: columns[other], "pay": rng.normal(size=1200).round(3)})
    roles = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [20]}},
        other: "other",
        "pay": "confidential",
    }
    return frame, {
        "columns": roles,
        "steps": [{"mask": "generalise", "k": k, "columns": ["age"]}],
        "requirements": [{"privacy": "k-anonymity", "k": k}],
    }


@pytest.mark.parametrize(("other", "width"), [("year", 1), ("decade", 10)])
def test_a_range_beside_what_bounds_it_is_refused(other: str, width: int) -> None:
    """An attacker who subtracts from 2024, and reads the file alone, finds classes as small as the refusal says."""
    frame, plan = table_and_plan(other, 300)
    known = [
        (max(low, 2024 - start - width + 1), min(low + 19, 2024 - start))
        for low, start in zip(frame["age"] // 20 * 20, frame[other])
    ]
    smallest = min(Counter(known).values())
    assert smallest < 150
    with pytest.raises(Refused, match=rf"achieved {smallest}\).*'{other}' gives 'age' back"):
        shoal.protect(frame, plan, seed=1)


def test_a_root_beside_what_bounds_it_is_refused() -> None:
    """All ages were given up; decades of birth leave ten ages of each."""
    frame, plan = table_and_plan("decade", 900)
    smallest = frame["decade"].value_counts()["count"].min()
    with pytest.raises(Refused, match=rf"achieved {smallest}\).*'decade' gives 'age' back"):
        shoal.protect(frame, plan, seed=1)


def test_a_column_that_tells_nothing_narrows_nothing() -> None:
    frame, plan = table_and_plan("luck", 300)
    assert shoal.protect(frame, plan, seed=1).evidence.verdicts[0].holds


@pytest.mark.parametrize("other", ["year", "decade", "luck"])
def test_in_parts_what_bounds_a_range_is_refused(other: str, tmp_path: Path) -> None:
    frame, plan = table_and_plan(other, 300)
    frame.write_parquet(tmp_path / "in.parquet")
    in_parts = {**plan, "exact": False, "output": {"format": "parquet"}}
    if other == "luck":
        shoal.protect(tmp_path / "in.parquet", in_parts, tmp_path / "out", seed=1, workers=1)
        return
    with pytest.raises(Refused, match=rf"'{other}' gives 'age' back: .* not judged with ranges narrowed down"):
        shoal.protect(tmp_path / "in.parquet", in_parts, tmp_path / "out", seed=1, workers=1)
