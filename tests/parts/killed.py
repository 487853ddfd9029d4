"""A run that is killed between two operations on files: from then on its process does nothing more to any file."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

OPERATIONS = ("mkdir", "open", "rename", "replace", "rmdir", "unlink")


class Killed(BaseException):
    """No error, so that nothing takes it for one and goes on."""


@contextmanager
def killed_before(number: float) -> Iterator[list[str]]:
    """Kill at the operation with this number, counted from 0; at none for infinity.

    Yields
    ------
    The operations that were asked for, by name.
    """
    asked: list[str] = []

    def mortal(name: str) -> Callable[..., Any]:
        operation = getattr(os, name)

        def done_or_killed(*given: Any, **how: Any) -> Any:
            if name != "open" or given[1] & os.O_CREAT:
                asked.append(name)
                if len(asked) > number:
                    raise Killed
            return operation(*given, **how)

        return done_or_killed

    with patch.multiple(os, **{name: mortal(name) for name in OPERATIONS}):
        yield asked
