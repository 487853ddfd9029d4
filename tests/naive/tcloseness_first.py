"""Algorithm 3 of Soria-Comas et al. (2015), line by line, given the strata."""

import numpy as np

from naive.mdav import ExactMean, distances, farthest, scaled


def central_strata(confidential, k):
    """Strata 0 to k - 1 by rank, the n mod k extras in the central one (k odd) or two (k even), later one first."""
    n = len(confidential)
    sizes = np.full(k, n // k)
    extras = n % k
    if k % 2:
        sizes[k // 2] += extras
    else:
        sizes[k // 2] += extras - extras // 2
        sizes[k // 2 - 1] += extras // 2
    strata = np.empty(n, int)
    strata[np.argsort(confidential, kind="stable")] = np.repeat(np.arange(k), sizes)
    return strata


def tcloseness_first(x, strata, k):
    x = scaled(np.asarray(x, float))
    mean = ExactMean(x)
    S = [np.flatnonzero(strata == i).tolist() for i in range(k)]
    X = list(range(len(x)))
    labels = np.full(len(x), -1)
    clusters = 0

    def closest(x0, rows):
        d2 = dict(zip(rows, distances(x[rows], x[x0])))
        return min(rows, key=lambda i: (i != x0, d2[i], i))

    def cluster_around(x0):
        nonlocal clusters
        C = []
        for i in range(1, k + 1):
            for second in (False, True):
                if second and not (len(S[i - 1]) > len(S[0]) and len(C) == i):
                    continue
                y = closest(x0, S[i - 1])
                C.append(y)
                S[i - 1].remove(y)
                X.remove(y)
        labels[C] = clusters
        clusters += 1

    while X:
        x0 = farthest(x, X, mean.of(X))
        cluster_around(x0)
        if X:
            cluster_around(farthest(x, X, x[x0]))
    return labels
