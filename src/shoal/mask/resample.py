"""Resampling (Heer 1993): values become the mean of bootstrap samples at their rank."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Floats, Generator, Progress, Records, StepResult, Variable, tracked
from shoal.vocabulary.prelude import Count, Facts, Ge, method


@method("resample", title="Resampling", source="Heer (1993); Domingo-Ferrer & Mateo-Sanz (1999)")
class Resample(Mask):
    """Each value becomes the mean of the values that bear its rank in several bootstrap samples of the column.

    Every sample draws as many values as the column has, with replacement, and is sorted. The lowest value gets the mean
    of the samples' lowest values, and so on. The more samples, the nearer the masked values are to the order statistics
    that a sample has in expectation: ranks and the joint order of columns stay, values are drawn towards their
    neighbours. Columns are resampled one by one, inside each stratum. Missing cells stay missing.

    Parameters
    ----------
    samples
        Number of bootstrap samples, t of the source.

    Notes
    -----
    Equal values get their places among the ranks at random. The order of the records is released as it was, so that
    who knows everybody's values finds most records again: a mask against exact matching, not against linkage.
    """

    scales = "memory"
    reads_others = False
    leaves_gaps = True

    samples: Annotated[int, Ge(1)] = 3

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        strata = records.by_stratum

        def resampled(variable: Variable) -> tuple[Variable, Facts]:
            values = variable.values.copy()
            for rows in strata:
                present = rows[~variable.missing[rows]]
                values[present] = self._resampled(values[present], rng)
            changed = int((values != variable.values)[~variable.missing].sum())
            return variable.with_values(values), {"changed": Count(n=changed, unit="cells")}

        made = map(resampled, tracked(self.continuous(records, columns), progress))
        return StepResult.by_column(records, made, averaged=tuple(columns) if self.samples > 1 else ())

    def _resampled(self, x: Floats, rng: Generator) -> Floats:
        n = len(x)
        totals = np.zeros(n)
        for _ in range(self.samples if n else 0):
            totals += np.sort(x[rng.integers(n, size=n)]) / self.samples
        new = np.empty(n)
        new[np.lexsort((rng.permutation(n), x))] = totals
        return new
