"""MDAV by the definition: rational means, distances column by column, sorting for every question."""

import math
from fractions import Fraction

import numpy as np


def scaled(x):
    """Times the power of two that brings the largest magnitude into [1/2, 1)."""
    largest = np.abs(x).max(initial=0.0)
    return np.ldexp(x, -math.frexp(largest)[1]) + 0.0


def distances(x, q):
    total = np.zeros(len(x))
    for j in range(x.shape[1]):
        total += (x[:, j] - q[j]) ** 2
    return total


class ExactMean:
    """Column means of values rounded to multiples of 2^(e - 90), 2^e above the column, each rounded once."""

    def __init__(self, x):
        largest = np.abs(x).max(axis=0, initial=0.0)
        self.unit = [Fraction(2) ** (max(math.frexp(v)[1], -900) - 90) for v in largest]
        self.fixed = [[round(Fraction(v) / u) for v, u in zip(row, self.unit)] for row in x.tolist()]

    def of(self, rows):
        sums = [sum(column) for column in zip(*(self.fixed[i] for i in rows))]
        return np.array([float(s * u / len(rows)) for s, u in zip(sums, self.unit)])


def farthest(x, rows, q):
    d2 = distances(x[rows], q)
    return min(rows, key=dict(zip(rows, zip(-d2, rows))).get)


def nearest(x, rows, seed, k):
    others = [i for i in rows if i != seed]
    d2 = dict(zip(others, distances(x[others], x[seed])))
    return [seed, *sorted(others, key=lambda i: (d2[i], i))[: k - 1]]


def mdav(x, k):
    x = scaled(np.asarray(x, float))
    mean = ExactMean(x)
    labels = np.full(len(x), -1)
    left = list(range(len(x)))
    groups = 0

    def group_around(seed):
        nonlocal groups, left
        members = nearest(x, left, seed, k)
        labels[members] = groups
        left = [i for i in left if labels[i] < 0]
        groups += 1

    while len(left) >= 3 * k:
        r = farthest(x, left, mean.of(left))
        group_around(r)
        group_around(farthest(x, left, x[r]))
    if len(left) >= 2 * k:
        group_around(farthest(x, left, mean.of(left)))
    labels[left] = groups
    return labels
