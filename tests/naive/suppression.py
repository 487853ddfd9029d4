"""Counting and suppressing cells, written out for a handful of records."""

from itertools import chain, combinations, product


def compatible(a, b):
    return all(x == y or x < 0 or y < 0 for x, y in zip(a, b))


def matching(rows, missing="wildcard"):
    """For each record the number of records it may stand for, itself included."""
    if missing == "equal":
        return [sum(tuple(a) == tuple(b) for b in rows) for a in rows]
    if missing == "wildcard":
        return [sum(compatible(a, b) for b in rows) for a in rows]
    whole = [all(x >= 0 for x in row) for row in rows]
    return [sum(i == j or (whole[j] and compatible(a, b)) for j, b in enumerate(rows)) for i, a in enumerate(rows)]


def subsets(keys):
    return chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))


def blanked(row, chosen):
    return tuple(-1 if j in chosen else x for j, x in enumerate(row))


def allowed_sets(rows, k):
    """Under the default rule: nothing for a record that is safe, else nothing or a minimal set that makes it safe."""
    q = len(rows[0])
    out = []
    for row, have in zip(rows, matching(rows)):
        minimal = []
        if have < k:
            for chosen in subsets(range(q)):
                smaller = any(set(f) <= set(chosen) for f in minimal)
                if not smaller and sum(compatible(blanked(row, chosen), other) for other in rows) >= k:
                    minimal.append(chosen)
        out.append([(), *minimal])
    return out


def fewest_cells(rows, k, missing="wildcard", cost=None, everything=False):
    """The least cost over every way to blank cells."""
    q = len(rows[0])
    cost = cost or [1] * q
    choices = [list(subsets(range(q)))] * len(rows) if everything or missing != "wildcard" else allowed_sets(rows, k)
    best = None
    for plan in product(*choices):
        price = sum(cost[j] for chosen in plan for j in chosen)
        if best is not None and price >= best:
            continue
        if min(matching([blanked(row, chosen) for row, chosen in zip(rows, plan)], missing)) >= k:
            best = price
    return best
