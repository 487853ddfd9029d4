"""Multivariate top coding: outliers are pulled to the ellipsoid that holds nearly all records."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Lt

from shoal.mask.base import Mask
from shoal.table.prelude import Bools, Floats, Generator, Progress, Records, StepResult
from shoal.table.robust_covariance import STARTS, Ellipsoid, chi_squared_quantile, robust_ellipsoid
from shoal.vocabulary.prelude import Count, DataError, Gt, NoFigure, Setting, method, quoted


@method(
    "multivariate-top-code",
    title="Multivariate top coding",
    source="Templ, Kowarik & Meindl (2015); Rousseeuw & Van Driessen (1999)",
)
class MultivariateTopCode(Mask):
    """Records that lie far out from all others are pulled straight towards the middle, to where nearly all records end.

    How far out a record lies is its Mahalanobis distance in the robust mean and covariance of the columns (minimum
    covariance determinant, reweighted), so that outliers do not hide one another. Whose distance exceeds the quantile
    of normal records is moved towards the mean until it has just that distance; all others stay as they are. A record
    can be found by an unusual combination of values none of which is extreme by itself: these `top-code` does not see.
    In sdcMicro the method is called mvTopCoding.

    Parameters
    ----------
    tail
        Share of normal records that would lie beyond the ellipsoid.

    Notes
    -----
    A record with missing cells is judged by its known ones, which are pulled in the same way. Columns of one value stay
    as they are. Records that were pulled keep their direction and lie where few others do: what is required of the
    release must be proved on it, as always.
    """

    scales = "memory"
    starts = STARTS  # of its search, which is why few records are taken where it is only tried
    reads_others = False
    leaves_gaps = True

    tail: Annotated[float, Gt(0), Lt(1), Setting()] = 0.025

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        self.continuous(records, columns)
        names = [name for name in columns if not _constant(records[name].values)]
        x = records.raw(names)
        known = ~np.isnan(x)
        pulled = 0
        if names and len(x) > len(names) + 1:  # so few are all equally far from their mean
            ellipsoid = self._ellipsoid(names, x[known.all(axis=1)], rng)
            pulled = self._pull(x, known, ellipsoid)
        return StepResult(records=records.with_raw(names, x), facts={"records pulled in": Count(n=pulled)})

    def _ellipsoid(self, names: Sequence[str], complete: Floats, rng: Generator) -> Ellipsoid:
        if len(complete) <= len(names) + 1:
            raise DataError(
                f"multivariate-top-code needs {len(names) + 2} records or more that are complete in {quoted(names)}; "
                f"there are {len(complete)}. Take fewer columns, or set missing: impute."
            )
        try:
            return robust_ellipsoid(complete, rng)
        except NoFigure:
            raise DataError(
                f"multivariate-top-code: half of the records of {quoted(names)} lie in fewer dimensions than there are "
                f"columns, because many agree in a column or columns follow from one another. Leave columns out."
            ) from None

    def _pull(self, x: Floats, known: Bools, ellipsoid: Ellipsoid) -> int:
        """Pull the rows of x in place, those that lack the same cells at once; the number of rows pulled."""
        patterns, of_row = np.unique(known, axis=0, return_inverse=True)
        pulled = 0
        for number, pattern in enumerate(patterns):
            here = np.flatnonzero(pattern)
            if not len(here):
                continue
            rows = np.flatnonzero(of_row.reshape(-1) == number)
            part, cut = ellipsoid.among(here), chi_squared_quantile(1 - self.tail, len(here))
            squares = part.squares(x[np.ix_(rows, here)])
            rows, squares = rows[squares > cut], squares[squares > cut]
            cells = np.ix_(rows, here)
            x[cells] = part.centre + (x[cells] - part.centre) * np.sqrt(cut / squares)[:, None]
            pulled += len(rows)
        return pulled


def _constant(values: Floats) -> bool:
    present = values[~np.isnan(values)]
    return not len(present) or bool(np.ptp(present) == 0)
