"""Strict JSON files: no NaN, no infinity, indented by two spaces."""

import json
from collections.abc import Collection, Mapping
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter

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
    path.write_text(_indented(content) + "\n", encoding="utf-8")


def _indented(value: Any, margin: str = "\n") -> str:
    """`json.dumps(as_json(value), indent=2)` in half the time: with an indent it would not use its C code.

    `margin`: a line break and the indent of the value.
    """
    if type(value) is str:
        return quoted(value)
    if type(value) is int or (type(value) is float and isfinite(value)):
        return repr(value)
    inner = margin + "  "
    if isinstance(value, (dict, Mapping)) and value:
        below = [f"{quoted(str(key))}: {_indented(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(below)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        return f"[{inner}{f',{inner}'.join([_indented(item, inner) for item in value])}{margin}]"
    plain = as_json(value)
    return _indented(plain, margin) if isinstance(plain, list) and plain else json.dumps(plain)


Content = TypeVar("Content")


@cache
def form_of(content: type[Content]) -> TypeAdapter[Content]:
    """The checks of a file's content; made once, for making them takes longer than checking."""
    return TypeAdapter(content)


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
