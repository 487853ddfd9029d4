"""Partitions whose groups must satisfy requirements (native/requirement/merge_groups.cpp, k_anonymity_first.cpp,
refine_tcloseness.cpp)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats, ints
from shoal.kernels.requirement.emd import Requirement


class RequirementCheck(NamedTuple):
    """What every group must satisfy.

    Parameters
    ----------
    bins
        Shape (columns, n); bins of the records in each confidential column.
    requirements
        One a column (see `shoal.kernels.requirement.emd`). A group's excess is its largest over the columns.
    """

    bins: Ints
    requirements: Sequence[Requirement]


Partner = Literal["nearest", "cheapest", "farthest"]
PARTNERS: tuple[Partner, ...] = ("nearest", "cheapest", "farthest")


def merge_groups(
    x: Floats, check: RequirementCheck, labels: Ints, k: int, progress: Progress = None, *, partner: Partner = "nearest"
) -> tuple[Ints, int]:
    """Merge groups until each has `k` records and no excess, or a single one is left.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    labels
        Shape (n,); the partition to start from.
    partner
        The group that one with an excess is merged with: that of the nearest centroid; the one that costs least
        within-group sum of squares for the excess it settles; or that of the farthest centroid.

    Returns
    -------
    Group of each record, shape (n,), and the number of merges.

    Notes
    -----
    Soria-Comas et al. (2015), Algorithm 1: the group with the greatest excess and the one whose centroid is
    nearest. Ties go to the lowest group number.
    """
    merged, merges = _native.merge_groups(
        floats(x), ints(check.bins), list(check.requirements), ints(labels), k, PARTNERS.index(partner), progress
    )
    return merged, merges


def k_anonymity_first(x: Floats, check: RequirementCheck, k: int, progress: Progress = None) -> Ints:
    """Group records around far-out seeds and swap records in until each group has no excess, where that is possible.

    Returns
    -------
    Shape (n,); group of each record. All groups have `k` records but the last, which has `k` to 2k - 1; some
    may have an excess.

    Notes
    -----
    Soria-Comas et al. (2015), Algorithm 2. Ties go to the nearer member, then to the lower row.
    """
    labels: Ints = _native.k_anonymity_first(floats(x), ints(check.bins), list(check.requirements), k, progress)
    return labels


def repair(x: Floats, check: RequirementCheck, labels: Ints, near: Ints, progress: Progress = None) -> tuple[Ints, int]:
    """Exchange records between groups, sizes unchanged, until no group has an excess or no exchange helps.

    Parameters
    ----------
    near
        Shape (n, m), m >= 1; candidates that are tried first (`shoal.kernels.neighbours.candidates`).

    Returns
    -------
    Group of each record, shape (n,), and the number of exchanges.
    """
    repaired, exchanges = _native.repair_tcloseness(
        floats(x), ints(check.bins), list(check.requirements), ints(labels), ints(near), progress
    )
    return repaired, exchanges


class Refinement(NamedTuple):
    """What a refinement found.

    Parameters
    ----------
    labels
        Shape (n,); group numbers, with gaps. The start where nothing without excess was found.
    satisfied
        Whether a partition without excess was found.
    moves
        Proposals made.
    """

    labels: Ints
    satisfied: bool
    moves: int


def refine(
    x: Floats,
    check: RequirementCheck,
    labels: Ints,
    near: Ints,
    k: int,
    *,
    seed: int,
    moves: int,
    progress: Progress = None,
) -> Refinement:
    """Lower the within-group sum of squares, keeping groups of `k` or more and ending without excess.

    Parameters
    ----------
    labels
        Shape (n,); the partition to start from, every group of `k` or more; it may have an excess.
    moves
        Proposals to make.
    """
    return Refinement(
        *_native.refine_tcloseness(
            floats(x), ints(check.bins), list(check.requirements), ints(labels), ints(near), k, moves, seed, progress
        )
    )
