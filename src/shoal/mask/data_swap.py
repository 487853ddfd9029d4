"""Data swapping (Dalenius & Reiss 1982): records exchange values, and tables of counts stay."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.prelude import Columns, Count, Gt, Le, OfPlan, ParameterError, Setting, method


@method(
    "data-swap",
    title="Data swapping",
    source="Dalenius & Reiss (1982)",
    example={"share": 0.5},
    example_columns=("sex", "illness"),
)
class DataSwap(Mask):
    """Pairs of records that agree on some columns exchange their cells as one piece.

    Every table of counts stays exactly what it was if it is made of the swapped columns and of columns in
    `within`, or of any columns that stay; all others change. With strata, partners are of one stratum.

    Parameters
    ----------
    share
        Share of the records that are drawn to exchange their cells.
    within
        Columns on which two partners must agree; the more there are, the more tables stay and the fewer
        partners are found.

    Notes
    -----
    Among the records drawn, those with equal target cells are laid side by side in random order and each is
    paired with the one half a class further on, so that partners differ wherever no combination holds more
    than half of the class. The record counts the records whose cells changed.
    """

    scales = "memory"

    share: Annotated[float, Gt(0), Le(1), Setting()]
    within: Annotated[tuple[str, ...], Columns()] = ()

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        if both := [name for name in self.within if name in columns]:
            raise ParameterError(f"data-swap: within names '{both[0]}', which is one of the columns to swap.")
        agreeing = records.classes((*self.within, *records.names("stratum"))).ids
        values = records.classes(columns).ids
        place = np.arange(len(records), dtype=np.int64)
        drawn = rng.random(len(records)) < self.share
        order = np.lexsort((rng.permutation(len(records)), values, agreeing))
        order = order[drawn[order]]
        ends = np.flatnonzero(np.diff(agreeing[order])) + 1
        for rows in np.split(order, ends):
            _pair(rows, place)
        changed = [records[name].take(place) for name in columns]
        moved = int((values[place] != values).sum())
        facts = {
            "records drawn": Count(n=int(drawn.sum()), influence=1),  # each record is drawn by itself
            "records changed": Count(n=moved),
            "counts kept of": OfPlan([*columns, *self.within]),
        }
        return StepResult(records=records.with_variables(*changed), facts=facts)


def _pair(rows: Longs, place: Longs) -> None:
    """Pair each row of the first half with the row half the class further on."""
    half = len(rows) // 2
    first, second = rows[:half], rows[half : 2 * half]
    place[first], place[second] = second, first
