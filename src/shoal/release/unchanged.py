"""Columns of a release whose cells are those of the original, or nearly so."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.table.records import Records
from shoal.table.schema import UNITS
from shoal.table.variable import Variable


def unchanged(original: Records, released: Records, place: Longs) -> Iterator[str]:
    """Columns whose cells are those of the original; an intruder who knows these can find the record.

    `place`: shape (n',); the original record of each released one.
    """
    for variable in released.variables:
        if variable.name not in original or variable.role in UNITS:
            continue
        if not differing(original[variable.name].take(place), variable).any():
            yield variable.name


def nearly_unchanged(original: Records, released: Records, place: Longs, anew: Collection[str]) -> tuple[str, ...]:
    """Columns that changed, though most of their cells still tell the original ones; parameters as for `unchanged`.

    A released number tells the nearest one of the original. Cells that agree by chance are not counted: Cohen's (1960)
    kappa, the agreement beyond chance as a share of the possible one, exceeds one half. `anew`: columns whose cells are
    no version of one person's; they are left out.
    """
    same = {*unchanged(original, released, place), *anew}
    names = (v.name for v in released.variables if v.name in original and v.role not in UNITS and v.name not in same)
    return tuple(name for name in names if tells(original[name].take(place), released[name]))


def sets_unchanged(*columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Each unchanged or accepted column, and all of each kind together.

    Parameters
    ----------
    columns
        Columns that the plan leaves alone, columns whose cells turned out the same, and columns that the plan accepts.
    """
    singles = dict.fromkeys((name,) for names in columns for name in names)
    return list(singles | dict.fromkeys(tuple(names) for names in columns if len(names) > 1))


def tells(before: Variable, after: Variable) -> bool:
    """True if most cells of a column still tell the original ones; a number tells the nearest one."""
    return _kappa(before, after) > 0.5


def _kappa(before: Variable, after: Variable) -> float:
    """Cohen's kappa of two versions of a column; 0 if one has numbers and the other labels, or nothing can differ."""
    if before.continuous != after.continuous:
        return 0.0
    cells = (_nearest(before.values, v) if before.continuous else _texts(v) for v in (before, after))
    codes, both = np.unique(np.concatenate(list(cells)), return_inverse=True)
    x, y = np.split(both, 2)
    counts = (np.bincount(side, minlength=len(codes)) / max(len(x), 1) for side in (x, y))
    chance = float(np.multiply(*counts).sum())
    return (float((x == y).mean()) - chance) / (1 - chance) if len(x) and chance < 1 else 0.0


def _nearest(values: Floats, variable: Variable) -> Floats:
    """Shape (n,); the nearest one of some numbers to each number of a column, infinite where it is missing."""
    known = np.unique(values[np.isfinite(values)])
    if not len(known):
        return np.full(len(variable.values), np.inf)
    ends = np.searchsorted(known, variable.values).clip(1, max(len(known) - 1, 1))
    below, above = known[ends - 1], known[np.minimum(ends, len(known) - 1)]
    nearest = np.where(variable.values - below <= above - variable.values, below, above)
    return np.where(variable.missing, np.inf, nearest)


def differing(before: Variable, after: Variable) -> Bools:
    """Shape (n,); True where a cell differs from the original one. A number never equals a label."""
    if before.continuous != after.continuous:
        return ~(before.missing & after.missing)
    if before.continuous:
        same = (before.values == after.values) | (before.missing & after.missing)
        return np.asarray(~same)
    return np.asarray(_texts(before) != _texts(after))


def _texts(variable: Variable) -> Any:
    return np.array([*map(str, variable.categories), ""])[variable.values]
