"""Mean variation of statistics over subsamples."""

from typing import Annotated

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import NoFigure, in_digits
from shoal.vocabulary.prelude import Columns, Count, Ge, Gt, Le, OfOriginal, OfPlan, Setting, method, of_original


@method(
    "mean-variation",
    title="Variation of statistics over subsamples",
    source="Domingo-Ferrer & Gonzalez-Nicolas (2010), Section 5.3",
)
class MeanVariation(UtilityMeasure):
    """Delta(theta) = mean over random samples of |theta' - theta| / |theta|, the same records in both tables.

    The statistics theta are, of every column that the release changed, its mean, variance, third and fourth
    central moments, and its covariances with the columns that stayed (or, where none stayed, with the other changed
    ones). It tells how analyses of parts of the table fare. The figure is the median of Delta over the statistics; the
    details hold every Delta and, since the mean is dominated by samples in which theta is near 0, also the median over
    samples.

    Parameters
    ----------
    samples
        Number of samples, drawn without replacement each.
    share
        Share of the records in a sample.
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    """

    unchanged = 0.0
    needs = ("columns", "pairing")
    continuous = True

    samples: Annotated[int, Ge(1)] = 100
    share: Annotated[float, Gt(0), Le(1), Setting()] = 0.1
    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        before, after = original.raw(names)[place], released.raw(names)
        complete = ~(np.isnan(before) | np.isnan(after)).any(axis=1)
        before, after = before[complete], after[complete]
        size = round(self.share * len(before))
        if size < 2:
            raise NoFigure(f"A sample of {in_digits(self.share, 3)} of {len(before):,} records holds fewer than two.")
        changed = [j for j in range(len(names)) if (before[:, j] != after[:, j]).any()]
        if not changed:
            return self.finding(0.0, "No value was changed.", facts=of_original({"changed columns": []}))
        stayed = [j for j in range(len(names)) if j not in changed]
        labels, pairs = _labels(names, changed, stayed)
        rows = [rng.choice(len(before), size, replace=False) for _ in range(self.samples)]
        thetas = np.array([_statistics(before[r], changed, pairs) for r in rows])
        others = np.array([_statistics(after[r], changed, pairs) for r in rows])
        defined = thetas != 0
        variation = np.where(defined, np.abs(others - thetas) / np.where(defined, np.abs(thetas), 1.0), np.nan)
        kept = defined.any(axis=0)
        if not kept.any():
            raise NoFigure("Every statistic is 0 in every sample, so there is no relative change.")
        mean, middle = np.nanmean(variation[:, kept], axis=0), np.nanmedian(variation[:, kept], axis=0)
        statistics = [label for label, keep in zip(labels, kept) if keep]
        return self.finding(
            float(np.median(mean)),
            f"In samples of {in_digits(100 * self.share, 3)} % of the records, half of {len(statistics)} statistics "
            f"vary by less than {in_digits(100 * float(np.median(mean)), 3)} % on average.",
            facts={
                "mean over samples": OfOriginal(dict(zip(statistics, mean.tolist()))),
                "median over samples": OfOriginal(dict(zip(statistics, middle.tolist()))),
                "changed columns": OfOriginal([names[j] for j in changed]),
                "samples": OfPlan(self.samples),
                "records a sample": Count(n=size),
            },
        )


def _labels(names: tuple[str, ...], changed: list[int], stayed: list[int]) -> tuple[list[str], list[tuple[int, int]]]:
    """Names of the statistics, in the order of `_statistics`, and the pairs whose covariances they hold."""
    pairs = [(j, y) for y in stayed for j in changed]
    if not stayed:
        pairs = [(a, b) for i, a in enumerate(changed) for b in changed[i + 1 :]]
    kinds = ("mean of {}", "variance of {}", "third moment of {}", "fourth moment of {}")
    labels = [kind.format(names[j]) for kind in kinds for j in changed]
    return labels + [f"covariance of {names[a]} and {names[b]}" for a, b in pairs], pairs


def _statistics(x: Floats, changed: list[int], pairs: list[tuple[int, int]]) -> Floats:
    """Means, variances, third and fourth central moments, covariances; the last four about the sample's mean.

    Divided by n: a factor of n / (n - 1) would cancel in every relative change.
    """
    middle = x.mean(axis=0)
    about = np.where(np.ptp(x, axis=0) > 0, x - middle, 0.0)  # no rounding where all are equal
    own = about[:, changed]
    powers = [part.mean(axis=0) for part in (own**2, own**2 * own, (own**2) ** 2)]
    crossed = [float((about[:, a] * about[:, b]).mean()) for a, b in pairs]
    return np.concatenate([middle[changed], *powers, crossed])
