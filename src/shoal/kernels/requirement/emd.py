"""Earth mover's distance of groups of records from their table (native/requirement/emd.hpp, emd.cpp)."""

from typing import Any, Literal, get_args

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, ints, longs

Table = Any
"""A distribution of one column, made by `ordered`, `spread` or `tree`."""

Requirement = Any
"""What groups must satisfy in one column, made by `close`, `diverse`, `alike` or `undisclosed`."""

Kind = Literal["distinct", "entropy", "recursive"]
"""Kinds of l-diversity, in the order of the kernel's numbers."""


def ordered(counts: Longs, missing: int = 0) -> Table:
    """The distribution of m ordered bins; neighbouring bins are 1 / (m - 1) apart.

    Parameters
    ----------
    counts
        Shape (m,); records in each bin.
    missing
        Records without a value. A missing value is at distance 1 from every value.
    """
    places = np.arange(len(counts), dtype=np.int64)
    return _native.Ordered(longs(counts), places, missing, max(len(counts) - 1, 0))


def spread(counts: Longs, missing: int = 0) -> Table:
    """As `ordered`, but over one place for each record: a tied value's mass is spread over its places."""
    return _native.Spread(longs(counts), missing)


def tree(counts: Longs, nodes: Ints) -> Table:
    """The distribution of the m leaves of a tree; leaves are level of nearest common ancestor / height apart.

    Parameters
    ----------
    counts
        Shape (m,).
    nodes
        Shape (height, m); number of the node above each leaf at level 1, 2, ... up to the root. Every node
        owns neighbouring leaves.
    """
    return _native.Taxonomy(longs(counts), ints(nodes))


def distances(table: Table, bins: Ints, groups: Longs, m: int, count: int) -> Floats:
    """Distance of every group's values from the table's.

    Parameters
    ----------
    bins
        Shape (n,); bin of each record, 0 to m - 1, or -1 for a missing value.
    groups
        Shape (n,); group of each record, 0 to count - 1.

    Returns
    -------
    Shape (count,); 0 to 1.

    Notes
    -----
    O(n + m + count): Li, Li & Venkatasubramanian (2007), section 5, with a group's cost proportional to its
    size. Ordered and tree distances are exact in whole numbers and rounded once.
    """
    apart: Floats = _native.distances(table, ints(bins), longs(groups), m, count)
    return apart


def distances_within(bins: Ints, groups: Longs, inside: Longs, nodes: Ints, sets: int) -> Floats:
    """Distance of every group from the set of records that it is a part of.

    Parameters
    ----------
    inside
        Shape (count,); set of each group, 0 to sets - 1.
    nodes
        Shape (height, m) as for `tree`; height 0 for m ordered bins.

    Returns
    -------
    Shape (count,). Bins are as far apart as in the whole table, whichever of them the set holds.
    """
    apart: Floats = _native.distances_within(ints(bins), longs(groups), longs(inside), ints(nodes), sets)
    return apart


def swap_distances(table: Table, bins: Ints, out: int, into: int) -> tuple[float, float]:
    """Distance of one group before and after its member number `out` gives way to a record in bin `into`.

    Parameters
    ----------
    bins
        Shape (c,), ascending.
    """
    before, after = _native.swap_distances(table, ints(bins), out, into)
    return before, after


def close(table: Table, t: float) -> Requirement:
    """The requirement that a group's distance from the table is at most t."""
    return _native.Close(table, t)


def diverse(kind: Kind, l: float, c: float = 1.0) -> Requirement:  # noqa: E741 - the name the model has
    """The requirement of l-diversity: "distinct", "entropy" or "recursive" (with its c)."""
    return _native.Diverse(get_args(Kind).index(kind), l, c)


def alike(counts: Longs, beta: float, enhanced: bool) -> Requirement:
    """The requirement of beta-likeness to a column with `counts` records in each of its m bins."""
    return _native.Alike(longs(counts), beta, enhanced)


def undisclosed(counts: Longs, delta: float) -> Requirement:
    """The requirement of delta-disclosure privacy in a column with `counts` records in each of its m bins."""
    return _native.Undisclosed(longs(counts), delta)


def excesses(requirement: Requirement, bins: Ints, groups: Longs, m: int, count: int) -> Floats:
    """By how much every group exceeds a requirement; shape (count,), at most 0 where it is satisfied."""
    excess: Floats = _native.excesses(requirement, ints(bins), longs(groups), m, count)
    return excess
