"""Unique combinations of original cells that a release shows.

An original record is unique on some columns if no other original record matches it there. Whoever knows that person's
cells recognises them in a released record that matches. A missing cell matches a missing cell (`equal`), every cell
(`wildcard`) or none at all (`nothing`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.judges.joint_codes import joint_codes
from shoal.kernels.arrays import Bools, Longs
from shoal.kernels.classes import classes
from shoal.table.equal_rows import patterns
from shoal.table.records import MissingCells, Records


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactMatches:
    """Unique originals in a release."""

    unique: Bools  # Shape (n,); original records that are the only ones with their cells
    shown: Bools  # Shape (n,); unique original records that some released record matches
    showing: Bools  # Shape (n',); released records that match a unique original record


def exact_matches(
    original: Records, released: Records, names: tuple[str, ...], missing: MissingCells = "equal"
) -> ExactMatches:
    """Unique originals, on some columns of both tables, and the released records that match them."""
    unique = original.matching(names, missing) == 1
    coded = [joint_codes(original[name], released[name]) for name in names]
    x = np.column_stack([before[unique] for before, _ in coded])
    y = np.column_stack([after for _, after in coded])
    met, showing = np.zeros(len(x), dtype=bool), np.zeros(len(y), dtype=bool)
    for rows, others, columns in comparable_rows(x, y, missing):
        codes = np.concatenate([x[rows][:, columns], y[others][:, columns]])
        ids, _ = classes(list(codes.T), len(codes))
        mine, theirs = ids[: len(rows)], ids[len(rows) :]
        met[rows] |= np.isin(mine, theirs)
        showing[others] |= np.isin(theirs, mine)
    shown = unique.copy()
    shown[unique] = met
    return ExactMatches(unique=unique, shown=shown, showing=showing)


def comparable_rows(x: Longs, y: Longs, missing: MissingCells) -> Iterator[tuple[Longs, Longs, Longs]]:
    """Rows of the two tables that can be compared on one set of columns each, and the set."""
    every = np.arange(x.shape[1])
    if missing == "equal":
        yield np.arange(len(x)), np.arange(len(y)), every
    elif missing == "nothing":
        yield np.flatnonzero((x >= 0).all(axis=1)), np.flatnonzero((y >= 0).all(axis=1)), every
    else:
        for blank, rows in patterns(x < 0):
            for other, others in patterns(y < 0):
                yield rows, others, np.flatnonzero(~(blank | other))
