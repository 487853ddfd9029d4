"""A table as it stands in a file, and what readers and writers of all formats share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from shoal.vocabulary.errors import FileError, MissingDependency, quoted


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as it stood in a file.

    Parameters
    ----------
    frame
        The cells.
    described
        How the file was read, in words ("comma-separated, utf-8-sig").
    labels
        Descriptions of columns.
    value_labels
        For a column, what its codes mean.
    types_from_cells
        Whether the file holds no types of columns, so that they were found out from all cells.
    notes
        For a column, or '' for the file, what a person should look at; no cell's value.
    spellings
        Of a table that is to be judged: for each column whose values the file does not write in one way, which way
        each cell has, numbered from 0 (`shoal.table.files.spelling`).
    reasons
        For columns of SPSS, Stata or SAS whose missing cells say why they are missing: the code that does, as text,
        null where there is none.
    missing_codes
        For columns of SPSS, the codes that it takes for missing, single ones and ranges as pyreadstat has them.
    title
        Description of the whole, of SPSS, Stata or SAS.
    measures
        For columns of SPSS, the level of measurement: nominal, ordinal or scale.
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
class Reading:
    """How a file is read: as one to be judged, or not, and which of its sheets."""

    judged: bool
    sheet: str | None = None


def library(package: str, what: str) -> Any:
    """A package of the extra 'files'.

    Raises
    ------
    MissingDependency
        If it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependency(f"Reading or writing {what} files", package, "files") from None


MOST_DIGITS = 38
"""Of a number that can be computed with exactly."""


def too_many_digits(path: Path, names: Iterable[str]) -> FileError:
    """The error for a file with numbers that cannot be computed with exactly, in some columns."""
    return FileError(
        f"File '{path}' has numbers of more than {MOST_DIGITS} digits in {quoted(names)}, which cannot be computed "
        f"with exactly. Make them text, or take fewer digits."
    )


def unreadable(path: Path, kind: str, error: Exception) -> FileError:
    """The error for a file that its library cannot read."""
    return FileError(
        f"File '{path}' is no readable {kind} file ({type(error).__name__}). Check that it is whole and of this kind."
    )
