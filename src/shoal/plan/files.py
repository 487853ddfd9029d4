"""Files that a plan names, read from the plan's folder, so that no method reads a file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.table.files.tables import read
from shoal.vocabulary.parameters import Holds, KeyFile, Method, TablePath, holds


def with_files(method: Any, folder: Path) -> Any:
    """The same method with each table it names read, and its key file located from the plan's folder.

    Raises FileError if a table cannot be read.
    """
    changed = {}
    for name, marker in holds(type(method)).items():
        before = getattr(method, name)
        after = _resolved(before, marker, folder)
        if after is not before:
            changed[name] = after
    return replace(method, **changed) if changed else method


def _resolved(value: Any, marker: Holds | None, folder: Path) -> Any:
    if hasattr(value, "method_kind"):
        return with_files(value, folder)
    if isinstance(marker, TablePath) and isinstance(value, (str, Path)):
        return read(folder / value)
    if isinstance(marker, (TablePath, Method)) and isinstance(value, (list, tuple)):
        return tuple(_resolved(item, marker, folder) for item in value)
    if isinstance(marker, KeyFile) and value is not None:
        return str(folder / value)
    return value
