"""Fuzzy c-means and entropy fuzzy c-means, one step at a time (`native/partition/fuzzy.cpp`)."""

from typing import Literal

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats, ints

Rule = Literal["power", "entropy"]
"""Memberships |x - v|^(-2/(m-1)) (fuzzy c-means) or exp(-lambda |x - v|^2) (entropy fuzzy c-means)."""

COINCIDENT = 1e-290
"""A squared distance below this is that of a record on a centre (`kCoincident` in the kernel)."""


def fuzzy_step(
    x: Floats, centres: Floats, rule: Rule, parameter: float, *, simd: bool = True, progress: Progress = None
) -> tuple[Floats, float]:
    """The centres that are best for the memberships which given centres cause.

    Parameters
    ----------
    x
        Shape (n, d), finite.
    centres
        Shape (c, d), finite.
    parameter
        m > 1 for the power rule, lambda > 0 for the entropy rule.
    simd
        Use the processor's vector unit where it has one. The result is the same.

    Returns
    -------
    Shape (c, d), the weighted means (a centre no record has weight for stays), and the objective at the centres
    that came in.

    Notes
    -----
    O(n c d) time, O(c d) memory.
    """
    means, objective = _native.fuzzy_step(floats(x), floats(centres), parameter, rule == "entropy", simd, progress)
    return means, float(objective)


def fuzzy_memberships(x: Floats, centres: Floats, rule: Rule, parameter: float, *, simd: bool = True) -> Floats:
    """Shape (n, c); memberships of records in centres, summing to 1 for each record."""
    u: Floats = _native.fuzzy_memberships(floats(x), floats(centres), parameter, rule == "entropy", simd)
    return u


def fuzzy_draw(
    x: Floats, centres: Floats, rule: Rule, parameter: float, seed: int, *, simd: bool = True, progress: Progress = None
) -> tuple[Ints, Floats]:
    """Draw a centre for each record with the probabilities of its memberships.

    Returns
    -------
    Shape (n,), the number of the centre drawn, and shape (c,), the expected sizes.
    """
    labels, expected = _native.fuzzy_draw(
        floats(x), floats(centres), parameter, rule == "entropy", seed, simd, progress
    )
    return labels, expected


def fuzzy_fill(
    x: Floats, centres: Floats, rule: Rule, parameter: float, labels: Ints, least: int, progress: Progress = None
) -> Ints:
    """Bring every group to at least `least` records, c * least <= n.

    Short groups take, one after the other, the records that lose least log-membership by coming, from groups that
    can spare one.
    """
    filled: Ints = _native.fuzzy_fill(
        floats(x), floats(centres), parameter, rule == "entropy", ints(labels), least, progress
    )
    return filled
