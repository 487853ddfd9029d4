"""Groups that keep of each piece the least that a member has, written out for a handful of members."""

from itertools import product


def least(x, group):
    return [min(x[i][j] for i in group) for j in range(len(x[0]))]


def kept(x, groups):
    """What all members of all groups keep together."""
    return sum(len(group) * sum(least(x, group)) for group in groups)


def begun(x, k):
    """From whoever has most; then who shares most beside what is that member's own; the rest where most is kept."""
    left, groups = list(range(len(x))), []
    if len(left) < k:
        return [left] if left else []
    while len(left) >= k:
        group = [max(left, key=lambda i: (sum(x[i]), -i))]
        left.remove(group[0])
        while len(group) < k:
            shared = least(x, group)
            score = {i: 2 * sum(map(min, shared, x[i])) - sum(x[i]) for i in left}
            chosen = max(left, key=lambda i: (score[i], -i))
            group.append(chosen)
            left.remove(chosen)
        groups.append(group)
    for i in left:
        gains = [kept(x, [[*group, i]]) - kept(x, [group]) for group in groups]
        groups[gains.index(max(gains))].append(i)
    return groups


def better(x, groups, k):
    """True if some member may move, or two may change places, so that more is kept."""
    before = kept(x, groups)
    for a, b in product(range(len(groups)), repeat=2):
        rest = [group for g, group in enumerate(groups) if g not in (a, b)]
        for i in groups[a] if a != b else ():
            without = [m for m in groups[a] if m != i]
            if len(without) >= k and kept(x, [*rest, without, [*groups[b], i]]) > before:
                return True
            for q in groups[b]:
                exchanged = [[*without, q], [*(m for m in groups[b] if m != q), i]]
                if kept(x, [*rest, *exchanged]) > before:
                    return True
    return False
