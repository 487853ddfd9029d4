"""Columns of a release whose cells are those of the original, or nearly so."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Floats
from shoal.table.schema import UNITS
from shoal.table.variable import Variable


def unchanged(pair: TablePair) -> tuple[str, ...]:
    """Columns whose cells are those of the original; an intruder who knows these can find the record.

    None where it is not known what original record a released one came from.
    """
    return pair.once("unchanged", lambda: tuple(name for name in _paired(pair) if _same(pair, name)))


def nearly_unchanged(pair: TablePair, anew: Collection[str]) -> tuple[str, ...]:
    """Columns that changed, though most of their cells still tell the original ones.

    A released number tells the nearest one of the original. Cells that agree by chance are not counted: Cohen's (1960)
    kappa, the agreement beyond chance as a share of the possible one, exceeds one half. `anew`: columns whose cells are
    no version of one person's; they are left out.
    """
    left_out = {*unchanged(pair), *anew}
    changed = (name for name in _paired(pair) if name not in left_out)
    return tuple(name for name in changed if tells(pair.before[name].take(pair.pairing), pair.released[name]))


def _paired(pair: TablePair) -> list[str]:
    """Columns of both tables, but for numbers of units, if their records are paired."""
    if pair.original is None or pair.place is None:
        return []
    return [v.name for v in pair.released.variables if v.name in pair.original and v.role not in UNITS]


def _same(pair: TablePair, name: str) -> bool:
    before, after = pair.before[name].take(pair.pairing), pair.released[name]
    return before.same_cells(after) or not differing(before, after).any()


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
