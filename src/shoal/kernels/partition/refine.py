"""Refinement of a partition by descent and annealing (native/partition/refine.cpp)."""

from typing import NamedTuple

import numpy as np

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Longs, Progress, floats, ints


class Refinement(NamedTuple):
    """What a refinement found.

    Parameters
    ----------
    labels
        Shape (n,); group numbers, with gaps.
    start, descended, loss
        Within-group sum of squares at the start, after the first descent and at the end.
    moves
        Proposals made while annealing.
    members, ends
        Distinct groups met, one after the other: group g is `members[ends[g - 1]:ends[g]]`, ascending.
    """

    labels: Ints
    start: float
    descended: float
    loss: float
    moves: int
    members: Ints
    ends: Longs


def refine(
    x: Floats,
    weights: Floats | None,
    labels: Ints,
    near: Ints,
    k: int,
    *,
    seed: int,
    moves: int,
    keep: int = 0,
    progress: Progress = None,
) -> Refinement:
    """Lower the within-group sum of squares of a partition into groups of `k` or more.

    Parameters
    ----------
    x
        Shape (n, d), finite, d >= 1, n >= 2.
    weights
        Shape (n,), at least 0; None counts every record once.
    labels
        Shape (n,); the partition to start from, every group of `k` or more.
    near
        Shape (n, m), m >= 1; candidates (`shoal.kernels.neighbours.candidates`).
    moves
        Proposals to make while annealing.
    keep
        Largest number of distinct groups to collect on the way.
    """
    refined, losses, made, members, ends = _native.refine(
        floats(x), _weights(x, weights), ints(labels), ints(near), k, moves, keep, seed, progress
    )
    start, descended, loss = (float(value) for value in losses)
    return Refinement(refined, start, descended, loss, int(made), members, ends)


def partition_loss(x: Floats, weights: Floats | None, labels: Ints) -> float:
    """Within-group sum of squares, about exact means, in a compensated sum over groups."""
    if not x.size:
        return 0.0
    return float(_native.partition_loss(floats(x), _weights(x, weights), ints(labels)))


def _weights(x: Floats, weights: Floats | None) -> Floats:
    return np.ones(len(x)) if weights is None else floats(weights)
