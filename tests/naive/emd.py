"""Slow, obvious twins of the EMD kernels, in exact fractions."""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def ordered(group, table):
    """EMD over the distinct values of `table`, straight from the definition."""
    bins = sorted(set(table))
    if len(bins) < 2:
        return Fraction(0)
    total = apart = Fraction(0)
    for value in bins:
        apart += Fraction(group.count(value), len(group)) - Fraction(table.count(value), len(table))
        total += abs(apart)
    return total / (len(bins) - 1)


def spread(group, table):
    """EMD over one bin a record; a tied value's mass lies evenly over its bins."""
    places = sorted(table)
    n = len(places)
    if n < 2:
        return Fraction(0)
    total = apart = Fraction(0)
    for value in places:
        apart += Fraction(group.count(value), len(group) * places.count(value)) - Fraction(1, n)
        total += abs(apart)
    return total / (n - 1)


def with_missing(group, table, distance):
    """Missing part and known part moved separately."""
    p, q = Fraction(group.count(None), len(group)), Fraction(table.count(None), len(table))
    known, of = [v for v in group if v is not None], [v for v in table if v is not None]
    return abs(p - q) + (min(1 - p, 1 - q) * distance(known, of) if known and of else 0)


def transport(p, q, cost):
    """EMD by linear programming, for any ground distance; shape (m,), (m,), (m, m)."""
    m = len(p)
    rows = np.zeros((2 * m, m * m))
    for i in range(m):
        rows[i, i * m : (i + 1) * m] = 1
        rows[m + i, i::m] = 1
    return linprog(cost.ravel(), A_eq=rows, b_eq=np.concatenate([p, q]), method="highs").fun
