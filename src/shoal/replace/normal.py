"""Draws from a multivariate normal distribution with the group's mean and covariance."""

import numpy as np

from shoal.kernels.draws import standard_normal
from shoal.kernels.tall import times
from shoal.replace._residuals.rotation import Split, factor, rotate
from shoal.replace.drawing import Draw
from shoal.replace.synthesis import MomentDraw
from shoal.table.prelude import Floats, Generator, Longs, Partition
from shoal.vocabulary.registry import method


@method("normal", title="Multivariate normal draw", source="Oganian & Domingo-Ferrer (2017)")
class Normal(MomentDraw):
    """All target columns of a group drawn from a normal distribution with the group's mean and covariance.

    With `exact` the sample mean and covariance of the draw are those of the group, by rotating the centred
    columns at random (IPSO with nothing kept), else they are so in expectation.

    Parameters
    ----------
    exact
        Whether mean and covariance of the draw equal the group's, or only their expectations do.
    small, support, marginals
        As for IPSO: a group needs L + 2 records for L columns, and 4 at least.
    """

    exact: bool = True

    def draw(self, partition: Partition) -> tuple[Draw, bool]:
        return rotate if self.exact else _free, self.exact


def _free(parts: Split, _: Longs, rng: Generator) -> Floats:
    """Normal residuals whose covariance is the group's n - 1 covariance; a single record has none."""
    freedom = np.sqrt(max(parts.residual.shape[1] - 1, 1))
    draw = standard_normal(rng, parts.residual.shape)
    return times(draw, factor(parts.residual) / freedom)
