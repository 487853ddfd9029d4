"""Probabilistic information loss (Mateo-Sanz, Domingo-Ferrer & Sebe 2005)."""

from math import pi

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.judges.table_pair import ROUNDING
from shoal.kernels import linear
from shoal.kernels.elementary import exp, normal_cdf, normal_quantile, power
from shoal.utility.base import OfNumbers
from shoal.utility.correlation_change import complete
from shoal.vocabulary.prelude import ByColumn, ByLabel, NoFigure, in_digits, method, of_original

PROBABILITIES = np.arange(1, 20) / 20
"""The quantiles compared: 5 to 95 %, as in the source."""

Z = normal_quantile(PROBABILITIES)

REACH = power(4.5 * (exp(-2 * Z**2) / (2 * pi) ** 2) / (2 * Z**2 + 1) ** 2, 0.2)
"""How far to either side of a probability, times n^(-1/5), the slope of the quantiles is taken (Bofinger 1975)."""


@method("pil", title="Probabilistic information loss (PIL)", source="Mateo-Sanz et al. (2005); Bofinger (1975)")
class PIL(OfNumbers):
    """Probability, in per cent, that sampling alone would move a statistic by less than the masking did.

    A statistic t of the original is an estimate with a standard error s. Where the release has t', the loss is
    100 P(|Z| <= |t' - t| / s) for a standard normal Z: 0 where nothing moved, 50 where every second sample would have
    moved as much, at most 100. The figure is the mean of five losses, each the mean over its statistics: means,
    variances, covariances and correlations of pairs, and the quantiles from 5 to 95 %.

    Standard errors are those of large samples (section 4 of the source), from the original's moments to order 4. At a
    quantile the density is estimated by the difference quotient of neighbouring quantiles (Bofinger 1975). Statistics
    are of the records without a missing cell in these columns. One that cannot vary, such as the mean of a constant
    column, loses 0 if it stayed and 100 if it moved. Correlations are those of columns that vary in the original; one
    that only the release made constant has correlations of 0.
    """

    unchanged = 0.0
    score_weight = 0.5
    limits = (0.0, 100.0)
    cheap = True
    needs = ("columns",)

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        x, y = complete(pair.before.raw(names)), complete(pair.released.raw(names))
        if min(len(x), len(y)) < 2:
            raise NoFigure("A table has fewer than two complete records.")
        _scale(x, y)
        losses = {name: loss for name, loss in _losses(x, y).items() if loss.size}
        means = {name: float(loss.mean()) for name, loss in losses.items()}
        worst = max(means, key=lambda name: means[name])
        value = float(np.mean(list(means.values())))
        return self.finding(
            value,
            f"Masking moves statistics further than {in_digits(value, 3)} % of samples would; most, {worst}, further "
            f"than {in_digits(means[worst], 3)} %."
            if value
            else "No mean, variance, correlation or quantile moves.",
            by_column=ByColumn(of_original(_by_column(names, losses))),
            facts=of_original({"loss by statistic": means, "records compared": len(x)}),
        )


def _by_column(names: tuple[str, ...], losses: dict[str, Floats]) -> ByLabel:
    """Losses of the statistics that a column has alone."""
    own = ("means", "variances", "quantiles")
    return {name: {kind: float(losses[kind][..., j].mean()) for kind in own} for j, name in enumerate(names)}


def _scale(x: Floats, y: Floats) -> None:
    """Both tables in units in which the original's columns have mean 0 and variance 1, so that no power overflows.

    A column that is constant in the original is left at 0, in units of what it holds. In place: a table may be large.
    """
    middle = np.median(x, axis=0)
    varies = np.ptp(x, axis=0) > 0
    x -= middle
    y -= middle
    width = np.max([x.max(axis=0), -x.min(axis=0), y.max(axis=0), -y.min(axis=0)], axis=0)
    width = np.maximum(np.where(varies, width, np.maximum(width, np.abs(middle))), np.finfo(float).tiny)
    x /= width
    y /= width
    centre, spread = x.mean(axis=0), np.where(varies, x.std(axis=0), 1.0)
    for table in (x, y):
        table -= centre
        table /= spread


def _losses(x: Floats, y: Floats) -> dict[str, Floats]:
    """Losses of the statistics of each kind, in per cent; quantiles of shape (probabilities, columns)."""
    n, d = x.shape
    first, second = np.triu_indices(d, 1)
    varies = np.ptp(x, axis=0) > 0
    both = varies[first] & varies[second]
    square = x**2
    squares = linear.cross_product(square, square) / n  # mean of x_i^2 x_j^2
    square *= x
    cubes = linear.cross_product(square, x) / n  # mean of x_i^3 x_j
    del square
    before, after = _covariances(x), _covariances(y)
    rho = before[first, second]
    m22, fourth = squares[first, second], np.diag(squares)
    of_correlations = (
        m22
        + rho**2 / 4 * (fourth[first] + fourth[second] + 2 * m22)
        - rho * (cubes[first, second] + cubes[second, first])
    )
    correlated = _correlations(after)[first, second]
    return {
        "means": _loss(y.mean(axis=0) - x.mean(axis=0), np.diag(before) / n),
        "variances": _loss(np.diag(after) - np.diag(before), (fourth - np.diag(before) ** 2) / n),
        "covariances": _loss(after[first, second] - rho, (m22 - rho**2) / n),
        "correlations": _loss((correlated - rho)[both], of_correlations[both] / n),
        "quantiles": _loss(_quantiles(y) - _quantiles(x), _variances_of_quantiles(x)),
    }


def _loss(change: Floats, variance: Floats) -> Floats:
    """100 P(|Z| <= |change| / s), and all or nothing where there is no sampling error."""
    moved = np.abs(change) > ROUNDING
    certain = variance <= ROUNDING**2
    z = np.abs(change) / np.sqrt(np.where(certain, 1.0, variance))
    return np.where(moved, np.where(certain, 100.0, 100 * (2 * normal_cdf(np.minimum(z, 40.0)) - 1)), 0.0)


def _covariances(x: Floats) -> Floats:
    centred = np.where(np.ptp(x, axis=0) > 0, x - x.mean(axis=0), 0.0)
    return np.asarray(linear.cross_product(centred, centred) / len(x))


def _correlations(covariances: Floats) -> Floats:
    spread = np.sqrt(np.diag(covariances))
    spread = np.where(spread > 0, spread, 1.0)
    return np.asarray(covariances / np.outer(spread, spread))


def _quantiles(x: Floats) -> Floats:
    return np.asarray(np.quantile(x, PROBABILITIES, axis=0))


def _variances_of_quantiles(x: Floats) -> Floats:
    """q (1 - q) / (n f^2), with 1 / f the slope of the quantiles about q."""
    n, q = len(x), PROBABILITIES
    reach = np.minimum(REACH * power(n, -0.2), np.minimum(q, 1 - q))
    slope = (np.quantile(x, q + reach, axis=0) - np.quantile(x, q - reach, axis=0)) / (2 * reach[:, None])
    return np.asarray((q * (1 - q) / n)[:, None] * slope**2)
