"""V-MDAV by the definition: every distance anew at every step."""

import math

import numpy as np

from naive.mdav import ExactMean, distances, farthest, nearest, scaled


def vmdav(x, k, gamma):
    x = scaled(np.asarray(x, float))
    n = len(x)
    labels = np.full(n, -1)
    if n < k:
        return np.zeros(n, int)
    mean = ExactMean(x)
    centre = mean.of(range(n))
    left = list(range(n))
    groups = []
    while len(left) >= k:
        members = nearest(x, left, farthest(x, left, centre), k)
        left = [i for i in left if i not in members]
        while gamma > 0 and len(members) < 2 * k - 1 and left:
            d_in, new = min((distances(x[[i]], x[m])[0], i) for i in left for m in members)
            d_out = min((distances(x[[i]], x[new])[0] for i in left if i != new), default=math.inf)
            if not d_in < gamma * gamma * d_out:
                break
            members.append(new)
            left.remove(new)
        labels[members] = len(groups)
        groups.append(members)
    centres = np.array([mean.of(members) for members in groups])
    for i in left:
        labels[i] = np.argmin(distances(centres, x[i]))
    return labels
