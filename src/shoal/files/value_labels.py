"""What the codes of a column mean, by codes that are of the column's type."""

from collections.abc import Mapping
from typing import Any

import polars as pl


def labels_of_cells(frame: pl.DataFrame, value_labels: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[Any, str]]:
    """Value labels whose codes are of their column's type, as cells are: SPSS has 1.0 for a cell that is 1.

    Labels of codes that the type cannot hold, of missing values among numbers for one, are left out.
    """
    kinds = {name: str if frame[name].dtype == pl.String else float for name in value_labels if name in frame.columns}
    whole = {name for name in kinds if frame[name].dtype.is_integer()}
    found: dict[str, dict[Any, str]] = {}
    for name, kind in kinds.items():
        codes = {code: label for code, label in value_labels[name].items() if isinstance(code, str) == (kind is str)}
        found[name] = {
            int(code) if name in whole else kind(code): label
            for code, label in codes.items()
            if name not in whole or float(code).is_integer()
        }
    return {name: labels for name, labels in found.items() if labels}
