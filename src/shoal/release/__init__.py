"""A release as a value, and a refusal."""

from shoal.release.refusal import Advice, NotProved, not_proved, require
from shoal.release.value import (
    LEAST_SEED,
    OF,
    WHOSE,
    Account,
    ColumnAccount,
    LargeRelease,
    Publisher,
    Release,
    SingledOut,
    WholeRelease,
)

__all__ = [
    "LEAST_SEED",
    "OF",
    "WHOSE",
    "Account",
    "Advice",
    "ColumnAccount",
    "LargeRelease",
    "NotProved",
    "Publisher",
    "Release",
    "SingledOut",
    "WholeRelease",
    "not_proved",
    "require",
]
