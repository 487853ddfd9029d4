"""Forty kinds of law, planted with no, one and three exceptions, are all found and named in a table before its release.

Each lies among columns that have nothing to do with it. `shoal.exposure` names the columns that give one back, and how
many records are exceptions; from the released file alone a blank is then filled as the law says. What is planted are
laws that real tables have: codes and their groups, ages and dates, sums, products, rates by two columns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from by_night import crossed
from shoal.judges.closure import closure
from shoal.judges.laws_of_table import laws_in_frame
from shoal.table.microdata import Microdata

N = 400
Columns = dict[str, Any]
Make = Callable[[np.random.Generator], Columns]


def days(rng: np.random.Generator, spread: int = 25_000) -> np.ndarray:
    return np.datetime64("1930-01-01") + rng.integers(0, spread, N)


def coded(codes: int, groups: int) -> Make:
    """Codes, each of which lies in one group."""

    def make(rng: np.random.Generator) -> Columns:
        code = rng.integers(0, codes, N)
        return {"code": np.char.add("c", code.astype(str)), "on": np.char.add("g", (code * 7 % groups).astype(str))}

    return make


def by_two(first: int, second: int, values: int) -> Make:
    """A value by two columns, neither of which tells it."""

    def make(rng: np.random.Generator) -> Columns:
        a, b = rng.integers(0, first, N), rng.integers(0, second, N)
        table = rng.permutation(first * second).reshape(first, second) % values
        return {
            "a": np.char.add("a", a.astype(str)),
            "b": np.char.add("b", b.astype(str)),
            "on": table[a, b].astype(str),
        }

    return make


def of_members(members: int, values: int) -> Make:
    """Units of so many members, who have one value in common."""

    def make(rng: np.random.Generator) -> Columns:
        home = np.arange(N) // members
        return {"home": home, "on": rng.integers(0, values, N)[home].astype(str)}

    return make


def pair(compute: Callable[..., Any], *ranges: tuple[int, int], scale: float = 1.0, start: bool = False) -> Make:
    """A column computed from some others, of whole numbers in some ranges, divided by a scale; `start`: from days."""

    def make(rng: np.random.Generator) -> Columns:
        drawn = [
            rng.integers(low, high, N) / scale if scale != 1 else rng.integers(low, high, N) for low, high in ranges
        ]
        terms = [days(rng), *drawn] if start else drawn
        return {**dict(zip("ab", terms)), "on": compute(*terms)}

    return make


YEARS, MONEY, FEW = (1930, 2010), (1000, 90_000), (1, 9)

KINDS: dict[str, Make] = {
    "region of a postcode": coded(40, 5),
    "sector of an occupation": coded(60, 9),
    "chapter of a diagnosis": coded(90, 12),
    "province of a municipality": coded(25, 4),
    "drug of a dose": coded(15, 8),
    "type of a school": coded(50, 3),
    "side of a ward": coded(8, 2),
    "stratum of a design": coded(12, 11),
    "town of a couple": of_members(2, 8),
    "region of a household": of_members(4, 6),
    "school of a class": of_members(20, 9),
    "landlord of a house": of_members(10, 25),
    "rate by class and region": by_two(6, 5, 9),
    "price by product and country": by_two(9, 4, 12),
    "kin by sex and line": by_two(2, 6, 5),
    "pay by grade and step": by_two(7, 7, 20),
    "ward by floor and wing": by_two(5, 6, 30),
    "nurse by day and shift": by_two(7, 3, 8),
    "match of two answers": by_two(4, 4, 2),
    "route by two ends": by_two(8, 8, 3),
    "age of a birth year": pair(lambda a: 2024 - a, YEARS),
    "decade of a year": pair(lambda a: a // 10 * 10, YEARS),
    "weekday of a day": lambda r: {"a": (d := days(r, 120)), "on": d.astype(int) % 7},
    "age group of an age": pair(lambda a: np.char.add("from ", (a // 10 * 10).astype(str)), (0, 90)),
    "cents of euros": pair(lambda a: (a * 100).round(), MONEY, scale=100),
    "fahrenheit of celsius": pair(lambda a: (a * 1.8 + 32).round(1), (340, 420), scale=10),
    "inches of centimetres": pair(lambda a: (a / 2.54).round(1), (1400, 2100), scale=10),
    "discharge of an admission": pair(lambda a: a + 3, start=True),
    "kilograms of pounds": pair(lambda a: (a * 0.45359).round(1), (90, 300)),
    "end of a start and a length": pair(lambda a, b: a + b, (0, 60), start=True),
    "days between two dates": lambda r: {"a": (d := days(r)), "b": d + (s := r.integers(0, 60, N)), "on": s},
    "a total": pair(lambda a, b: a + b, (0, 50), (0, 50)),
    "a rest": pair(lambda a, b: a - b, (50, 99), (0, 50)),
    "a total with decimals": pair(lambda a, b: (a + b).round(2), MONEY, MONEY, scale=100),
    "income of a size and a head": pair(lambda a, b: a * b, FEW, MONEY),
    "head of an income and a size": pair(lambda a, b: (a / b).round(2), MONEY, FEW),
    "size of an income and a head": lambda r: {
        "a": (i := r.integers(*MONEY, N)),
        "b": (i / (s := r.integers(*FEW, N))).round(2),
        "on": s,
    },
    "area of two sides": pair(lambda a, b: a * b, (10, 90), (10, 90)),
    "tax of a pay and a rate": pair(lambda a, b: (a * b).round(2), MONEY, (1, 40), scale=100),
    "speed of a way and a time": pair(lambda a, b: (a / b).round(1), (50, 900), (2, 30)),
}


def planted(kind: str, exceptions: int) -> tuple[pl.DataFrame, list[str]]:
    """A table with a law and other columns; the columns that give `on` back."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(KINDS[kind](rng))
    sources = [name for name in frame.columns if name != "on"]
    cells = frame["on"].to_list()
    for row in range(0, 40 * exceptions, 40):  # in units of their own
        cells[row] = next(cell for cell in cells if cell != cells[row])
    frame = frame.with_columns(pl.Series("on", cells, dtype=frame["on"].dtype))
    noise = {"sex": rng.choice(["f", "m"], N), "blood": rng.choice(list("0AB"), N), "mg": rng.normal(size=N).round(2)}
    return frame.with_columns(**{name: pl.Series(cells) for name, cells in noise.items()}), sources


def test_there_are_forty_kinds() -> None:
    assert len(KINDS) == 40


@pytest.mark.parametrize(("kind", "exceptions"), crossed(KINDS, [0, 1, 3]))
def test_a_planted_law_is_found_and_named(kind: str, exceptions: int) -> None:
    frame, sources = planted(kind, exceptions)
    units = ["home"] if "home" in sources else []
    listed = [law for law in laws_in_frame(frame, units) if law.name == "on" and set(law.sources) == set(sources)]
    assert [law.exceptions for law in listed] == [exceptions]
    assert (f"with {exceptions} exception" in str(listed[0])) == (exceptions > 0)
    assert listed[0].interval.low > 0.93
    others = {"sex", "blood", "mg"}
    assert not any(others & {law.name, *law.sources} for law in laws_in_frame(frame, units))


@pytest.mark.parametrize(("kind", "exceptions"), crossed(KINDS, [0, 3]))
def test_what_the_law_gives_back_is_filled_in(kind: str, exceptions: int) -> None:
    frame, sources = planted(kind, exceptions)
    rows = list(range(5, N, 11))
    blank = frame.with_columns(pl.when(~pl.int_range(N).is_in(rows)).then("on").alias("on"))
    roles = {name: "household" if name == "home" else {"role": "other", "missing": "keep"} for name in frame.columns}
    whole, released = (Microdata.finished(table, roles).encoded for table in (frame, blank))
    filled = closure(released).records["on"]
    cells = [_cell(filled, row) == _cell(whole["on"], row) for row in rows]
    assert np.mean(cells) > 0.9, sources


def _cell(variable: Any, row: int) -> str:
    if variable.continuous:
        return f"{variable.values[row]:.6g}"
    code = variable.values[row]
    return "" if code < 0 else str(variable.categories[code])
