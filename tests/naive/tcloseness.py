"""Slow, obvious twins of algorithms 1 to 3 of Soria-Comas et al. (2015)."""

import numpy as np


def merge(x, labels, excess, k=1):
    """Algorithm 1; `excess(members)` is above 0 for a group that must grow."""
    groups = [list(np.flatnonzero(labels == g)) for g in range(max(labels) + 1)]

    def need(members):
        return 1e9 + k - len(members) if len(members) < k else excess(members)

    while len(groups) > 1 and max(map(need, groups)) > 0:
        worst = int(np.argmax([need(g) for g in groups]))
        centres = np.array([x[g].mean(axis=0) for g in groups])
        far = ((centres - centres[worst]) ** 2).sum(axis=1)
        far[worst] = np.inf
        other = int(np.argmin(far))
        groups[worst] = groups[worst] + groups[other]
        del groups[other]
    return groups


def k_anonymity_first(x, excess, k):
    """Algorithm 2, without the merging."""
    left, groups = list(range(len(x))), []

    def farthest(point):
        return max(left, key=lambda i: (((x[i] - point) ** 2).sum(), -i))

    def generate(seed):
        if len(left) < 2 * k:
            return list(left)
        order = sorted(left, key=lambda i: (i != seed, ((x[i] - x[seed]) ** 2).sum(), i))
        group, candidates = order[:k], order[k:]
        while excess(group) > 0 and candidates:
            y = candidates.pop(0)
            tries = [[y if m == out else m for m in group] for out in group]
            best = min(tries, key=excess)
            if excess(best) < excess(group):
                group = best
        return group

    while left:
        first = farthest(x[left].mean(axis=0))
        for seed in (first, None):
            if not left:
                break
            group = generate(farthest(x[first]) if seed is None else seed)
            groups.append(sorted(group))
            left = [i for i in left if i not in group]
    return groups
