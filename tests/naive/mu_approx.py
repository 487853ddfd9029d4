"""The forest of mu-Approx by the definition: trees as sets, every distance anew."""

import numpy as np

from naive.mdav import distances, scaled


def forest(x, k):
    x = scaled(np.asarray(x, float))
    n = len(x)
    tree = [{i} for i in range(n)]  # the tree of each record; records of one tree share the set
    edge = np.full(n, -1)
    for row in range(n):
        while len(tree[row]) < k:
            (u,) = (v for v in tree[row] if edge[v] < 0)
            d2 = distances(x, x[u])
            edge[u] = min((v for v in range(n) if v not in tree[u]), key=lambda v: (d2[v], v))
            tree[u] |= tree[edge[u]]
            for v in tree[u]:
                tree[v] = tree[u]
    return edge
