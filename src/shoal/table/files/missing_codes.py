"""Codes that SPSS takes for missing: for each column up to three single ones, or a range and a single one."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl


def declared_in(ranges: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The codes that pyreadstat read, as it writes them: single ones, and ranges with `lo` and `hi`."""
    return [part["lo"] if part["lo"] == part["hi"] else {"lo": part["lo"], "hi": part["hi"]} for part in ranges]


def is_declared(cell: Any, codes: Iterable[Any]) -> bool:
    """True if a cell is one of the codes."""
    if not isinstance(cell, (int, float, str)):
        return False
    ends = ((code["lo"], code["hi"]) if isinstance(code, Mapping) else (code, code) for code in codes)
    return any(isinstance(low, str) == isinstance(cell, str) and low <= cell <= high for low, high in ends)


def still_missing(frame: pl.DataFrame, missing_codes: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns for which codes can still be declared: their cells are of the codes' type, and none is one of them.

    In a column that a step changed, 97 may be an average: declared as missing, it would be lost to every reader.
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
