"""Model-based hierarchical agglomeration (`native/mixture/agglomeration.cpp`)."""

import numpy as np
from numpy.typing import ArrayLike

import shoal.kernels._native as _native
from shoal.kernels.arrays import Ints, Progress, floats


def agglomeration(x: ArrayLike, progress: Progress = None) -> Ints:
    """Merge records one pair of classes at a time by the normal classification likelihood.

    Parameters
    ----------
    x
        Shape (n, d), n >= 1, centred with unit covariance matrix. Memory is 4 n^2 bytes.

    Returns
    -------
    Shape (n - 1, 2); the rows that name the two classes merged at each stage, the lower one first: it names
    the union from then on.

    Notes
    -----
    Fraley & Raftery (2002), unconstrained covariances. Ties go to the lowest rows.
    """
    merges: Ints = _native.agglomeration(floats(x), progress)
    return merges


def cut(merges: Ints, groups: int) -> Ints:
    """Shape (n,); class of each record, numbered by lowest row, when `groups` classes are left."""
    n = len(merges) + 1
    name = np.arange(n)
    for keep, merged in merges[: n - groups][::-1]:  # backwards: a row's final name is known before its members ask
        name[merged] = name[keep]
    return np.unique(name, return_inverse=True)[1].astype(np.int32)
