"""Generalisation by looking at every node, and an Adult-like table with its hierarchies."""

from itertools import product

import numpy as np
import pandas as pd


def best_loss(rows, paths, k, limit):
    """Least mean NCP over all nodes; rows are tuples of leaves, paths[j][leaf] the labels from leaf to root."""
    heights = [len(next(iter(p.values()))) - 1 for p in paths]
    best = None
    for levels in product(*(range(h + 1) for h in heights)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        kept = [labels.count(label) >= k for label in labels]
        if kept.count(False) > limit * len(rows):
            continue
        loss = 0.0
        for label, keep in zip(labels, kept):
            for j, text in enumerate(label):
                under = sum(path[levels[j]] == text for path in paths[j].values())
                loss += (under - 1) / max(len(paths[j]) - 1, 1) if keep else 1.0
        loss /= len(rows) * len(paths)
        best = loss if best is None else min(best, loss)
    return best


def nested(leaves, widths):
    """Paths over numbered leaves: groups of consecutive leaves of growing width, then the root."""
    return {leaf: (leaf, *(f"{w}:{i // w}" for w in widths), "*") for i, leaf in enumerate(leaves)}


WIDTHS = {
    "age": [5, 10, 20, 40],
    "workclass": [2, 4],
    "education": [2, 4, 8],
    "marital": [2, 4],
    "occupation": [2, 6],
    "race": [2],
    "sex": [],
    "country": [5, 20],
}
SIZES = {"age": 74, "workclass": 8, "education": 16, "marital": 7, "occupation": 14, "race": 5, "sex": 2, "country": 41}


def adult_like(n, seed=0):
    """Columns, sizes and skewness as in the Adult table of the UCI collection; the values are generated."""
    g = np.random.default_rng(seed)
    frame, hierarchies = {}, {}
    common = g.normal(size=n)
    for name, size in SIZES.items():
        leaves = [f"{name[:2]}{i:02d}" for i in range(size)]
        steep = 3.0 if name in ("country", "race", "workclass") else 1.0
        score = np.abs(0.4 * common + g.normal(size=n)) ** steep
        place = np.minimum((score / np.quantile(score, 0.995) * size).astype(int), size - 1)
        frame[name] = np.array(leaves)[place]
        hierarchies[name] = nested(leaves, WIDTHS[name])
    return pd.DataFrame(frame), hierarchies
