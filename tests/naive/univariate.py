"""The least within-group sum of squares by trying every partition, in exact arithmetic."""

from fractions import Fraction


def loss(values):
    exact = [Fraction(v) for v in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return sum((v - mean) ** 2 for v in exact)


def partitions(items, k):
    """Every way to divide distinct items into groups of k or more."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for chosen in range(2 ** len(rest)):
        group = [first, *(v for b, v in enumerate(rest) if chosen >> b & 1)]
        if len(group) >= k:
            for others in partitions([v for b, v in enumerate(rest) if not chosen >> b & 1], k):
                yield [group, *others]


def least_loss(values, k):
    """Over all partitions into groups of k or more, runs or not."""
    known = {}

    def of(group):
        if group not in known:
            known[group] = loss([values[i] for i in group])
        return known[group]

    return min(sum(of(tuple(group)) for group in division) for division in partitions(list(range(len(values))), k))


def least_loss_of_runs(values, k):
    """Over all cuts of the sorted values into runs of k or more, of any length."""
    ordered = sorted(values)
    best = [Fraction(0)] + [None] * len(ordered)
    for j in range(k, len(ordered) + 1):
        best[j] = min(best[i] + loss(ordered[i:j]) for i in range(j - k + 1) if best[i] is not None)
    return best[len(ordered)]
