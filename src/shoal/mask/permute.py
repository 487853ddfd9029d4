"""Permutation: values are dealt out again at random."""

from collections.abc import Sequence

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.registry import method


@method("permute", title="Random permutation", source="Fisher & Yates (1938)")
class Permute(Mask):
    """Deals the values of columns out again at random, over the whole table or inside each stratum.

    Univariate distributions stay exactly what they were; with `together` so does the joint distribution of
    the target columns, and only their tie to the other columns is cut.

    Parameters
    ----------
    together
        Move a record's target cells as one piece instead of each column by itself.
    """

    scales = "memory"
    reads_others = False

    together: bool = False

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        places: dict[str, Longs] = {}
        for rows in records.by_stratum:
            common = rng.permutation(len(rows))
            for name in columns:
                place = places.setdefault(name, np.arange(len(records)))
                place[rows] = rows[common if self.together else rng.permutation(len(rows))]
        changed = [records[name].take(place) for name, place in places.items()]
        return StepResult(records=records.with_variables(*changed))
