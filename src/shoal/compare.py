"""Two versions of one table side by side: what measures of risk and utility need to compare them.

A released table may hold fewer records or columns than the original, in another order. `counterparts` finds
the original record that each released one came from; `common` the columns that both hold; `embedded` puts
both into the one space in which distances are taken.
"""

from collections.abc import Iterable

import numpy as np

from shoal.errors import DataError, plural, quoted
from shoal.kernels.arrays import Floats, Longs
from shoal.records import Records


def counterparts(original: Records, released: Records) -> Longs | None:
    """Shape (n',); position in `original` of the record each released one came from.

    None where that is not known: the tables differ in length and the released one does not say which of the
    records it holds.
    """
    rows = released.rows
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    if len(released) != len(original) and np.array_equal(rows, np.arange(len(rows))):
        return None
    order = np.argsort(original.rows, kind="stable")
    if not len(order):
        return None
    place = order[np.minimum(np.searchsorted(original.rows[order], rows), len(order) - 1)]
    return place if np.array_equal(original.rows[place], rows) else None


UNPAIRED = (
    "The released table does not say which original record each of its records came from "
    "(the tables differ in length), so records cannot be compared one by one."
)


def common(
    original: Records, released: Records, names: Iterable[str] | None, *roles: str, continuous: bool | None = None
) -> tuple[str, ...]:
    """Columns named, or those with one of the roles, that both tables hold; of one level if asked.

    Raises
    ------
    DataError
        If a column that was named is not in both tables or not of the level asked for.
    """
    chosen = original.names(*roles) if names is None else tuple(names)
    if names is not None and (absent := [n for n in chosen if n not in original or n not in released]):
        raise DataError(f"Columns must be in both tables; {quoted(absent)} {'is' if len(absent) == 1 else 'are'} not.")
    kept = tuple(n for n in chosen if n in released)
    if continuous is not None:
        right = tuple(n for n in kept if original[n].continuous == continuous == released[n].continuous)
        if names is not None and len(right) < len(kept):
            wrong = [n for n in kept if n not in right]
            raise DataError(
                f"{plural(len(wrong), 'column')} not {'continuous' if continuous else 'categorical'} in both tables: "
                f"{quoted(wrong)}. Leave out what is not."
            )
        kept = right
    return kept


def embedded(original: Records, released: Records, names: Iterable[str]) -> tuple[Floats, Floats]:
    """Both tables in the original's standardised embedding, shapes (n, m) and (n', m).

    A missing value is put at the original column's mean: the best guess, in squared distance, of whoever
    does not know it.
    """
    chosen = tuple(names)
    for name in chosen:
        if original[name].continuous != released[name].continuous:
            raise DataError(f"Column '{name}' is continuous in one table and not in the other; give it one level.")
    x, y = original.matrix(chosen), released.matrix_like(original, chosen)
    if np.isnan(x).any() or np.isnan(y).any():
        known = ~np.isnan(x)
        sums, counts = np.where(known, x, 0.0).sum(axis=0), known.sum(axis=0)
        centre = sums / np.maximum(counts, 1)
        x, y = np.where(known, x, centre), np.where(np.isnan(y), centre, y)
    return x, y
