"""The contents of a table file, and helpers that readers and writers of all formats share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from shoal.vocabulary.errors import FileError, MissingDependency, quoted


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with everything that its file holds.

    Parameters
    ----------
    frame
        The cells.
    described
        Format of the file in words ("comma-separated, utf-8-sig").
    labels
        Descriptions of columns.
    value_labels
        Labels of the codes, by column.
    types_from_cells
        True if the file holds no column types, so that they were inferred from the cells.
    notes
        Warnings by column, or under '' for the whole file; they contain no cell's value.
    spellings
        For a judged table and the columns whose values have several spellings: the number of each cell's spelling,
        from 0 (`shoal.table.files.spelling`).
    reasons
        Codes, as text, that say why cells of SPSS, Stata or SAS columns are missing; null where there is none.
    missing_codes
        Codes that SPSS declares as missing, by column: single ones, and ranges as pyreadstat writes them.
    title
        Title of the table in SPSS, Stata or SAS.
    measures
        Level of measurement in SPSS, by column: nominal, ordinal or scale.
    """

    frame: pl.DataFrame
    described: str = ""
    types_from_cells: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, pl.Series] = field(default_factory=dict)
    reasons: Mapping[str, pl.Series] = field(default_factory=dict)
    missing_codes: Mapping[str, list[Any]] = field(default_factory=dict)
    title: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of reading a file: whether the table is to be judged, and the name of a sheet."""

    judged: bool
    sheet: str | None = None


def library(package: str, what: str) -> Any:
    """A package of the extra 'files'. Raises MissingDependency if it is not installed.

    Raises MissingDependency if it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependency(f"Reading or writing {what} files", package, "files") from None


MOST_DIGITS = 38
"""Most digits of a decimal number with which exact arithmetic is possible."""


def too_many_digits(path: Path, names: Iterable[str]) -> FileError:
    """The error for a file whose named columns have numbers of more digits than `MOST_DIGITS`."""
    return FileError(
        f"File '{path}' has numbers of more than {MOST_DIGITS} digits in {quoted(names)}, which cannot be computed "
        f"with exactly. Make them text, or round them."
    )


def unreadable(path: Path, kind: str, error: Exception) -> FileError:
    """The error for a file that its library cannot read."""
    return FileError(
        f"File '{path}' is no readable {kind} file ({type(error).__name__}). Check that it is whole and of this kind."
    )
