"""JSON files that any reader takes: no NaN, no infinity, two spaces."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def write_json(path: Path, content: Any) -> None:
    """Write any of the package's values; figures that are not finite become null."""
    path.write_text(json.dumps(as_json(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def as_json(value: Any) -> Any:
    """What JSON knows; a figure that is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, Mapping):
        return {str(key): as_json(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(below) for below in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
