"""The mixed-integer solver, kept from writing where programs write their results."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def milp(*arguments: Any, **options: Any) -> Any:
    """`scipy.optimize.milp` (HiGHS) with the process's standard output closed while it runs.

    Some versions of HiGHS print a line there now and then whatever their options say, which would spoil
    the output of a command that prints JSON.
    """
    from scipy.optimize import milp

    with _nothing_printed():
        return milp(*arguments, **options)


@contextmanager
def _nothing_printed() -> Iterator[None]:
    try:
        sys.stdout.flush()
        kept = os.dup(1)
    except (OSError, ValueError, AttributeError):  # there is no standard output to spoil
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        with suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)  # what C code still holds back belongs to the solver
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
