"""Strict JSON files: no NaN, no infinity, indented by two spaces."""

import json
from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError

LARGEST_RECORD = 1 << 30
"""Largest size of a run's record in bytes; it has figures for every column, and columns can be many."""
Record = dict[str, Any]
"""Contents of a JSON file of a run: record.json, evidence.json, codebook.json."""
PLAIN = {str, int, bool, type(None)}
"""Types with a direct JSON counterpart."""


def write_json(path: Path, content: Any) -> None:
    """Write any of the package's values as JSON; figures that are not finite become null."""
    path.write_text(json.dumps(as_json(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_record(path: Path, what: str, keys: Collection[str] = ()) -> Record:
    """Read a JSON file that a run wrote: a mapping with the given keys.

    `what`: what the file records, with an article, for the message. Raises FileError if it is no such file.
    """
    try:
        content = json.loads(read_text(path, "File", largest=LARGEST_RECORD))
        if not isinstance(content, dict) or not set(keys) <= content.keys():
            raise ValueError
        return content
    except (OSError, ValueError, RecursionError):
        raise unreadable(path, what) from None


def unreadable(path: Path, what: str) -> FileError:
    """The error for a file that is not the expected record."""
    return FileError(f"'{path}' cannot be read as the record of {what}. Check the directory.")


def as_json(value: Any) -> Any:
    """The value in JSON types; a figure that is not finite becomes null."""
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
