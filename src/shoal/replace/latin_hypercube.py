"""Latin hypercube draws: synthetic groups whose columns are spread evenly over their distributions."""

import numpy as np

from shoal.kernels.elementary import normal_quantile
from shoal.replace._residuals.rotation import Split, restored, rotate
from shoal.replace.drawing import Draw
from shoal.replace.synthesis import MomentDraw
from shoal.table.prelude import Floats, Generator, Longs, Partition
from shoal.vocabulary.registry import method

OPEN = float(np.finfo(np.float64).epsneg)
"""Shares this near to 0 and 1 have a quantile."""


@method("latin-hypercube", title="Latin hypercube draw", source="Dandekar, Cohen & Kirkendall (2002); Stein (1987)")
class LatinHypercube(MomentDraw):
    """All target columns of a group drawn with its mean and covariance, one value from each stratum of each column.

    A column's normal distribution is cut into as many strata of equal probability as the group has records, and one
    value is drawn from each; which records get them is decided by the ranks of a normal draw with the group's
    covariance (Stein 1987). So columns have no gaps and clusters by chance: quantiles, and means of whatever is
    computed column by column, vary less from draw to draw than those of `normal`. With `marginals: quantile` columns
    are drawn through their own quantiles, as Dandekar, Cohen & Kirkendall do.

    Parameters
    ----------
    exact
        Whether mean and covariance of the draw are made equal to the group's; values then move a little off their
        strata. Otherwise they are nearly so.
    small, support, marginals
        As for IPSO: a group needs L + 2 records for L columns, and 4 at least.
    """

    exact: bool = True

    def draw(self, partition: Partition) -> tuple[Draw, bool]:
        return _exact if self.exact else _stratified, self.exact


def _stratified(parts: Split, rows: Longs, rng: Generator) -> Floats:
    """Residuals (B, s, L), one in each of s strata of every column, ranked as a rotation of the group's."""
    size = parts.residual.shape[1]
    ranks = np.argsort(np.argsort(rotate(parts, rows, rng), axis=1, kind="stable"), axis=1, kind="stable")
    shares = np.clip((ranks + rng.random(ranks.shape)) / size, OPEN, 1 - OPEN)
    spread = np.sqrt((parts.residual**2).sum(axis=1, keepdims=True) / max(size - 1, 1))
    return np.asarray(normal_quantile(shares) * spread)


def _exact(parts: Split, rows: Longs, rng: Generator) -> Floats:
    """Stratified residuals, moved as little as can be to the group's cross products."""
    return parts.centred(restored(parts.join(_stratified(parts, rows, rng)), parts, parts.root))
