"""Trees as the book says it: every feature, every boundary, every division of categories is tried."""

import itertools

import numpy as np


def impurity(y, classes):
    """Sum of squared errors of numbers; size times Gini impurity of classes."""
    if not len(y):
        return 0.0
    if classes:
        counts = np.bincount(y, minlength=classes)
        return float(len(y) - (counts**2).sum() / len(y))
    return float(((y - y.mean()) ** 2).sum())


def divisions(values, levels):
    """Every way to part a feature's cases in two, as masks of the left side."""
    if levels:
        present = np.unique(values).astype(int)
        for size in range(1, len(present)):
            for left in itertools.combinations(present, size):
                yield np.isin(values, left)
        return
    known = ~np.isnan(values)
    for threshold in np.unique(values[known]):
        yield known & (values <= threshold)
        if not known.all():
            yield ~known | (values <= threshold)


def least_impurity(x, levels, y, classes, min_leaf):
    """The least impurity of two sides of at least min_leaf cases, over all features; None if there is no division."""
    splits = [
        impurity(y[left], classes) + impurity(y[~left], classes)
        for values, count in zip(x, levels)
        for left in divisions(values, count)
        if min(left.sum(), (~left).sum()) >= min_leaf
    ]
    return min(splits, default=None)


def leaf_of(tree):
    """The leaf of each case that a tree was grown on."""
    out = np.empty(len(set(tree.members.tolist())), dtype=np.int64)
    out[tree.members] = tree.leaf_of_members
    return out
