"""Central moments and normal mixed moments, one at a time."""

from itertools import combinations_with_replacement

import numpy as np


def central_moment(x, indices):
    about = x - x.mean(axis=0)
    return np.prod([about[:, j] for j in indices], axis=0).mean()


def all_central_moments(x, order):
    return [central_moment(x, indices) for indices in combinations_with_replacement(range(x.shape[1]), order)]


def normal_moment(mean, covariance, indices):
    """E of the product of (X_i - 0) for X normal, by Isserlis' theorem on X = mean + e."""
    indices = list(indices)
    if not indices:
        return 1.0
    i, rest = indices[0], indices[1:]
    total = mean[i] * normal_moment(mean, covariance, rest)
    for place, j in enumerate(rest):
        total += covariance[i, j] * normal_moment(mean, covariance, rest[:place] + rest[place + 1 :])
    return total
