"""Ranges of numbers in labels: `[20, 40]`, `[20, 40)`, `< 20`, `>= 40`, `at most 20`, `at least 40`."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from shoal.kernels.arrays import Bools, Floats

BOUNDED = re.compile(r"([\[(])(\S+), (\S+)([\])])")
ONE_SIDED = re.compile(r"(<|<=|>|>=|at most|at least) (\S+)")
SIDES: Mapping[str, str] = {
    "<": "below",
    "<=": "up to",
    ">": "above",
    ">=": "from",
    "at most": "up to",
    "at least": "from",
}


def numbers_of(texts: Iterable[str]) -> list[float] | None:
    """The numbers that texts stand for; None if one of them is no number."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """An interval of numbers."""

    # low, high: the ends, infinite on a side that is open
    low: float
    high: float
    # with_low, with_high: True if the end belongs to the range
    with_low: bool
    with_high: bool

    @classmethod
    def read(cls, label: str) -> Self | None:
        """The range that a label describes; None if it describes none."""
        try:
            if between := BOUNDED.fullmatch(label):
                left, low, high, right = between.groups()
                return cls(low=float(low), high=float(high), with_low=left == "[", with_high=right == "]")
            if side := ONE_SIDED.fullmatch(label):
                word, end = SIDES[side[1]], float(side[2])
                if word in ("below", "up to"):
                    return cls(low=-math.inf, high=end, with_low=True, with_high=word == "up to")
                return cls(low=end, high=math.inf, with_low=word == "from", with_high=True)
        except ValueError:  # an end that is no number
            return None
        return None

    def holds(self, numbers: Floats) -> Bools:
        """Shape (n,); True for numbers inside the range."""
        above = numbers >= self.low if self.with_low else numbers > self.low
        below = numbers <= self.high if self.with_high else numbers < self.high
        return np.asarray(above & below)
