"""Generalisation by looking at everything, and an Adult-like table with its hierarchies."""

from fractions import Fraction
from itertools import chain, combinations, product
from math import log, prod

import numpy as np
import pandas as pd


def under(paths, label, level):
    """Leaves under a label."""
    return sum(path[level] == label for path in paths.values())


def best_loss(rows, paths, k, limit):
    """Least mean NCP over all nodes; rows are tuples of leaves, paths[j][leaf] the labels from leaf to root."""
    heights = [len(next(iter(p.values()))) - 1 for p in paths]
    best = None
    for levels in product(*(range(h + 1) for h in heights)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        kept = [labels.count(label) >= k for label in labels]
        if kept.count(False) > limit * len(rows):
            continue
        loss = 0.0
        for label, keep in zip(labels, kept):
            for j, text in enumerate(label):
                loss += (under(paths[j], text, levels[j]) - 1) / max(len(paths[j]) - 1, 1) if keep else 1.0
        loss /= len(rows) * len(paths)
        best = loss if best is None else min(best, loss)
    return best


def least_entropy(rows, paths, k, limit):
    """Least mean non-uniform entropy over all nodes, every cell of a record in a class under k losing 1."""
    n, losses = len(rows), []
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        columns, leaves = list(zip(*labels)), list(zip(*rows))
        loss = dropped = 0
        for label, row in zip(labels, rows):
            if labels.count(label) < k:
                loss, dropped = loss + len(paths), dropped + 1
                continue
            ratios = [columns[j].count(label[j]) / leaves[j].count(row[j]) for j in range(len(paths))]
            loss += sum(map(log, ratios)) / log(n)
        if dropped <= limit * n:
            losses.append(loss / (n * len(paths)))
    return min(losses)


def least_by(rows, paths, k, limit, aggregate, gs_factor=0.5, average=1.0):
    """Least loss over all nodes, by an objective that is not the mean loss of a cell; by rank, losses in falling order.

    Where the classes over the records that are left exceed `average`, the smallest are dropped, of equal ones those
    first that this costs least.
    """
    w, s, n, losses = min(1.0, 2 - 2 * gs_factor), min(1.0, 2 * gs_factor), len(rows), []
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        left = {label: labels.count(label) for label in labels if labels.count(label) >= k}
        cost = {label: [one_cell(paths, j, label[j], levels[j], w, s) for j in range(len(paths))] for label in labels}
        while left and len(left) > average * sum(left.values()):
            del left[min(left, key=lambda label: (left[label], left[label] * sum(b - a for a, b in cost[label])))]
        if n - sum(left.values()) > limit * n:
            continue
        columns = [sum(cost[label][j][label not in left] for label in labels) / n for j in range(len(paths))]
        if aggregate in ("chained-entropy", "discernibility", "average-class-size"):
            losses.append(of_table(rows, labels, left, aggregate, w, s))
        elif aggregate == "rank":
            losses.append(sorted(columns, reverse=True))
        else:
            q = len(columns)
            losses.append(prod(1 + x for x in columns) ** (1 / q) - 1 if aggregate != "mean" else sum(columns) / q)
    return min(losses)


def one_cell(paths, j, label, level, w, s):
    """What a cell with a label loses where it is released, and where it is dropped."""
    u, v = under(paths[j], label, level), len(paths[j])
    loss = (u - 1) / (v - 1)
    return w * (u - 1) / (v - w), loss + s * (1 - loss)


def of_table(rows, labels, left, aggregate, w, s):
    n, removed = len(rows), [label for label in labels if label not in left]
    if aggregate == "average-class-size":
        return 1 / (len(left) + bool(removed))
    if aggregate == "discernibility":
        shares = [(labels.count(label) / n, label in left) for label in labels]
        return sum(w * c if stays else c + s * (1 - c) for c, stays in shares) / n
    total = 0
    for leaves, column, dropped in zip(zip(*rows), zip(*labels), zip(*removed) if removed else [()] * len(rows[0])):
        total += sum(log(column.count(label) / leaves.count(leaf)) for leaf, label in zip(leaves, column))
        total += sum(log(len(dropped) / dropped.count(label)) for label in dropped)
    return total / (n * len(rows[0]) * log(n)) / 2


def least_beside_rest(rows, ill, paths, k, limit, alike):
    """Least mean NCP over all nodes whose classes are dropped until all are like the table and like what is left of it.

    Parameters
    ----------
    alike
        Whether a class's list of values is near enough to a table's.
    """
    losses = []
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):
        groups = {}
        for row, value in zip(rows, ill):
            groups.setdefault(tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)), []).append(value)
        left = {label: values for label, values in groups.items() if len(values) >= k and alike(values, ill)}
        while failing := [label for label, values in left.items() if not alike(values, list(chain(*left.values())))]:
            left = {label: values for label, values in left.items() if label not in failing}
        dropped = len(rows) - sum(map(len, left.values()))
        if dropped <= limit * len(rows):
            ncp = sum(
                len(values) * (under(paths[j], text, levels[j]) - 1) / max(len(paths[j]) - 1, 1)
                for label, values in left.items()
                for j, text in enumerate(label)
            )
            losses.append((ncp + dropped * len(paths)) / (len(rows) * len(paths)))
    return min(losses, default=None)


def least_among_people(rows, people, paths, limit, kept, holds):
    """Least mean NCP over all nodes, with the classes dropped that a population does not let one keep; None for none.

    Parameters
    ----------
    kept
        Whether a class of so many records and so many people is left in.
    holds
        What the share of the people of every class whose records are left in must satisfy.
    """
    losses = []
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):

        def labels_of(table, levels=levels):
            return [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in table]

        labels, classes = labels_of(rows), labels_of(people)
        left = [label for label in labels if kept(labels.count(label), classes.count(label))]
        dropped = len(rows) - len(left)
        if dropped <= limit * len(rows) and all(holds(left.count(c) / classes.count(c)) for c in classes):
            ncp = sum(
                (under(paths[j], text, levels[j]) - 1) / max(len(paths[j]) - 1, 1)
                for label in left
                for j, text in enumerate(label)
            )
            losses.append((ncp + dropped * len(paths)) / (len(rows) * len(paths)))
    return min(losses, default=None)


def best_loss_of_table(rows, paths, limit, holds):
    """Least mean NCP over all nodes of which the smallest classes are dropped, those of one size that lose most first.

    Parameters
    ----------
    holds
        What the sizes of the classes that are left must satisfy.
    """
    best = 1.0
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        loss = {
            label: sum((under(paths[j], t, levels[j]) - 1) / max(len(paths[j]) - 1, 1) for j, t in enumerate(label))
            for label in labels
        }
        order = sorted(loss, key=lambda label: (labels.count(label), -loss[label]))
        for first in range(len(order)):
            dropped = sum(labels.count(label) for label in order[:first])
            if dropped > limit * len(rows):
                break
            if holds([labels.count(label) for label in order[first:]]):
                total = dropped * len(paths) + sum(labels.count(label) * loss[label] for label in order[first:])
                best = min(best, total / (len(rows) * len(paths)))
                break
    return best


def class_loss(rows, paths):
    """Sum over the cells of one class: each column at the lowest level at which its labels agree."""
    total = 0.0
    for j, column in enumerate(paths):
        for level in range(len(column[rows[0][j]])):
            labels = {column[row[j]][level] for row in rows}
            if len(labels) == 1:
                total += len(rows) * (under(column, labels.pop(), level) - 1) / max(len(column) - 1, 1)
                break
    return total


def partitions(items, k):
    """All ways to divide items into sets of k or more."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(2 ** len(rest)):
        block = [first] + [item for i, item in enumerate(rest) if mask >> i & 1]
        others = [item for i, item in enumerate(rest) if not mask >> i & 1]
        if len(block) >= k and (not others or len(others) >= k):
            for division in partitions(others, k):
                yield [block, *division]


def best_local_loss(rows, paths, k):
    """Least mean NCP over all partitions into classes of k or more."""
    cells = len(rows) * len(paths)
    return min(sum(class_loss(block, paths) for block in division) for division in partitions(list(rows), k)) / cells


def walk(rows, paths, k, weights):
    """Classes by visiting all nodes in the order of their mean loss, before what is left joins any; and the rest.

    Parameters
    ----------
    weights
        Of the columns, such that no two nodes lose the same.
    """
    heights = [len(next(iter(p.values()))) - 1 for p in paths]

    def mean_loss(levels):
        cells = [
            weights[j] * (under(paths[j], paths[j][row[j]][level], level) - 1) / max(len(paths[j]) - 1, 1)
            for row in rows
            for j, level in enumerate(levels)
        ]
        return sum(cells)

    rest, released = list(range(len(rows))), []
    for levels in sorted(product(*(range(h + 1) for h in heights)), key=mean_loss):
        groups = {}
        for i in rest:
            groups.setdefault(tuple(paths[j][rows[i][j]][level] for j, level in enumerate(levels)), []).append(i)
        released += [group for group in groups.values() if len(group) >= k]
        rest = [i for i in rest if not any(i in group for group in released)]
    return released, rest


def cheapest(rows, paths, k):
    """For each row the least loss over all nodes at which k rows share its labels, the mean over its cells."""
    heights = [len(next(iter(p.values()))) - 1 for p in paths]
    best = [float("inf")] * len(rows)
    for levels in product(*(range(h + 1) for h in heights)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        for i, label in enumerate(labels):
            if labels.count(label) >= k:
                loss = sum(
                    (under(paths[j], text, levels[j]) - 1) / max(len(paths[j]) - 1, 1) for j, text in enumerate(label)
                )
                best[i] = min(best[i], loss / len(paths))
    return best


def nested(leaves, widths):
    """Paths over numbered leaves: groups of consecutive leaves of growing width, then the root."""
    return {leaf: (leaf, *(f"{w}:{i // w}" for w in widths), "*") for i, leaf in enumerate(leaves)}


WIDTHS = {
    "age": [5, 10, 20, 40],
    "workclass": [2, 4],
    "education": [2, 4, 8],
    "marital": [2, 4],
    "occupation": [2, 6],
    "race": [2],
    "sex": [],
    "country": [5, 20],
}
SIZES = {"age": 74, "workclass": 8, "education": 16, "marital": 7, "occupation": 14, "race": 5, "sex": 2, "country": 41}


def adult_like(n, seed=0):
    """Columns, sizes and skewness as in the Adult table of the UCI collection; the values are generated."""
    g = np.random.default_rng(seed)
    frame, hierarchies = {}, {}
    common = g.normal(size=n)
    for name, size in SIZES.items():
        leaves = [f"{name[:2]}{i:02d}" for i in range(size)]
        steep = 3.0 if name in ("country", "race", "workclass") else 1.0
        score = np.abs(0.4 * common + g.normal(size=n)) ** steep
        place = np.minimum((score / np.quantile(score, 0.995) * size).astype(int), size - 1)
        frame[name] = np.array(leaves)[place]
        hierarchies[name] = nested(leaves, WIDTHS[name])
    return pd.DataFrame(frame), hierarchies


def aimed(rows, paths, target):
    """For each column the share of the target's variance that it explains, and what each label loses.

    The target is a list of numbers. A label loses the mean of its NCP and of its share of the variance of the column's
    means that lies within it.
    """
    centre = sum(target) / len(target)
    weights, losses = [], []
    for j, column in enumerate(paths):
        groups = {}
        for row, value in zip(rows, target):
            groups.setdefault(row[j], []).append(value)
        means = {leaf: sum(values) / len(values) for leaf, values in groups.items()}
        explained = sum(len(groups[leaf]) * (mean - centre) ** 2 for leaf, mean in means.items()) / len(rows)
        losses.append({})
        for level in range(len(next(iter(column.values())))):
            for label in {path[level] for path in column.values()}:
                inside = [row[j] for row in rows if column[row[j]][level] == label]
                middle = sum(means[leaf] for leaf in inside) / max(len(inside), 1)
                within = sum((means[leaf] - middle) ** 2 for leaf in inside) / max(len(inside), 1)
                ncp = (under(column, label, level) - 1) / max(len(column) - 1, 1)
                losses[j][level, label] = (ncp + (min(within / explained, 1.0) if explained > 1e-15 else 0.0)) / 2
        weights.append(explained)
    mean = sum(weights) / len(weights)
    return [w / mean if mean > 1e-15 else 1.0 for w in weights], losses


def best_aimed_loss(rows, paths, target, k):
    """Least mean loss of `aimed` over all nodes that keep k."""
    weights, losses = aimed(rows, paths, target)
    best = None
    for levels in product(*(range(len(next(iter(p.values())))) for p in paths)):
        labels = [tuple(paths[j][leaf][levels[j]] for j, leaf in enumerate(row)) for row in rows]
        if min(map(labels.count, labels)) >= k:
            each = [weights[j] * losses[j][levels[j], text] for label in labels for j, text in enumerate(label)]
            loss = sum(each) / len(each)
            best = loss if best is None else min(best, loss)
    return best


def best_aimed_local_loss(rows, paths, target, k):
    """Least mean loss of `aimed` over all partitions into classes of k or more."""
    weights, losses = aimed(rows, paths, target)

    def lost(block):
        total = 0.0
        for j, column in enumerate(paths):
            for level in range(len(column[rows[block[0]][j]])):
                labels = {column[rows[i][j]][level] for i in block}
                if len(labels) == 1:
                    total += len(block) * weights[j] * losses[j][level, labels.pop()]
                    break
        return total

    cells = len(rows) * len(paths)
    return min(sum(map(lost, division)) for division in partitions(list(range(len(rows))), k)) / cells


def alike(values, table, beta, enhanced):
    """True if a class with such values has beta-likeness beside the table, in exact shares."""
    for value in set(values):
        p, q = Fraction(table.count(value), len(table)), Fraction(values.count(value), len(values))
        gain = max(q / p - 1, 0)
        if gain > beta or (enhanced and gain > -log(p)):
            return False
    return True


def largest_alike_part(values, table, beta, enhanced):
    """The most records of a class that have beta-likeness among themselves, by every subset."""
    every = (part for size in range(len(values), 0, -1) for part in combinations(values, size))
    return next((len(part) for part in every if alike(part, table, beta, enhanced)), 0)
