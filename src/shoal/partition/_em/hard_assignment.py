"""From posterior probabilities to groups that hold k records each."""

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.partition import bounded_assignment
from shoal.vocabulary.facts import ByLabel


def hold_sizes(score: Floats, k: int) -> tuple[Ints, ByLabel]:
    """Assign each record to its best group, subject to k records a group, and tell what that took.

    `score`: shape (n, G); log of the posterior probability of each group, up to a constant of the record. Returns shape
    (n,) and facts: how many groups were short, how many records moved, what it cost.
    """
    labels = bounded_assignment(score, k)
    free = score.argmax(axis=1)
    sizes = np.bincount(free, minlength=score.shape[1])
    moved = labels != free
    lost = score[moved, free[moved]] - score[moved, labels[moved]]
    facts = {
        "groups short of k before": int((sizes < k).sum()),
        "smallest before": int(sizes.min()),
        "records moved": int(moved.sum()),
        "log posterior lost": float(lost.sum()),
    }
    return labels, facts
