"""The log of a run: one line an event, with its time; counts and names of columns, never a cell.

Python's own logging is loaded only where there is a log.
"""

import os
import sys
import time
from typing import TYPE_CHECKING

from shoal.vocabulary.errors import FileError, printable

if TYPE_CHECKING:
    import logging


class Log:
    """A log that writes nothing until a destination is set."""

    def __init__(self) -> None:
        self._logger: logging.Logger | None = None

    def info(self, text: str, *values: object) -> None:
        if self._logger is not None:
            self._logger.info(text, *values)

    def warning(self, text: str, *values: object) -> None:
        if self._logger is not None:
            self._logger.warning(text, *values)

    def error(self, text: str, *values: object) -> None:
        if self._logger is not None:
            self._logger.error(text, *values)

    def send(self, place: str) -> None:
        """Append events to a file that only its owner may read, or to standard error for '-'.

        Raises FileError if the file cannot be written.
        """
        self.close()
        self._logger = _logger(place)

    def close(self) -> None:
        """Stop logging."""
        for handler in () if self._logger is None else self._logger.handlers:
            handler.close()
        self._logger = None


def _logger(place: str) -> "logging.Logger":
    import logging

    if place == "-":
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            handler = logging.FileHandler(place, encoding="utf-8")
        except OSError as error:
            raise FileError(f"The log '{place}' cannot be written ({error.strerror}). Choose another place.") from None
    handler.setFormatter(_lines())
    logger = logging.Logger("shoal", logging.INFO)
    logger.addHandler(handler)
    return logger


def _lines() -> "logging.Formatter":
    """Formatter of a line: time of the event in UTC, level, and message."""
    import logging

    class Line(logging.Formatter):
        converter = staticmethod(time.gmtime)

        def format(self, record: logging.LogRecord) -> str:
            return printable(super().format(record))

    return Line("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
