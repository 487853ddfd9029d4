"""The transport format of SAS at the byte level: the numbers of its columns.

Libraries read every missing number as missing, but the file has 28 kinds, `.`, `._` and `.A` to `.Z`, which say why it
is missing: the first byte is that character and the seven others are zero (SAS, "Record layout of a SAS version 5 or 6
data set in SAS transport (XPORT) format", TS-140). A number can be written in several ways as well, since IBM
floating-point numbers need not be normalised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.vocabulary.errors import FileError

LINE = 80
NAMES_AT = 8 * LINE
"""Start of the column descriptions, after eight lines of headers."""

NAME_SIZE, NAME_COUNT = slice(3 * LINE + 74, 3 * LINE + 78), slice(7 * LINE + 54, 7 * LINE + 58)
"""Positions, in the headers, of the size of a column description and of the number of columns."""

NUMERIC = b"\0\1"
"""Mark of a column of numbers."""

LETTERS = "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters that, besides the point, mark a missing number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Positions of the cells of a transport file."""

    # start, width: position of the first record, and length of a record, in bytes
    start: int
    width: int
    # The bytes of each column in a record; None for a column of text
    numeric: tuple[slice | None, ...]

    @classmethod
    def of(cls, content: NDArray[np.uint8], path: Path) -> "Layout":
        raw = content.tobytes()
        try:
            size, count = int(raw[NAME_SIZE]), int(raw[NAME_COUNT])
        except ValueError:
            raise FileError(f"File '{path}' is no transport file of one table. Write it again.") from None
        described = [raw[at : at + size] for at in range(NAMES_AT, NAMES_AT + size * count, size)]
        kinds, lengths, places = zip(*((d[:2], _number(d[4:6]), _number(d[84:88])) for d in described))
        at = NAMES_AT
        while not raw[at : at + LINE].startswith(b"HEADER RECORD*******OBS"):
            at += LINE
            if at >= len(raw):
                raise FileError(f"File '{path}' is no transport file of one table. Write it again.")
        numeric = tuple(
            slice(place, place + length) if kind == NUMERIC else None
            for kind, length, place in zip(kinds, lengths, places)
        )
        return cls(start=at + LINE, width=sum(lengths), numeric=numeric)

    def cells(self, content: NDArray[np.uint8], column: int, n: int) -> NDArray[np.uint8]:
        """Shape (n, length), a view; the bytes of a column of numbers. The length is 0 for a column of text."""
        records = content[self.start : self.start + n * self.width].reshape(n, self.width)
        return records[:, self.numeric[column] or slice(0)]


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def numbers_as_written(path: Path, frame: pl.DataFrame) -> dict[str, NDArray[np.uint8]]:
    """The bytes of the cells of each column of numbers, shape (n, 3 to 8)."""
    content = np.fromfile(path, dtype=np.uint8)
    layout = Layout.of(content, path)
    return {
        name: layout.cells(content, j, len(frame))
        for j, name in enumerate(frame.columns)
        if layout.numeric[j] is not None
    }


def reasons_of(cells: NDArray[np.uint8]) -> list[str | None]:
    """The letter that says why a number is missing; None for a number, and without a reason."""
    reason = (cells[:, 1:] == 0).all(axis=1) & np.isin(cells[:, 0], np.frombuffer(LETTERS.encode(), dtype=np.uint8))
    return [chr(first) if has_reason else None for first, has_reason in zip(cells[:, 0].tolist(), reason.tolist())]


def write_reasons(path: Path, frame: pl.DataFrame, reasons: Mapping[str, pl.Series]) -> None:
    """Write the letters that say why numbers are missing into a file that has them as plain missing numbers."""
    content = np.fromfile(path, dtype=np.uint8)
    layout = Layout.of(content, path)
    for name, letters in reasons.items():
        cells = layout.cells(content, frame.columns.index(name), len(frame))
        for row, letter in enumerate(letters.to_list()):
            if letter is not None and cells.shape[1]:
                cells[row, 0] = ord(letter)
    content.tofile(path)
