"""What there is to see of the classes of a table, in a form in which parts of a table add up.

Judges that ask something of every class by itself *look* at classes and *conclude* from what they saw in all of them. A
table too large to be looked at whole is shown to them part by part, each class whole in one part, so that one code
judges tables of every size.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.records import MissingCells, Records
from shoal.kernels.arrays import Floats, Longs

MATCHING = "records that a record may stand for"
"""What is counted in each class beside its records, where a missing cell is not only matched by a missing one."""

MEANING = {
    "wildcard": "a missing cell matching every value",
    "nothing": "records with a missing cell counting for no other",
}
"""Such readings of a missing cell, in words."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassFigures:
    """What a judge saw of some classes.

    Parameters
    ----------
    sizes
        Shape (C,); records of each class.
    figures
        By what is looked at, mostly a confidential column: shape (C,), the figure of each class.
    variants
        Of the columns looked at, values of the whole table that differ in typing only (`shoal.judges.variants`).
    """

    sizes: Longs
    figures: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    variants: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: "Iterable[ClassFigures]", count: int) -> "ClassFigures":
        """What was seen of all classes, so many, from what was seen of parts of them one after the other."""
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


def figures_of_matching(released: Records, names: Sequence[str], missing: MissingCells) -> ClassFigures:
    """The classes on some columns, and how many records those of each may stand for, where these are not the class."""
    if missing == "equal":
        return ClassFigures(sizes=released.class_sizes(names))
    classes = released.classes(names)
    matching = np.empty(len(classes.sizes), dtype=np.int64)
    matching[classes.ids] = released.matching(names, missing)
    return ClassFigures(sizes=classes.sizes, figures={MATCHING: matching})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassCounts:
    """How many records the classes of a table hold, which is all that some judges look at.

    Parameters
    ----------
    sizes
        Shape (C,); records of each class.
    weights
        Shape (C,); the sums of their sampling weights, all of which are above 0; None where the table has none.
    """

    sizes: Longs
    weights: Floats | None = None
