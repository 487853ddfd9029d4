"""Laws of arithmetic are seen where they are planted, with exceptions too, restore what is blank, and are no chance."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from by_night import crossed
from shoal.table.arithmetic import Arithmetic, ArithmeticLaw, _surviving, filled_by, law_holds
from shoal.table.microdata import Microdata
from shoal.table.records import Records

N = 400
Columns = dict[str, Any]


def days(rng: np.random.Generator) -> np.ndarray:
    return np.datetime64("1930-01-01") + rng.integers(0, 25_000, N)


def product(rng: np.random.Generator) -> Columns:
    size, head = rng.integers(1, 8, N), rng.integers(1000, 9000, N)
    return {"size": size, "head": head, "income": size * head}


PLANTED: dict[str, tuple[Callable[[np.random.Generator], Columns], str]] = {
    "age and year": (lambda r: {"year": (y := r.integers(1930, 2010, N)), "age": 2024 - y}, "age"),
    "year and age": (lambda r: {"age": (a := r.integers(0, 99, N)), "year": 2024 - a}, "year"),
    "cents": (lambda r: {"euro": (e := r.integers(100, 99999, N) / 100), "cent": (e * 100).round()}, "cent"),
    "inches": (lambda r: {"cm": (c := r.normal(170, 9, N).round(1)), "inch": (c / 2.54).round()}, "inch"),
    "thousands": (lambda r: {"pay": (p := r.integers(1, 99999, N)), "rounded": p // 1000 * 1000}, "rounded"),
    "years of days": (lambda r: {"born": (d := days(r)), "year": d.astype("M8[Y]").astype(int) + 1970}, "year"),
    "two days": (lambda r: {"in": (d := days(r)), "out": d + 3}, "out"),
    "a stay": (lambda r: {"in": (d := days(r)), "stay": (s := r.integers(0, 60, N)), "out": d + s}, "out"),
    "a start": (lambda r: {"in": (d := days(r)), "stay": (s := r.integers(0, 60, N)), "out": d + s}, "in"),
    "a sum": (lambda r: {"a": (a := r.integers(0, 50, N)), "b": (b := r.integers(0, 50, N)), "c": a + b}, "c"),
    "a term": (lambda r: {"a": (a := r.integers(0, 50, N)), "b": (b := r.integers(0, 50, N)), "c": a + b}, "a"),
    "decimals": (
        lambda r: {
            "a": (a := r.integers(0, 99, N) / 10),
            "b": (b := r.integers(0, 99, N) / 100),
            "c": (a + b).round(2),
        },
        "b",
    ),
    "a product": (product, "income"),
    "a factor": (product, "size"),
    "another factor": (product, "head"),
    "a ratio": (
        lambda r: {"a": (a := r.integers(1000, 90000, N)), "b": (b := r.integers(1, 9, N)), "c": (a / b).round(2)},
        "c",
    ),
    "a divisor": (
        lambda r: {"a": (a := r.integers(1000, 90000, N)), "b": (b := r.integers(1, 9, N)), "c": (a / b).round(2)},
        "b",
    ),
    "a dividend": (
        lambda r: {"a": (a := r.integers(1000, 90000, N)), "b": (b := r.integers(1, 9, N)), "c": (a / b).round(2)},
        "a",
    ),
}
"""Columns with a law, and one of them that is to be restored."""


def records_of(frame: pl.DataFrame, level: str | None = None) -> Records:
    column = {"role": "other", "missing": "keep", **({"level": level} if level else {})}
    return Microdata.of(frame, dict.fromkeys(frame.columns, column)).records


def blanked(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[int]]:
    rows = list(range(5, N, 17))
    return frame.with_columns(pl.when(pl.int_range(N).is_in(rows)).then(None).otherwise(name).alias(name)), rows


def cells(records: Records, name: str) -> list[Any]:
    variable = records[name]
    if variable.continuous:
        return [None if np.isnan(x) else float(x) for x in variable.values]
    return [None if code < 0 else str(variable.categories[code]) for code in variable.values.tolist()]


@pytest.mark.parametrize(("law", "exceptions"), crossed(PLANTED, [0, 1, 3, 15]))
def test_what_a_planted_law_says_is_restored(law: str, exceptions: int) -> None:
    make, name = PLANTED[law]
    frame = pl.DataFrame({**make(np.random.default_rng(4)), "noise": np.random.default_rng(5).normal(size=N)})
    blank, rows = blanked(frame, name)
    spoilt = list(range(0, 17 * exceptions, 17))
    other = next(column for column in frame.columns if column != name)
    truth = cells(records_of(frame), name)
    blank = blank.with_columns(
        pl.when(pl.int_range(N).is_in(spoilt)).then(pl.col(other).reverse()).otherwise(other).alias(other)
    )
    records = records_of(blank)
    laws = Arithmetic(records).laws
    assert laws
    assert all(name in one.columns or set(one.columns) <= {*frame.columns} - {"noise"} for one in laws)
    after, filled = filled_by(records, laws)
    right = [abs(cells(after, name)[row] - truth[row]) <= abs(truth[row]) * 1e-4 for row in rows if filled]
    assert sum(right) >= 0.9 * len(rows)
    assert exceptions or law in ("inches", "years of days") or any(one.exact for one in laws)


def test_a_table_that_is_complete_is_not_searched() -> None:
    frame = pl.DataFrame(PLANTED["a sum"][0](np.random.default_rng(1)))
    assert Arithmetic(records_of(frame)).laws == []
    assert Arithmetic(records_of(frame), ["c"]).laws == [
        ArithmeticLaw(on="c", by=("a", "b"), operation="+"),
        ArithmeticLaw(on="a", by=("c", "b"), operation="-"),
        ArithmeticLaw(on="b", by=("c", "a"), operation="-"),
    ]


@pytest.mark.parametrize("kind", ["numbers", "texts", "days", "stamps"])
def test_categories_are_read_and_new_ones_are_written_alike(kind: str) -> None:
    """The youngest, whose age nobody else has, gets it back."""
    ages = [30 + i % 40 for i in range(99)] + [7]
    write: dict[str, Callable[[int], Any]] = {
        "numbers": int,
        "texts": str,
        "days": lambda age: date(2024, 1, 1) - timedelta(days=age),
        "stamps": lambda age: datetime(2024, 1, 1) - timedelta(hours=age),
    }
    frame = pl.DataFrame({"year": [2024 - age for age in ages], "age": [write[kind](age) for age in ages]})
    blank = frame.with_columns(pl.when(pl.int_range(100) != 99).then("age").alias("age"))
    records = records_of(blank, "nominal")
    after, _ = filled_by(records, Arithmetic(records).laws)
    assert cells(after, "age")[-1] == str(write[kind](7))
    assert type(after["age"].categories[-1]) is type(write[kind](7))


def test_what_was_rounded_away_is_not_filled_in() -> None:
    """A year says the day within 183 days: no blank day is filled in by it, but a blank year by the day."""
    frame = pl.DataFrame(PLANTED["years of days"][0](np.random.default_rng(2)))
    for name, count in (("born", 0), ("year", 24)):
        records = records_of(blanked(frame, name)[0])
        _, filled = filled_by(records, Arithmetic(records).laws)
        assert sum(int(rows.sum()) for _, _, rows in filled) == count


def test_believing_by_hand() -> None:
    """100 records, of which a share of .1 would be right by chance, among a thousand laws."""
    usual = {"records": 100, "common": 20, "chance": 0.1, "trials": 1000}
    assert law_holds(exceptions=5, **usual)
    assert not law_holds(exceptions=6, **usual)  # more than one in twenty
    assert not law_holds(
        exceptions=5, **{**usual, "common": 91}
    )  # more than half the errors of the most frequent value
    assert law_holds(exceptions=4, **{**usual, "common": 91})
    # ten records, all right by chance with 0.1^10 = 1e-10, are enough among a thousand laws, not among 1e5
    assert law_holds(exceptions=0, **{**usual, "records": 10, "common": 2})
    assert not law_holds(exceptions=0, **{**usual, "records": 10, "common": 2, "trials": 10**5})
    assert not law_holds(exceptions=0, **{**usual, "records": 0, "common": 0})


def test_a_number_between_two_cells_is_neither() -> None:
    """1.5 is no law of a column of ones and twos, though it is no farther from either than rounding goes."""
    by = np.repeat([1, 4], 300)
    on = np.where(by == 1, np.arange(600) % 5 > 0, np.arange(600) % 20 > 0) + 1
    frame = pl.DataFrame({"by": by, "on": [None, *on[1:].tolist()]})
    assert Arithmetic(records_of(frame)).laws == []


@pytest.mark.parametrize("halves", ["up", "to even", "down"])
def test_halves_may_be_rounded_in_any_one_way(halves: str) -> None:
    """Pay of households of two, in whole numbers: half of them end in a half."""
    pay = np.random.default_rng(1).integers(1000, 9000, N)
    head = {"up": np.floor(pay / 2 + 0.5), "to even": np.round(pay / 2), "down": np.ceil(pay / 2 - 0.5)}[halves]
    size = np.where(np.arange(N) % 3 == 0, 3, 2)
    head = np.where(size == 2, head, np.round(pay / 3)).astype(int)
    blank = blanked(pl.DataFrame({"pay": pay, "size": size, "head": head}), "head")[0]
    laws = [law for law in Arithmetic(records_of(blank)).laws if law.on == "head"]
    assert [(law.by, law.operation, law.exact) for law in laws] == [(("pay", "size"), "/", True)]


def test_work_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame(PLANTED["a sum"][0](np.random.default_rng(1)))
    monkeypatch.setattr("shoal.table.arithmetic.MOST_TRIPLES", 2)
    assert [law.on for law in Arithmetic(records_of(frame), ["b"]).laws] == ["b", "a"]


@pytest.mark.parametrize("right", [0.7, 0.79, 0.83, 0.9])
def test_what_few_records_rule_out_all_of_them_rule_out(right: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that are right in about as many of the records as must be, some of them unknown: as with no short cut."""
    rng = np.random.default_rng(int(100 * right))
    columns = {f"x{j}": rng.integers(1, 50, N).astype(float) for j in range(3)}
    for pair in ((0, 1), (0, 2), (1, 2)):
        total = columns[f"x{pair[0]}"] + columns[f"x{pair[1]}"]
        columns[f"sum {pair}"] = np.where(rng.random(N) < right, total, rng.integers(1, 90, N))
        columns[f"sum {pair}"][rng.random(N) < 0.2] = np.nan
    arithmetic = Arithmetic(records_of(pl.DataFrame(columns).fill_nan(None)))
    quick = {on: tried(arithmetic, on) for on in columns}
    monkeypatch.setattr("shoal.table.arithmetic.FEW", 0)
    assert {on: tried(arithmetic, on) for on in columns} == quick
    assert any(quick.values()) or right < 0.8


def tried(arithmetic: Arithmetic, on: str) -> list[tuple[str, str]]:
    """The pairs by which a column may be a sum, as far as the sampled records tell."""
    others = [name for name in arithmetic.cells if name != on]
    pairs = [(a, b) for a in others for b in others if a < b]
    rows, c = arithmetic._sample(on), arithmetic.cells[on]
    first, second = (np.column_stack([arithmetic.cells[p[i]].values[rows] for p in pairs]) for i in (0, 1))
    left = _surviving("+", first, second, c.values[rows], c.half, c.values[rows] != c.most)
    return [pairs[i] for i in left]
