"""A table before and after a run: as judges of its records see it, and record beside record."""

from pathlib import Path

import numpy as np

from shoal.kernels.arrays import Longs
from shoal.plan import Plan
from shoal.release import WholeRelease
from shoal.studio.arguments import Answer
from shoal.studio.kept import Kept
from shoal.studio.profile import PAGE
from shoal.studio.risks import TableSide
from shoal.studio.variables import encoded
from shoal.table.files.table import Table
from shoal.table.records import Classes, Records
from shoal.table.schema import UNITS, Schema
from shoal.vocabulary.errors import InputError


def original_side(table: Table, schema: Schema, folder: Path) -> TableSide:
    """A table as it is, with the columns that others may know."""
    frame = table.frame
    keys = [name for name in schema.names("quasi-identifier") if name in frame.columns]
    records = Records.of([encoded(frame[name], schema, folder) for name in keys])
    numbers = next((name for role in UNITS for name in schema.names(role) if name in frame.columns), None)
    units = None
    if numbers is not None:
        units = Records.of([encoded(frame[numbers], schema, folder)]).codes_as_written(numbers).astype(np.int64)
    rows = np.arange(len(frame), dtype=np.int64)
    return TableSide(title="original", records=records, units=units, frame=frame, rows=rows)


def released_side(release: WholeRelease, before: TableSide) -> TableSide:
    """What a run released of a table.

    Raises InputError if the run made its keys anew, so that no record stands for a person.
    """
    kept = [name for name in before.records.names() if name in release.table.encoded]
    if set(kept) & set(release.account.made_anew):
        raise InputError("This run made its records anew, so that none stands for a person; Result has its risks.")
    rows = np.asarray(release.rows, dtype=np.int64)
    return TableSide(
        title="released",
        records=Records.of([release.table.encoded[name] for name in kept]),
        units=None if before.units is None else before.units[rows],
        frame=release.to_frame(),
        rows=rows,
    )


class Sides:
    """A table and a release that are looked at, kept with what was counted of them from one question to the next."""

    def __init__(self) -> None:
        self._before: Kept[TableSide] = Kept()
        self._after: Kept[TableSide] = Kept()

    def of(self, table: Table, plan: Plan, folder: Path, release: WholeRelease | None) -> list[TableSide]:
        """The table, and what a run released of it if it did; see `released_side`."""
        before = self._before.of((table,), (plan.schema, folder), lambda: original_side(table, plan.schema, folder))
        if release is None:
            return [before]
        return [before, self._after.of((release, before), None, lambda: released_side(release, before))]


def paired(table: Table, release: WholeRelease, offset: int) -> Answer:
    """A page of the released records, each beside the record that it was made of, class by class, the smallest first.

    Raises InputError if the run made its records anew, so that none was made of another.
    """
    after = release.table.encoded
    keys = [name for name in after.quasi_identifiers if name in after]
    if keys and set(keys) <= set(release.account.made_anew):
        raise InputError("This run made its records anew, so that none stands beside one of the original.")
    classes = after.classes(keys)
    part = _by_size(classes, max(0, offset))
    released = release.to_frame()
    rows = np.asarray(release.rows, dtype=np.int64)[part]
    names = [name for name in released.columns if name in table.frame.columns]
    before, now = table.frame[rows.tolist()].select(names), released[part.tolist()].select(names)
    return {
        "columns": names,
        "keys": keys,
        "of": len(released),
        "offset": max(0, offset),
        "rows": [
            {
                "row": int(row) + 1,
                "class": int(classes.ids[at]),
                "size": int(classes.sizes[classes.ids[at]]),
                "cells": [[_text(b), _text(a)] for b, a in zip(original, new)],
            }
            for at, row, original, new in zip(part, rows, before.iter_rows(), now.iter_rows())
        ],
    }


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _by_size(classes: Classes, offset: int) -> Longs:
    """A page of records, those of the smallest classes first, without a sort of them all."""
    order = np.argsort(classes.sizes, kind="stable")
    ends = np.cumsum(classes.sizes[order])
    first, last = np.searchsorted(ends, [offset, offset + PAGE - 1], side="right")
    place = np.full(len(order), -1)
    place[order[first : last + 1]] = np.arange(len(order[first : last + 1]))
    members = np.flatnonzero(place[classes.ids] >= 0)
    members = members[np.argsort(place[classes.ids[members]], kind="stable")]
    before = int(ends[first - 1]) if first else 0
    return np.asarray(members[offset - before : offset - before + PAGE])
