"""Refinement by the definition: every change priced by computing the whole loss again."""

from itertools import combinations

import numpy as np


def loss(x, labels, weights=None):
    weights = np.ones(len(x)) if weights is None else weights
    total = 0.0
    for g in np.unique(labels):
        rows, w = x[labels == g], weights[labels == g]
        centre = np.average(rows, axis=0, weights=w) if w.sum() > 0 else rows.mean(axis=0)
        total += float((w[:, None] * (rows - centre) ** 2).sum())
    return total


def improving_change(x, labels, k, weights=None):
    """A relocation or exchange that lowers the loss, or None: what a finished descent must not leave."""
    now = loss(x, labels, weights)
    least = 1e-9 * now + 1e-24 * float((x**2).sum()) + 1e-300  # less comes of rounding the centres
    for i in range(len(x)):
        for g in np.unique(labels):
            if g != labels[i] and (labels == labels[i]).sum() > k:
                other = labels.copy()
                other[i] = g
                if loss(x, other, weights) < now - least:
                    return "relocate", i, g
    for i, j in combinations(range(len(x)), 2):
        other = labels.copy()
        other[[i, j]] = other[[j, i]]
        if loss(x, other, weights) < now - least:
            return "exchange", i, j
    return None


def best_loss(x, k, weights=None):
    """The least loss over all partitions into groups of k or more."""
    n = len(x)
    best = {0: 0.0}

    def least(rest):
        if rest not in best:
            members = [i for i in range(n) if rest >> i & 1]
            first, others = members[0], members[1:]
            least_loss = np.inf
            for size in range(k, min(2 * k - 1, len(members)) + 1):
                for chosen in combinations(others, size - 1):
                    group = [first, *chosen]
                    left = rest & ~sum(1 << i for i in group)
                    if 0 < left.bit_count() < k:
                        continue
                    own = x[group], np.zeros(size), None if weights is None else weights[group]
                    least_loss = min(least_loss, loss(*own) + least(left))
            best[rest] = least_loss
        return best[rest]

    return least((1 << n) - 1)
