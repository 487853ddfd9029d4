"""Change of linear regressions: coefficients, standard errors, overlap of confidence intervals."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.kernels import linear
from shoal.kernels.tall import independent, triangular
from shoal.utility.base import UtilityMeasure
from shoal.utility.correlation_change import complete
from shoal.vocabulary.prelude import Columns, NoFigure, in_digits, method, of_original, quoted

COLLINEAR = 1e-9
"""A column whose residual variance given the columns before is below this share of its variance is left out."""

REACH = 1.96
"""Half the length of a 95 % interval in standard errors."""


@method(
    "regressions", title="Change of regressions", source="Oganian & Domingo-Ferrer (2017), Table 2; Karr et al. (2006)"
)
class Regressions(UtilityMeasure):
    """Every continuous column is regressed on all the others, in both tables, and the results are compared.

    The figure is the median of |b' - b| / |b| over all slopes b; the details hold the same for their standard errors,
    and the overlap of the 95 % confidence intervals: the part of each interval that both share, averaged over the two
    tables (Karr, Kohnen, Oganian, Reiter & Sanil 2006); 1 where they coincide, 0 where they do not meet.

    Parameters
    ----------
    figure
        Which of the three is the measure's value.
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous. Columns that
        are linear combinations of those before them are left out, and listed.
    average
        The `median`, or the `mean` of the source, which a slope near 0 makes large whatever became of the others.
    """

    unchanged = 0.0
    cheap = True
    continuous = True

    figure: Literal["coefficients", "standard errors", "interval overlap"] = "coefficients"
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    average: Literal["median", "mean"] = "median"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        if len(names) < 2:
            raise NoFigure("Fewer than two continuous columns are in both tables, so there is no regression.")
        x, y = complete(original.raw(names)), complete(released.raw(names))
        if min(len(x), len(y)) <= len(names):
            raise NoFigure(f"Regressions among {len(names)} columns need more than {len(names)} complete records.")
        chosen = independent(x, COLLINEAR)
        left_out = [name for name, keep in zip(names, chosen) if not keep]
        width = int(chosen.sum())
        if width < 2:
            raise NoFigure("Fewer than two columns are left that vary and are not combinations of the others.")
        x, y = (table if chosen.all() else table[:, chosen] for table in (x, y))
        single = independent(y, COLLINEAR)
        if not single.all():
            dependent = [n for n, keep in zip(np.array(names)[chosen], single) if not keep]
            raise NoFigure(
                f"In the released table {quoted(dependent)} became constant or a combination of the other columns, so "
                f"its regressions have no single solution."
            )
        spread = x.std(axis=0)
        before, after = (all_regressions(np.divide(table, spread, out=table)) for table in (x, y))
        real = np.abs(before.slopes) > 1e-12
        change = np.abs(after.slopes - before.slopes)[real] / np.abs(before.slopes[real])
        errors = np.abs(after.errors - before.errors) / before.errors
        overlap = interval_overlap(before, after)
        figures = {"coefficients": change, "standard errors": errors, "interval overlap": overlap}
        if not figures[self.figure].size:
            raise NoFigure("Every coefficient of the original is 0, so there is no relative change.")
        average = np.median if self.average == "median" else np.mean
        value = float(average(figures[self.figure]))
        return self.finding(
            value,
            f"Half of the slopes of regressions of every column on the others change by less than "
            f"{in_digits(100 * float(np.median(change)), 3)} %; their confidence intervals share "
            f"{in_digits(100 * float(overlap.mean()), 3)} % on average."
            if change.size
            else "Every coefficient of the original is 0.",
            limits=(0.0, 1.0) if self.figure == "interval overlap" else self.limits,
            better="higher" if self.figure == "interval overlap" else "lower",
            facts=of_original(
                {
                    "mean": {key: float(part.mean()) if part.size else None for key, part in figures.items()},
                    "median": {key: float(np.median(part)) if part.size else None for key, part in figures.items()},
                    "regressions": width,
                    "columns left out": left_out,
                }
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits:
    """Slopes and their standard errors, shape (d (d - 1),): each column in turn on all the others."""

    slopes: Floats
    errors: Floats


def all_regressions(x: Floats) -> Fits:
    """Regress every column of x (n, d) on the others, with an intercept.

    With Omega the inverse of the cross products C of the centred columns, the slopes of column i are
    -Omega_ij / Omega_ii, its residual sum of squares is 1 / Omega_ii, and the inverse cross products of the others are
    Omega_jk - Omega_ji Omega_ik / Omega_ii.
    """
    n, d = x.shape
    r = triangular((x - x.mean(axis=0))[None])[0]
    root = linear.inverse(r)
    omega = linear.product(root, root.T)
    diagonal = np.diag(omega)
    other = ~np.eye(d, dtype=bool)
    slopes = -omega / diagonal[:, None]
    variance = 1 / diagonal / (n - d)
    without = diagonal[None, :] - omega**2 / diagonal[:, None]
    errors = np.sqrt(np.maximum(variance[:, None] * without, 0.0))
    return Fits(slopes=slopes[other], errors=errors[other])


def interval_overlap(before: Fits, after: Fits) -> Floats:
    """Mean share of each 95 % interval that both have in common (Karr et al. 2006); 0 where they do not meet."""
    low = np.maximum(before.slopes - REACH * before.errors, after.slopes - REACH * after.errors)
    high = np.minimum(before.slopes + REACH * before.errors, after.slopes + REACH * after.errors)
    shared = np.maximum(high - low, 0.0)
    lengths = [2 * REACH * fits.errors for fits in (before, after)]
    shares = [np.where(length > 0, shared / np.where(length > 0, length, 1.0), 1.0) for length in lengths]
    return np.asarray((shares[0] + shares[1]) / 2)
