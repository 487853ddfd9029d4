"""Minimal sample uniques by trying every set of columns for every record."""

from itertools import combinations
from math import factorial

import numpy as np


def minimal_sample_uniques(codes, most):
    """All (row, columns) where the row is unique on the columns and on no proper subset of them."""
    n, d = codes.shape
    uniques = []
    for row in range(n):
        minimal = []
        for size in range(1, min(most, d) + 1):
            for columns in combinations(range(d), size):
                if any(set(smaller) <= set(columns) for smaller in minimal):
                    continue
                same = (codes[:, columns] == codes[row, columns]).all(axis=1).sum()
                if same == 1 and n > 1:
                    minimal.append(columns)
        uniques += [(row, columns) for columns in minimal]
    return uniques


def scores(codes, most):
    n, d = codes.shape
    score, by_column, sizes = np.zeros(n), np.zeros(d), np.zeros(min(most, d), dtype=int)
    for row, columns in minimal_sample_uniques(codes, most):
        weight = factorial(d - len(columns))
        score[row] += weight
        by_column[list(columns)] += weight
        sizes[len(columns) - 1] += 1
    return score, by_column, sizes
