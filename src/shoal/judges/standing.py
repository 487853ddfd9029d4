"""How far some columns single out the records of one table: the sizes of their classes, and what each column adds.

`shoal.exposure` and the studio look at a raw table by these figures. Missing cells are equal to each other and to
nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.records import Records
from shoal.judges.class_profile import SMALLEST
from shoal.kernels.arrays import Longs


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one column adds to what others single out.

    Parameters
    ----------
    spared
        Unique records that would not be unique without it.
    alone
        Records that are unique by it alone.
    """

    name: str
    spared: int
    alone: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """How records stand by some columns.

    Parameters
    ----------
    sizes
        Shape (n,); how many records agree with each one on all of the columns.
    fewer_than
        For each k, the records whose class has fewer than k.
    expected
        How many would be picked out by guessing among the equals of each: the number of classes.
    columns
        Those that single out most come first.
    """

    sizes: Longs
    fewer_than: Mapping[int, int]
    expected: float
    columns: tuple[Share, ...]


def standing(records: Records, columns: Sequence[str]) -> Standing:
    """The figures of at least one column."""
    sizes = class_sizes(records, columns)
    unique = int((sizes == 1).sum())
    shares = (
        Share(name=name, spared=unique - _unique(records, [c for c in columns if c != name]), alone=alone)
        for name in columns
        for alone in (_unique(records, [name]),)
    )
    return Standing(
        sizes=sizes,
        fewer_than={k: int((sizes < k).sum()) for k in SMALLEST},
        expected=float((1.0 / sizes).sum()),
        columns=tuple(sorted(shares, key=lambda share: (-share.spared, -share.alone))),
    )


def class_sizes(records: Records, columns: Sequence[str]) -> Longs:
    """Shape (n,); the size of each record's class. Without columns all records are one class."""
    return records.classes(columns).of_record if columns else np.full(len(records), len(records), dtype=np.int64)


def _unique(records: Records, columns: Sequence[str]) -> int:
    """Records that are alone by some columns; who is alone by some of them is so by all."""
    return int((class_sizes(records, columns) == 1).sum())
