"""JSON files that any reader takes: no NaN, no infinity, two spaces."""

import json
from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError

LARGEST_RECORD = 1 << 30
"""Bytes of a record of a run: it has a figure for every column, and columns can be many."""
Record = dict[str, Any]
"""A JSON file of a run: record.json, evidence.json, codebook.json."""
PLAIN = {str, int, bool, type(None)}
"""Types whose values JSON has as they are."""


def write_json(path: Path, content: Any) -> None:
    """Write any of the package's values; figures that are not finite become null."""
    path.write_text(json.dumps(as_json(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_record(path: Path, what: str, keys: Collection[str] = ()) -> Record:
    """A mapping with some keys from a JSON file that a run wrote.

    `what`: what it is the record of, with its article. Raises FileError if it is none.
    """
    try:
        content = json.loads(read_text(path, "File", largest=LARGEST_RECORD))
        if not isinstance(content, dict) or not set(keys) <= content.keys():
            raise ValueError
        return content
    except (OSError, ValueError, RecursionError):
        raise unreadable(path, what) from None


def unreadable(path: Path, what: str) -> FileError:
    """The error that a file is not the record that it should be."""
    return FileError(f"'{path}' cannot be read as the record of {what}. Check the directory.")


def as_json(value: Any) -> Any:
    """A value in types of JSON; a figure that is not finite becomes null."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, (dict, Mapping)):
        return {str(key): as_json(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(below) for below in value]
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    return value if isinstance(value, (str, int)) else str(value)
