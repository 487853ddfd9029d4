"""Reading a file that must not change meanwhile."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from shoal.errors import FileError

Content = TypeVar("Content")


def unchanging(path: Path, read: Callable[[], Content]) -> tuple[Content, str]:
    """What `read` makes of a file, and the SHA-256 of the very bytes it read."""
    before = _digest(path)
    content = read()
    if _digest(path) != before:
        raise FileError(f"File '{path}' was changed while it was read. Try again when it is complete.")
    return content, before


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""  # reading it says what is wrong
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
