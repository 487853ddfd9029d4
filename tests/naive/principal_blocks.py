"""Halving at medians of the first principal component, by an eigendecomposition of all records."""

import numpy as np


def principal_blocks(x, smallest):
    blocks = []

    def cut(rows):
        if len(rows) < 2 * smallest:
            blocks.append(rows)
            return
        centred = x[rows] - x[rows].mean(axis=0)
        direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        order = rows[np.argsort(centred @ direction, kind="stable")]
        cut(np.sort(order[: len(rows) // 2]))
        cut(np.sort(order[len(rows) // 2 :]))

    cut(np.arange(len(x)))
    return {frozenset(block.tolist()) for block in blocks}
