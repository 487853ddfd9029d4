"""Columns taken as another type than their file says, and codes in them that mean missing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from shoal.vocabulary.errors import DataError, ParameterError, plural, unknown

EXACT = 2.0**53
"""Largest whole number up to which doubles are exact."""

DATES = ("%Y-%m-%d", "%d.%m.%Y", "%Y%m%d")
"""Ways of writing a day; those in which day and month can be mistaken for each other are left out."""


def typed(frame: pl.DataFrame, columns: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """A frame of which some columns have another type, and some codes are missing.

    Parameters
    ----------
    columns
        By name of a column `type` (text, number, whole number or date) and `missing`, its codes for missing as text.

    Raises
    ------
    InputError
        If a column or type is not there, or cells that are no missing codes do not have the type.
    """
    for name, asked in columns.items():
        if name not in frame.columns:
            raise DataError(unknown("column", name, frame.columns))
        if not isinstance(asked, Mapping) or asked.keys() - {"type", "missing"}:
            raise ParameterError(f"Column '{name}' is taken as a type and has codes for missing. Give nothing else.")
        column = _without_codes(frame[name], asked.get("missing") or [])
        kind = asked.get("type")
        if kind is not None and kind not in TYPES:
            raise ParameterError(unknown("type", str(kind), TYPES))
        changed = column if kind is None else TYPES[kind](column)
        if lost := changed.null_count() - column.null_count():
            raise DataError(
                f"Column '{name}' has {plural(lost, 'cell')} that cannot be taken as a {kind}. Name their codes as "
                f"missing, or take the column as text."
            )
        frame = frame.with_columns(changed.alias(name))
    return frame


def _without_codes(column: pl.Series, codes: Sequence[Any]) -> pl.Series:
    """A column in which cells that equal a code, as text or as a number, are missing."""
    if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
        raise ParameterError(f"Codes for missing of column '{column.name}' must be a list of texts.")
    if not codes:
        return column
    blank = column.cast(pl.String).is_in(codes)
    if column.dtype.is_numeric():
        numbers = pl.Series(codes).cast(pl.Float64, strict=False).drop_nulls()
        blank |= column.cast(pl.Float64).is_in(numbers.implode())
    return pl.select(pl.when(blank.fill_null(value=False)).then(None).otherwise(column).alias(column.name)).to_series()


def _number(column: pl.Series) -> pl.Series:
    return column if column.dtype.is_numeric() else _text(column).str.strip_chars().cast(pl.Float64, strict=False)


def _whole(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        return column
    numbers = _number(column).cast(pl.Float64)
    whole = (numbers == numbers.floor()) & (numbers.abs() <= EXACT)
    return pl.select(pl.when(whole).then(numbers).cast(pl.Int64, strict=False)).to_series()


def _text(column: pl.Series) -> pl.Series:
    return column.cast(pl.String)


def _date(column: pl.Series) -> pl.Series:
    if column.dtype.is_temporal():
        return column.cast(pl.Date, strict=False)
    texts = _text(column).str.strip_chars()
    ways = [texts.str.to_date(way, strict=False) for way in DATES]
    return min(ways, key=lambda days: days.null_count())


TYPES: Mapping[str, Callable[[pl.Series], pl.Series]] = {
    "text": _text,
    "number": _number,
    "whole number": _whole,
    "date": _date,
}
