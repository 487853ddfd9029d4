"""Figures of the classes of a table, in a form in which parts of a table add up.

Judges of single classes *look* at classes and *conclude* from the figures of all of them. A table too large to be held
whole is shown to them part by part, each class whole in one part, so that the same code judges tables of every size.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Longs

MATCHING = "records that a record may stand for"
"""Name of the count of matching records, if a missing cell does not only match a missing one."""

MASS = "expected persons"
"""Name of the expected number of persons of whom what is known is that of a group, where persons are counted."""

MEANING = {
    "wildcard": "a missing cell matching every value",
    "nothing": "records with a missing cell counting for no other",
}
"""Readings of a missing cell other than `equal`, in words."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassFigures:
    """Figures of some classes, one entry a class."""

    sizes: Longs  # Shape (C,); records of each class
    # Shape (C,); the figure of each class, in most cases keyed by confidential column
    figures: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # Of the columns looked at, values of the whole table that differ in typing only (`shoal.judges.variants`)
    variants: Mapping[str, int] = field(default_factory=dict)
    noun: str = "record"  # What sizes count

    @classmethod
    def joined(cls, parts: "Iterable[ClassFigures]", count: int) -> "ClassFigures":
        """Figures of all classes, `count` of them, from those of parts of them in order."""
        sizes = np.empty(count, dtype=np.int64)
        figures: dict[str, NDArray[Any]] = {}
        variants: Mapping[str, int] = {}
        end = 0
        for part in parts:
            variants = part.variants
            if not len(part.sizes):
                continue
            start, end = end, end + len(part.sizes)
            sizes[start:end] = part.sizes
            for name, figure in part.figures.items():
                if name not in figures:
                    figures[name] = np.empty(count, dtype=figure.dtype)
                figures[name][start:end] = figure
        return cls(sizes=sizes, figures=figures, variants=variants)

    @property
    def records(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassCounts:
    """Sizes of the classes of a table, which are all that some judges look at."""

    sizes: Longs  # Shape (C,); records of each class
    # Shape (C,); the sums of their sampling weights, all of which are above 0; None where the table has none
    weights: Floats | None = None
