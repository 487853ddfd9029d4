"""What R hands over and gets back: columns as plain lists, so that no array crosses from one language to the other."""

import datetime
from typing import Any

import polars as pl

import shoal
from shoal import ShoalError
from shoal.table.files.tables import read_table

TYPES = {
    "text": pl.String,
    "number": pl.Float64,
    "whole": pl.Int64,
    "truth": pl.Boolean,
    "day": pl.Date,
    "empty": pl.Null,
}
LARGEST = 2**31
"""Whole numbers that R's own type does not have come as numbers."""


def answer(name: str, /, *arguments: Any, **named: Any) -> dict[str, Any]:
    """What a function gives, or the sentence with which it refuses."""
    try:
        return {"value": globals().get(name, getattr(shoal, name, None))(*arguments, **named), "error": None}
    except ShoalError as error:
        return {"value": None, "error": str(error), "kind": type(error).__name__, "status": error.exit_status}


def table(columns: list[dict[str, Any]]) -> pl.DataFrame:
    """A data frame of columns with name, kind, values, and where they are missing."""
    series = []
    for column in columns:
        values = [None if gap else value for value, gap in zip(column["values"], column["missing"], strict=True)]
        if column["kind"] == "day":
            values = [None if value is None else datetime.date.fromisoformat(value) for value in values]
        series.append(pl.Series(column["name"], values, dtype=TYPES[column["kind"]]))
    return pl.DataFrame(series)


def columns(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The same the other way; missing values are whatever R can hold of the kind."""
    return [_column(frame[name]) for name in frame.columns]


def _column(column: pl.Series) -> dict[str, Any]:
    if column.dtype.is_integer():
        small = column.is_empty() or (column.abs().max() or 0) < LARGEST
        kind, cells = ("whole", column) if small else ("number", column.cast(pl.Float64))
    elif column.dtype == pl.Date:
        kind, cells = "day", column.dt.to_string("iso")
    elif column.dtype.is_float() or column.dtype == pl.Boolean:
        kind, cells = ("number" if column.dtype.is_float() else "truth"), column
    else:
        kind, cells = "text", column.list.join(", ") if column.dtype == pl.List else column.cast(pl.String)
    blank = {"whole": 0, "number": 0.0, "truth": False, "day": "", "text": ""}[kind]
    return {
        "name": column.name,
        "kind": kind,
        "values": cells.fill_null(blank).to_list(),
        "missing": column.is_null().to_list(),
    }


def read(path: str) -> Any:
    """A file with its labels, as the commands read it."""
    return read_table(path)


def write(release: Any, directory: str, overwrite: bool = False, unproved: bool = False, labels: Any = None) -> str:
    """The two folders of a release."""
    release.write(directory, overwrite=overwrite, unproved=unproved, labels=labels)
    return directory


def rows(value: Any) -> pl.DataFrame:
    """Any value that has rows, as a data frame: the released table of a release, the figures of all others."""
    return value.frame if hasattr(value, "frame") else value.to_frame()


def figures(exposure: Any) -> pl.DataFrame:
    """The columns of an exposure, and what each singles out."""
    return pl.DataFrame(
        [
            {
                "column": one.name,
                "role": one.role,
                "distinction": one.figures.distinction,
                "separation": one.figures.separation,
                "unique": one.figures.unique,
            }
            for one in exposure.columns
        ]
    )


def catalogue(kind: str | None = None) -> pl.DataFrame:
    """Every method, or those of a kind."""
    from shoal.vocabulary.registry import registered

    entries = registered(kind)
    return pl.DataFrame(
        {
            "kind": [one.kind for one in entries],
            "name": [one.name for one in entries],
            "title": [one.title for one in entries],
            "source": [one.source for one in entries],
        }
    )
