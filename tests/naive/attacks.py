"""Predicates and Gower's distance, record by record and cell by cell."""

from itertools import combinations

import numpy as np

MISSING = -np.inf


def predicate_counts(cells, predicates, missing_matches):
    """For each predicate the records that satisfy all of its terms."""
    counts = []
    for q in range(len(predicates)):
        matches = 0
        for i in range(cells.shape[1]):
            satisfied = True
            for j, low, high, outside in zip(
                predicates.columns[q], predicates.low[q], predicates.high[q], predicates.outside[q]
            ):
                cell = cells[j, i]
                if cell == MISSING and missing_matches:
                    continue
                if outside:
                    satisfied &= cell != MISSING and not low <= cell <= high
                else:
                    satisfied &= low <= cell <= high
            matches += satisfied
        counts.append(matches)
    return counts


def gower(x, y, scale, missing):
    """The distance of two records."""
    total = 0.0
    for a, b, s in zip(x, y, scale):
        if a == MISSING or b == MISSING:
            total += {"equal": float(a != b), "wildcard": 0.0, "nothing": 1.0}[missing]
        else:
            total += abs(a - b) * s if s > 0 else float(a != b)
    return total


def chance_of_overlap(one, two, k):
    """The share of all ways to fill up two sets of k nearest in which they meet."""

    def ways(distances):
        end = sorted(distances)[k - 1]
        nearer = [i for i, d in enumerate(distances) if d < end]
        ties = [i for i, d in enumerate(distances) if d == end]
        return [{*nearer, *chosen} for chosen in combinations(ties, k - len(nearer))]

    pairs = [bool(a & b) for a in ways(one) for b in ways(two)]
    return sum(pairs) / len(pairs)
