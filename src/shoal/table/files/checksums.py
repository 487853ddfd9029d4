"""SHA-256 of files, and reading of files that must not change meanwhile."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from shoal.vocabulary.errors import FileError

Content = TypeVar("Content")


def unchanging(path: Path, read: Callable[[], Content]) -> tuple[Content, str]:
    """Result of `read` on a file, and the SHA-256 of exactly the bytes that it read."""
    before = sha256_of(path)
    content = read()
    if sha256_of(path) != before:
        raise FileError(f"File '{path}' was changed while it was read. Try again when it is complete.")
    return content, before


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes; an empty text if the path is no file."""
    if not path.is_file():
        return ""  # reading it says what is wrong
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
