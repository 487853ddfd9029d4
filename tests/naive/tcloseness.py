"""Slow, obvious twins of algorithms 1 to 3 of Soria-Comas et al. (2015)."""

import numpy as np

from naive import mdav


def merge(x, labels, excess, k=1, partner="nearest"):
    """Algorithm 1; `excess(members)` is above 0 for a group that must grow."""
    groups = [list(np.flatnonzero(labels == g)) for g in range(max(labels) + 1)]

    def need(members):
        return 1e9 + k - len(members) if len(members) < k else excess(members)

    while len(groups) > 1 and max(map(need, groups)) > 0:
        worst = int(np.argmax([need(g) for g in groups]))
        others = [g for g in range(len(groups)) if g != worst]
        far = {g: ((x[groups[g]].mean(axis=0) - x[groups[worst]].mean(axis=0)) ** 2).sum() for g in others}
        other = min(others, key=far.get)
        if partner == "farthest" and excess(groups[worst]) > 0:
            other = max(others, key=far.get)
        if partner == "cheapest" and excess(groups[worst]) > 0:
            prices = {g: price(x, groups[worst], groups[g], excess) for g in others}
            other = min(others, key=prices.get) if min(prices.values()) < np.inf else other
        groups[worst] = groups[worst] + groups[other]
        del groups[other]
    return groups


def price(x, g, h, excess):
    """The rise of the loss by uniting two groups, over the excess that this settles."""

    def loss(members):
        return ((x[members] - x[members].mean(axis=0)) ** 2).sum()

    def owed(members):
        return len(members) * max(excess(members), 0)

    settled = owed(g) + owed(h) - owed(g + h)
    return (loss(g + h) - loss(g) - loss(h)) / settled if settled > 1e-12 * (owed(g) + owed(h)) else np.inf


def k_anonymity_first(x, excess, k):
    """Algorithm 2, without the merging; means and distances as in MDAV's twin."""
    x = mdav.scaled(x)
    mean = mdav.ExactMean(x)
    left, groups = list(range(len(x))), []

    def generate(seed):
        if len(left) < 2 * k:
            return list(left)
        order = mdav.nearest(x, left, seed, len(left))
        group, candidates = order[:k], order[k:]
        while excess(group) > 0 and candidates:
            y = candidates.pop(0)
            tries = [[y if m == out else m for m in group] for out in group]
            best = min(tries, key=excess)
            if excess(best) < excess(group):
                group = best
        return group

    while left:
        first = mdav.farthest(x, left, mean.of(left))
        for seed in (first, None):
            if not left:
                break
            group = generate(mdav.farthest(x, left, x[first]) if seed is None else seed)
            groups.append(sorted(group))
            left = [i for i in left if i not in group]
    return groups
