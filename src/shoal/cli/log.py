"""The log of a run: a line an event, with its time; counts and names of columns, never a cell."""

import logging
import os
import sys
import time

from shoal.errors import FileError, printable


class _Line(logging.Formatter):
    """Time of the event in UTC, level, and what happened, in one line."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def new_log() -> logging.Logger:
    """A log that goes nowhere yet."""
    log = logging.Logger("shoal", logging.INFO)
    log.addHandler(logging.NullHandler())  # without any, errors would go to standard error
    return log


def send(log: logging.Logger, place: str) -> None:
    """Append what is logged to a file that only its owner may read, or to standard error for '-'.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    if place == "-":
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            handler = logging.FileHandler(place, encoding="utf-8")
        except OSError as error:
            raise FileError(f"The log '{place}' cannot be written ({error.strerror}). Choose another place.") from None
    handler.setFormatter(_Line("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    close(log)
    log.handlers = [handler]


def close(log: logging.Logger) -> None:
    """Log no more."""
    for handler in log.handlers:
        handler.close()
    log.handlers = [logging.NullHandler()]
