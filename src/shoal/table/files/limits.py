"""Limits of file formats: a table that a format cannot hold is refused before it is written.

The libraries that write refuse some excesses, drop some silently, and write some that the format's own program cannot
read. The limits are those of the programs: Excel, "Excel specifications and limits"; SPSS Statistics, "Variable types"
and "VALUE LABELS"; Stata, "help limits"; SAS, "Record layout of a SAS version 8 or 9 data set in SAS transport (XPORT)
format" and "Lengths and precision of variables".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Literal

import polars as pl

from shoal.vocabulary.errors import FileError, plural, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatLimits:
    """Limits of a format."""

    # records, columns: the most that a file holds
    records: float = inf
    columns: float = inf
    text: float = inf  # Bytes of a cell in UTF-8; characters if `in_characters`
    # Largest absolute value; of SAS 7.237e75, of which ReadStat writes infinity for those above 7e74
    number: float = inf
    title: float = inf  # Bytes or characters of the table's title; a longer one is cut
    label: float = inf  # Bytes or characters of a column's label; a longer one is cut
    value_label: float = inf  # Bytes of a code's label; a longer one is cut
    in_characters: bool = False
    capitals: bool = True  # True if column names may differ in letter case alone

    def cut(self, what: Literal["title", "label", "value_label"], text: str) -> str:
        """A title or label cut to the limit, in whole characters."""
        most = int(min(getattr(self, what), 4 * len(text)))
        if self.in_characters and what != "value_label":
            return text[:most]
        return text.encode()[:most].decode(errors="ignore")


LIMITS = {
    "xlsx": FormatLimits(records=1_048_575, columns=16_384, text=32_767, in_characters=True, capitals=False),
    "sav": FormatLimits(text=32_767, title=64, label=256, value_label=120),
    "dta": FormatLimits(number=8.988e307, title=80, label=80, value_label=32_000, in_characters=True),
    "xpt": FormatLimits(text=32_767, number=7e74, title=40, label=256),
}
"""Limits by file name ending; other formats have none that a table reaches."""


def refuse_beyond(frame: pl.DataFrame, ending: str) -> None:
    """Refuse a table that exceeds the limits of a format.

    Raises FileError naming the limit and the columns that exceed it.
    """
    most = LIMITS.get(ending, FormatLimits())
    if len(frame) > most.records or frame.width > most.columns:
        raise FileError(
            f"The format {ending} holds {most.records:,} records of {most.columns:,} columns at most; the table has "
            f"{plural(len(frame), 'record')} of {plural(frame.width, 'column')}. Choose csv or parquet."
        )
    small = [name.lower() for name in frame.columns]
    if not most.capitals and (alike := [name for name in frame.columns if small.count(name.lower()) > 1]):
        raise FileError(
            f"The names {quoted(alike)} differ in capital letters only, which the format {ending} does not tell apart. "
            f"Rename one, or choose csv or parquet."
        )
    texts = (column for column in frame if column.dtype in (pl.String, pl.Categorical, pl.Enum))
    if long := [column.name for column in texts if _longest(column, in_characters=most.in_characters) > most.text]:
        unit = "characters" if most.in_characters else "bytes"
        raise _beyond(ending, f"texts of at most {most.text:,} {unit}", long)
    if far := [column.name for column in frame if column.dtype.is_float() and _largest(column) > most.number]:
        raise _beyond(ending, f"numbers up to {most.number:.4g}", far)


def _beyond(ending: str, what: str, names: Iterable[str]) -> FileError:
    return FileError(f"The format {ending} holds {what}, and {quoted(names)} has more. Choose csv or parquet.")


def _longest(column: pl.Series, *, in_characters: bool) -> float:
    texts = column.cast(pl.String).str
    return float((texts.len_chars() if in_characters else texts.len_bytes()).max() or 0)  # type: ignore[arg-type]


def _largest(column: pl.Series) -> float:
    """The largest absolute value of the finite numbers of a column; 0 if there is none."""
    return float(column.filter(column.is_finite()).abs().max() or 0.0)  # type: ignore[arg-type]
