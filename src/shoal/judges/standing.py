"""Uniqueness of records by some columns: class sizes, and the contribution of each column.

`shoal.exposure` and the studio look at a raw table by these figures. Missing cells are equal to each other and to
nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.judges.class_profile import SMALLEST
from shoal.kernels.arrays import Longs
from shoal.table.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShare:
    """Contribution of one column to the records that are singled out."""

    name: str
    spared: int  # Unique records that would not be unique without it
    alone: int  # Records that are unique by it alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """Class sizes on some columns, and the contribution of each."""

    sizes: Longs  # Shape (n,); number of records that agree with each one on all of the columns
    fewer_than: Mapping[int, int]  # For each k, the records whose class has fewer than k
    expected: float  # Expected number of right guesses, one among the equals of each record: the number of classes
    columns: tuple[ColumnShare, ...]  # Those that single out most come first


def standing(records: Records, columns: Sequence[str]) -> Standing:
    """The figures for one column or more."""
    sizes = records.classes(columns).of_record
    unique = unique_records(records, columns)
    shares = (
        ColumnShare(
            name=name,
            spared=unique - unique_records(records, [other for other in columns if other != name]),
            alone=unique_records(records, [name]),
        )
        for name in columns
    )
    return Standing(
        sizes=sizes,
        fewer_than={k: int((sizes < k).sum()) for k in SMALLEST},
        expected=float((1.0 / sizes).sum()),
        columns=tuple(sorted(shares, key=lambda share: (-share.spared, -share.alone))),
    )


def unique_records(records: Records, columns: Sequence[str]) -> int:
    """Number of records that are alone in their class; without columns all records are one class."""
    return int((records.class_sizes(columns) == 1).sum())
