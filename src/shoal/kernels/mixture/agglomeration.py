"""Model-based hierarchical agglomeration (native/mixture/agglomeration.cpp)."""

import numpy as np

from shoal.kernels._native import agglomeration
from shoal.kernels.arrays import Ints


def cut(merges: Ints, groups: int) -> Ints:
    """Shape (n,); class of each record, numbered by lowest row, when `groups` classes are left."""
    n = len(merges) + 1
    name = np.arange(n)
    for keep, merged in merges[: n - groups][::-1]:  # backwards: a row's final name is known before its members ask
        name[merged] = name[keep]
    return np.unique(name, return_inverse=True)[1].astype(np.int32)
