"""Uniqueness of records by some columns: class sizes, and the contribution of each column.

`shoal.exposure` and the studio look at a raw table by these figures. Missing cells are equal to each other and to
nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.judges.class_profile import SMALLEST
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

    fewer_than: Mapping[int, int]  # For each k, the records whose class has fewer than k
    expected: float  # Expected number of right guesses, one among the equals of each record: the number of classes
    columns: tuple[ColumnShare, ...]  # Those that single out most come first


def standing(records: Records, columns: Sequence[str]) -> Standing:
    """The figures for one column or more."""
    sizes, without = records.class_sizes(columns), [int(len(records) == 1)]
    if len(columns) > 1:
        sizes, without = records.alone_without(columns)
    unique = int((sizes == 1).sum())
    alone = [int((records.class_sizes([name]) == 1).sum()) for name in columns]
    shares = (
        ColumnShare(name=name, spared=unique - others, alone=own) for name, others, own in zip(columns, without, alone)
    )
    return Standing(
        fewer_than={k: int(sizes[sizes < k].sum()) for k in SMALLEST},
        expected=float(len(sizes)),
        columns=tuple(sorted(shares, key=lambda share: (-share.spared, -share.alone))),
    )
