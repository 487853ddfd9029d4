"""Losses with a public form: of the original clipped to the released range of each column.

A public loss must not depend much on any single original record. An original value beyond all released ones (a tail
that was cut off, a record that was left out) would have a large influence: so every original value is first moved to
the nearest end of the released range, and changes are counted in units of that range. The change of a cell is then at
most 1, and one record of n, replaced or removed, moves a mean over records by at most 1/(n - 1), whatever it holds. The
range itself comes from the release, and so reveals nothing new.
"""

import numpy as np

from shoal.judges.table_pair import TablePair, codes_like, comparable
from shoal.kernels.arrays import Floats
from shoal.vocabulary.facts import RANGE, SQUARED_RANGE, Figure


def clipped_change(pair: TablePair, names: tuple[str, ...], *, power: int = 1) -> Figure | None:
    """Mean change of a released cell, to a power; a changed category counts 1, as does a cell missing in one table.

    None where fewer than two records, or no columns, can be compared, or all columns were made anew as a whole.
    """
    kept = comparable(pair.before, pair.released, names)
    n = len(pair.released)
    if not kept or n < 2 or set(names) <= set(pair.made_anew):
        return None
    changes = [_changes(pair, name) ** power for name in kept]
    return Figure(value=float(np.mean(changes)), unit=SQUARED_RANGE if power == 2 else RANGE, influence=1 / (n - 1))


def clipped_mean_change(pair: TablePair, names: tuple[str, ...]) -> Figure | None:
    """Largest change of a continuous column's mean over the values that are known in a table.

    None where a released column has no value. An original column of less than two has no bounded influence.
    """
    changes, fewest = [], len(pair.before)
    for name in names:
        x, y = pair.before[name].values, pair.released[name].values
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        if not len(y):
            return None
        changes.append(abs(float((_clipped(x, y) - _scaled(y, y).mean()).mean())) if len(x) else 1.0)
        fewest = min(fewest, len(x))
    if not changes:
        return None
    return Figure(value=max(changes), unit=RANGE, influence=1 / (fewest - 1) if fewest > 1 else None)


def _changes(pair: TablePair, name: str) -> Floats:
    """Shape (n',); the change of each released cell, from 0 to 1."""
    before, after = pair.before[name].take(pair.pairing), pair.released[name]
    if not before.continuous:
        return np.asarray(codes_like(before, after) != before.values, dtype=np.float64)
    x, y = before.values, after.values
    present = y[~np.isnan(y)]
    change = np.abs(_clipped(x, present) - _scaled(y, present)) if len(present) else np.ones(len(y))
    change[np.isnan(x) & np.isnan(y)] = 0.0
    return np.asarray(np.where(np.isnan(change), 1.0, change))


def _clipped(values: Floats, released: Floats) -> Floats:
    """Values moved into the released range and counted in it from 0 to 1."""
    return np.clip(_scaled(np.clip(values, released.min(), released.max()), released), 0.0, 1.0)


def _scaled(values: Floats, released: Floats) -> Floats:
    low, width = released.min(), np.ptp(released)
    return np.asarray((values - low) / width if width > 0 else np.where(np.isnan(values), np.nan, 0.0))
