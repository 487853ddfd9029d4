"""The forest of mu-Approx by the definition: whole trees compared at every step."""

import numpy as np


def forest(x, k):
    n = len(x)
    edge = np.full(n, -1)
    trees = [{i} for i in range(n)]
    for i in range(n):
        while len(tree := next(t for t in trees if i in t)) < k:
            (root,) = (v for v in tree if edge[v] < 0)
            outside = [v for v in range(n) if v not in tree]
            edge[root] = min(outside, key=lambda v: ((x[root] - x[v]) ** 2).sum())
            other = next(t for t in trees if edge[root] in t)
            other |= tree
            trees.remove(tree)
    return edge
