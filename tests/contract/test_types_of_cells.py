"""Every kind of frame and type of cell goes through every mask and replacement: as its plain twin, or refused alike.

The twin is a polars table of the plainest type that holds the same cells. Only the type differs, so the release must
hold the same cells, or the refusal the same words.
"""

import contextlib
import datetime as dt
import math
from collections.abc import Callable, Container
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import combinations, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from by_night import NIGHT, by_turns
from contract.test_methods import made
from shoal.plan import Plan
from shoal.run.carry_out import carry_out, microdata
from shoal.table.files.table import Table
from shoal.table.files.tables import write_table
from shoal.vocabulary.errors import DataError, ShoalError
from shoal.vocabulary.registry import registered

N = 24
CODES = np.random.default_rng(3).integers(0, 6, N).tolist()
WAGE = np.round(np.random.default_rng(4).lognormal(2, 1, N), 2).tolist()
NOON = dt.datetime(2020, 1, 1, 12)
CELLS: dict[str, list[Any]] = {
    "truth": [bool(c % 2) for c in CODES],
    "whole": [c + 1 for c in CODES],
    "number": [c / 4 + 0.5 for c in CODES],
    "text": ["abcdef"[c] for c in CODES],
    "date": [dt.date(2020, 1, 1 + c) for c in CODES],
    "stamp": [NOON + dt.timedelta(hours=c) for c in CODES],
    "span": [dt.timedelta(minutes=c + 1) for c in CODES],
    "clock": [dt.time(8, c) for c in CODES],
    "decimal": [Decimal("1.50") + c for c in CODES],
}
PLAIN: dict[str, Any] = {
    "truth": pl.Boolean,
    "whole": pl.Int64,
    "number": pl.Float64,
    "text": pl.String,
    "date": pl.Date,
    "stamp": pl.Datetime("us"),
    "span": pl.Duration("us"),
    "clock": pl.Time,
    "decimal": pl.Decimal(10, 2),
}
WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LETTERS = list("abcdef")

POLARS: dict[str, list[Any]] = {
    "truth": [pl.Boolean],
    "whole": [pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Int128, pl.UInt128],
    "number": [pl.Float32],
    "text": [pl.Categorical, pl.Enum(LETTERS)],
    "stamp": [pl.Datetime("ms"), pl.Datetime("ns")],
    "span": [pl.Duration("ms"), pl.Duration("ns")],
}
PANDAS: dict[str, list[Any]] = {
    "truth": ["boolean", "bool[pyarrow]", "object", "bool", pd.ArrowDtype(pa.dictionary(pa.int32(), pa.bool_()))],
    "whole": [
        *WIDTHS,
        *(w.replace("uint", "UInt") if w[0] == "u" else w.title() for w in WIDTHS),
        *("int32[pyarrow]", "object", pd.ArrowDtype(pa.dictionary(pa.int8(), pa.int64()))),
    ],
    "number": ["float32", "float64", "Float32", "Float64", "float[pyarrow]", "double[pyarrow]", "object"],
    "text": [
        *("object", "str", "string[python]", "string[pyarrow]", "category"),
        pd.CategoricalDtype(LETTERS, ordered=True),
        *map(pd.ArrowDtype, (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()))),
    ],
    "date": [*map(pd.ArrowDtype, (pa.date32(), pa.date64(), pa.dictionary(pa.int32(), pa.date32()))), "object"],
    "stamp": ["datetime64[s]", "datetime64[us]", "datetime64[ns]", pd.ArrowDtype(pa.timestamp("us"))],
    "span": ["timedelta64[us]", "timedelta64[ns]", pd.ArrowDtype(pa.duration("us"))],
    "clock": ["object", *map(pd.ArrowDtype, (pa.time32("s"), pa.time64("us")))],
    "decimal": ["object", pd.ArrowDtype(pa.decimal128(10, 2))],
}
ARROW: dict[str, list[Any]] = {
    "truth": [pa.bool_(), pa.dictionary(pa.int32(), pa.bool_())],
    "whole": [*(pa.type_for_alias(w) for w in WIDTHS), pa.dictionary(pa.int8(), pa.int64())],
    "number": [pa.float16(), pa.float32(), pa.float64(), pa.dictionary(pa.int32(), pa.float64())],
    "text": [
        *(pa.string(), pa.large_string(), pa.string_view()),
        *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())),
    ],
    "date": [pa.date32(), pa.date64(), pa.dictionary(pa.int32(), pa.date32())],
    "stamp": [*map(pa.timestamp, ("s", "ms", "us", "ns"))],
    "span": [*map(pa.duration, ("s", "ms", "us", "ns"))],
    "clock": [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")],
    "decimal": [pa.decimal128(10, 2), pa.decimal256(40, 2)],
}
DUCKDB: dict[str, list[str]] = {
    "truth": ["boolean"],
    "whole": ["tinyint", "integer", "bigint", "utinyint", "ubigint"],
    "number": ["float", "double"],
    "text": ["varchar", "enum('a', 'b', 'c', 'd', 'e', 'f')"],
    "date": ["date"],
    "stamp": ["timestamp", "timestamp_s", "timestamp_ns"],
    "clock": ["time"],
    "decimal": ["decimal(10, 2)"],
}


Columns = dict[str, tuple[list[Any], Any]]
"""Columns of one table: the cells and the type of each."""


def polars(columns: Columns) -> Any:
    return pl.DataFrame(
        {name: pl.Series(cells, dtype=kind) for name, (cells, kind) in columns.items()} | {"wage": WAGE}
    )


def pandas(columns: Columns) -> Any:
    return pd.DataFrame({name: pandas_series(*column) for name, column in columns.items()} | {"wage": WAGE})


def pandas_series(cells: list[Any], kind: Any) -> Any:
    if kind == "bool" and None in cells:
        raise ValueError("pandas would take a missing cell for False")
    arrow = getattr(kind, "pyarrow_dtype", None)
    if arrow is not None and pa.types.is_dictionary(arrow):
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_array(cells, arrow)])))
    return pd.Series(cells, dtype=kind)


def pyarrow(columns: Columns) -> Any:
    return pa.table({name: arrow_array(*column) for name, column in columns.items()} | {"wage": WAGE})


def arrow_array(cells: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_float16(kind):  # of which some versions take no other numbers
        cells = [None if cell is None else np.float16(cell) for cell in cells]
    return pa.array(cells, kind)


def in_duckdb(columns: Columns) -> Any:
    plain = {name: (cells, PLAIN[duckdb_holds(kind)]) for name, (cells, kind) in columns.items()}
    cast = ", ".join(f"{name}::{kind} as {name}" for name, (_, kind) in columns.items())
    return duckdb.connect().from_arrow(polars(plain).to_arrow()).project(f"{cast}, wage")


def duckdb_holds(kind: str) -> str:
    return next(holds for holds, kinds in DUCKDB.items() if kind in kinds)


def in_narwhals(make: Callable[[Columns], Any]) -> Callable[[Columns], Any]:
    def wrapped(columns: Columns) -> Any:
        return nw.from_native(make(columns), eager_only=True)

    wrapped.__name__ = f"narwhals-of-{make.__name__}"
    return wrapped


WRAPPED: list[tuple[Callable[[Columns], Any], dict[str, list[Any]]]] = [
    (polars, {"truth": [pl.Boolean], "whole": [pl.Int32], "text": [pl.Enum(LETTERS)], "span": [pl.Duration("ms")]}),
    (pandas, {"truth": ["boolean"], "whole": ["int64", "Int32"], "text": ["category"], "stamp": ["datetime64[ns]"]}),
    (pyarrow, {"truth": [pa.dictionary(pa.int32(), pa.bool_())], "text": [pa.string_view()], "number": [pa.float16()]}),
]
"""Some types of each library as a narwhals frame, which is unwrapped; the library's own are tried in full."""


KINDS: list[tuple[Callable[[Columns], Any], str, Any]] = [
    (make, holds, kind)
    for make, kinds in (
        *((polars, POLARS), (pandas, PANDAS), (pyarrow, ARROW), (in_duckdb, DUCKDB)),
        *((in_narwhals(make), kinds) for make, kinds in WRAPPED),
    )
    for holds, several in kinds.items()
    for kind in several
]


def cells_of(native: Any) -> dict[str, list[Any]]:
    """The cells by column in Python's own types; missing is None."""
    frame = nw.from_native(native.pl() if hasattr(native, "pl") else native, eager_only=True)
    return {name: [python(cell) for cell in frame[name].to_list()] for name in frame.columns}


def python(cell: Any) -> Any:
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell is None or cell is pd.NA or cell is pd.NaT or cell != cell:
        return None
    for convert in ("to_pydatetime", "to_pytimedelta"):
        cell = getattr(cell, convert)() if hasattr(cell, convert) else cell
    return cell


def alike(one: Any, other: Any, *, coarse: bool) -> bool:
    """Equal; numbers up to what single precision holds, times up to a second where they are held in seconds."""
    if isinstance(one, (dt.datetime, dt.timedelta)) and type(one) is type(other):
        return abs(one - other) <= dt.timedelta(seconds=1 if coarse else 0, milliseconds=1)
    number = isinstance(one, (int, float, Decimal)) and not isinstance(one, bool)
    if number and isinstance(other, (int, float, Decimal)) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=2e-3 if coarse else 1e-6, abs_tol=1e-9)
    return type(one) is type(other) and one == other


UNCHANGED = "left as it is"


def steps() -> dict[str, list[dict[str, Any]]]:
    by_method: dict[str, list[dict[str, Any]]] = {UNCHANGED: []}
    for entry in registered("mask"):
        private = {"epsilon", "bounds"} <= entry.parameters.keys()
        method = replace(made(entry), bounds={"x": (0, 100)}) if private else made(entry)
        by_method[entry.name] = [{"mask": method, "columns": ["x"]}]
    for entry in registered("replace"):
        partition = shoal.FuzzyCMeans(k=3) if entry.name == "fuzzy-centre" else shoal.MDAV(k=4)
        by_method[entry.name] = [{"partition": partition, "replace": made(entry), "columns": ["x"]}]
    return by_method


STEPS = steps()
POLICIES = [(None, "refuse"), (2, "keep"), (2, "impute")]
"""A row whose cell is missing, and what is done about it."""


@cache
def plan(holds: str, step: str, missing: str, level: str | None) -> shoal.Plan:
    """What is asked for all types alike, read once."""
    described: dict[str, Any] = {"role": "quasi-identifier", "missing": missing, "level": level}
    if step == "generalise":
        described["hierarchy"] = {"nested": {"all": list(dict.fromkeys(map(str, CELLS[holds])))}}
    return shoal.Plan.of({"columns": {"x": described, "wage": "confidential"}, "steps": STEPS[step]})


class Tried:
    """A table of one type, read once for all plans that describe it alike."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.described: dict[tuple[Any, ...], Any] = {}

    def under(self, holds: str, step: str, missing: str, level: str | None) -> dict[str, list[Any]] | str:
        """The released cells, or why there are none."""
        asked = plan(holds, step, missing, level)
        columns = (holds, step == "generalise", missing, level)
        try:
            if columns not in self.described:
                self.described[columns] = microdata(self.native, asked)
            assert self.described[columns].schema == asked.covering(["x", "wage"]).schema
            return cells_of(carry_out(self.described[columns], asked, 5, None).finished.native)
        except ShoalError as refusal:
            return str(refusal)


def with_gap(holds: str, gap: int | None) -> list[Any]:
    return [None if i == gap else cell for i, cell in enumerate(CELLS[holds])]


@cache
def twin(holds: str, gap: int | None) -> Tried:
    """The plainest table with the same cells."""
    return Tried(polars({"x": (with_gap(holds, gap), PLAIN[holds])}))


@cache
def expected(holds: str, gap: int | None, *asked: Any) -> dict[str, list[Any]] | str:
    return twin(holds, gap).under(holds, *asked)


Way = tuple[int | None, str, str | None]
"""The row whose cell is missing, what is done about it, and the level that the plan gives the column."""


def tables(make: Any, holds: str, kind: Any) -> dict[int | None, Tried]:
    """A table of a type by the row whose cell is missing; some types of pandas and NumPy know no missing cell."""
    out = {None: Tried(make({"x": (with_gap(holds, None), kind)}))}
    for gap in {gap for gap, _ in POLICIES if gap is not None}:
        with contextlib.suppress(ValueError, TypeError):
            out[gap] = Tried(make({"x": (with_gap(holds, gap), kind)}))
    return out


def ways(number: int, gaps: Container[int | None]) -> dict[str, list[Way]]:
    """The ways in which a type meets each step: all of them without a step, and otherwise the one whose turn it is.

    Types that hold the same cells take turns, so that each step meets each kind of cells in every way
    (`test_every_step_meets_all_cells_in_every_way`); by day one type of each kind meets a step, and without a
    step a type meets every other way.
    """
    make, holds, kind = KINDS[number]
    nominal = make is pandas and kind == "object" and holds != "text"
    levels = ("nominal",) if nominal else (None, "nominal")
    every: list[Way] = [(*policy, level) for policy in POLICIES if policy[0] in gaps for level in levels]
    with_steps = [way for way in every if way[1] != "impute"]
    turn = sum(other == holds for _, other, _ in KINDS[:number])
    pause = 1 if NIGHT else sum(other == holds for _, other, _ in KINDS)
    unchanged, first = by_turns(every, turn, 2), turn // pause + list(CELLS).index(holds)
    return {
        step: unchanged if step == UNCHANGED else [with_steps[(first + 3 * place) % len(with_steps)]]
        for place, step in enumerate(STEPS)
        if step == UNCHANGED or (turn + place) % pause == 0
    }


def test_every_step_meets_all_cells_in_every_way() -> None:
    """By day any two of step, cells and way."""
    met = {
        (holds, step, way)
        for number, (make, holds, kind) in enumerate(KINDS)
        for step, several in ways(number, tables(make, holds, kind)).items()
        for way in several
    }
    every = {
        (holds, step, (*policy, level))
        for holds, step, policy, level in product(CELLS, STEPS, POLICIES[:2], (None, "nominal"))
    }
    assert met >= every or not NIGHT
    for pair in map(itemgetter, *zip(*combinations(range(3), 2))):
        assert set(map(pair, met)) >= set(map(pair, every))


@pytest.mark.parametrize("number", range(len(KINDS)), ids=[f"{m.__name__}-{h}-{k}" for m, h, k in KINDS])
def test_the_same_cells_or_the_same_words(number: int) -> None:
    make, holds, kind = KINDS[number]
    coarse = any(word in str(kind) for word in ("half", "[s]", "float16", "_s"))
    made_of = tables(make, holds, kind)
    for step, (gap, missing, level) in (
        (step, way) for step, several in ways(number, made_of).items() for way in several
    ):
        plain, came = expected(holds, gap, step, missing, level), made_of[gap].under(holds, step, missing, level)
        where = (step, missing, level, came)
        assert isinstance(came, str) == isinstance(plain, str), (*where, plain)
        if isinstance(came, str):
            assert came == plain, where
            continue
        for name, cells in plain.items():
            assert len(cells) == len(came[name]), where
            assert all(alike(a, b, coarse=coarse) for a, b in zip(cells, came[name])), (*where, cells)


def several() -> list[tuple[Callable[[Columns], Any], list[tuple[str, Any]]]]:
    """The types of each library, up to six a table."""
    kinds = {make: [(holds, kind) for other, holds, kind in KINDS if other is make] for make, _, _ in KINDS}
    return [(make, every[i : i + 6]) for make, every in kinds.items() for i in range(0, len(every), 6)]


@pytest.mark.parametrize(("make", "together"), several(), ids=lambda one: getattr(one, "__name__", ""))
def test_a_suppressed_cell_is_missing_in_the_file(make: Any, together: list[tuple[str, Any]], tmp_path: Path) -> None:
    """Each column is suppressed by a step of its own."""
    kinds = {f"x{i}": column for i, column in enumerate(together)}
    columns = {name: (with_two_rare(CELLS[holds]), kind) for name, (holds, kind) in kinds.items()}
    plan = {
        "columns": {name: {"role": "quasi-identifier", "level": "nominal"} for name in kinds} | {"wage": "other"},
        "steps": [{"mask": "suppress", "k": 3, "columns": [name]} for name in kinds],
        "output": {"shuffle": False, "format": "parquet"},
    }
    finished = carry_out(make(columns), Plan.of(plan), 1, None).finished
    write_table(Table(frame=finished.frame.to_polars()), tmp_path / "data.parquet")
    written, returned = pl.read_parquet(tmp_path / "data.parquet"), cells_of(finished.native)
    for name, (cells, kind) in columns.items():
        for back in (returned[name], written[name].to_list()):
            assert [cell is None for cell in back] == [cell != cells[0] for cell in cells], kind


def with_two_rare(cells: list[Any]) -> list[Any]:
    """A column of one value, but for two records, each alone with its own."""
    out = [cells[0]] * (N - 2) + [cells[1], cells[2]]
    assert len(set(out)) > 1
    return out


def test_what_no_type_can_hold_is_named() -> None:
    plan = {"columns": {"x": "other", "wage": "other"}}
    with pytest.raises(DataError, match=r"INTERVAL .*: 'x'\. Turn them into seconds"):
        carry_out(duckdb.sql("select interval 1 month as x, 1.0 as wage"), Plan.of(plan), 1, None)
    wide = pa.table({"x": pa.array([Decimal(10) ** 45], pa.decimal256(50, 2)), "wage": [1.0]})
    with pytest.raises(DataError, match=r"Column 'x' is of the type decimal256\(50, 2\)"):
        carry_out(wide, Plan.of(plan), 1, None)
