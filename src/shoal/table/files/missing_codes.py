"""Codes that SPSS declares as missing: for each column up to three single codes, or a range and a single code."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl


def declared_in(ranges: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Declarations as pyreadstat writes them: single codes, and ranges with `lo` and `hi`."""
    return [part["lo"] if part["lo"] == part["hi"] else {"lo": part["lo"], "hi": part["hi"]} for part in ranges]


def is_declared(cell: Any, codes: Iterable[Any]) -> bool:
    """True if a cell is one of the codes or lies in one of the ranges."""
    if not isinstance(cell, (int, float, str)):
        return False
    ends = ((code["lo"], code["hi"]) if isinstance(code, Mapping) else (code, code) for code in codes)
    return any(isinstance(low, str) == isinstance(cell, str) and low <= cell <= high for low, high in ends)


def still_missing(frame: pl.DataFrame, missing_codes: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The declarations that remain valid for a released table.

    They do if the column still has the codes' type and no cell is one of them. In a column that a step changed, 97 may
    be an average; declared as missing, it would be lost to every reader.
    """
    return {
        name: codes
        for name, codes in missing_codes.items()
        if name in frame.columns
        and (frame[name].dtype == pl.String if _of_text(codes) else frame[name].dtype.is_numeric())
        and not any(is_declared(cell, codes) for cell in frame[name].drop_nulls().unique().to_list())
    }


def _of_text(codes: list[Any]) -> bool:
    return any(isinstance(code, str) for code in codes)
