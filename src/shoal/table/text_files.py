"""Small text files that a user names: plans, hierarchies, keys, records of runs.

A name may lead to a device that never ends, or to a pipe that nobody writes to. So only regular files are read, up to a
size that none of these files reaches.
"""

import os
import stat
from pathlib import Path

from shoal.vocabulary.errors import FileError

LARGEST = 64 << 20
"""Most bytes of a file: far more than any plan, hierarchy or record has."""


def read_text(path: str | Path, what: str, encoding: str = "utf-8", largest: int = LARGEST) -> str:
    """The text of a regular file.

    `what`: the kind of file, as the message begins: "Plan". `largest`: most bytes. Raises FileError if it cannot be
    read, is no regular file, or is too large.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"{what} '{path}' is no regular file. Save it as one.")
            if status.st_size > largest:
                raise FileError(f"{what} '{path}' has more than {largest >> 20} MB. Name another file.")
            return file.read(largest).decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{what} '{path}' cannot be read (it is no {encoding.upper()} text). Check the file.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        why = getattr(error, "strerror", None) or "no such name"
        raise FileError(f"{what} '{path}' cannot be read ({why}). Check the path.") from None
