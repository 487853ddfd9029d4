"""Assignment to groups by score with a smallest size (`native/partition/bounded_assignment.cpp`)."""

from numpy.typing import ArrayLike

import shoal.kernels._native as _native
from shoal.kernels.arrays import Ints, Progress, floats


def bounded_assignment(score: ArrayLike, least: int, progress: Progress = None) -> Ints:
    """The assignment with the greatest total score in which every group holds at least `least` records.

    Parameters
    ----------
    score
        Shape (n, G), finite; what it is worth to have record i in group g.
    least
        Smallest size of a group, least * G <= n.

    Returns
    -------
    Shape (n,); group number of each record.

    Notes
    -----
    Exact: successive shortest paths. Where no group is short, each record is in its best group (the first of
    equals).
    """
    labels: Ints = _native.bounded_assignment(floats(score), least, progress)
    return labels
