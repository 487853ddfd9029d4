"""Nearest common ancestors, by climbing one level at a time."""

from collections.abc import Sequence

from shoal.table.hierarchy import Hierarchy


def ancestor(hierarchy: Hierarchy, leaves: Sequence[int]) -> str:
    """Label of the nearest common ancestor of leaves given by row."""
    for level in range(hierarchy.height + 1):
        labels = {hierarchy.paths[leaf][level] for leaf in leaves}
        if len(labels) == 1:
            return labels.pop()
    raise AssertionError("a hierarchy has one root")
