"""Draws from a multivariate normal distribution with the group's mean and covariance."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.draws import standard_normal
from shoal.kernels.tall import times
from shoal.methods import Scales, method
from shoal.replace._residuals.rotation import Split, factor, rotate
from shoal.replace.synthesis import Synthesiser
from shoal.step_result import Dealing, StepResult


@method("normal", title="Multivariate normal draw", source="Oganian & Domingo-Ferrer (2017)")
class Normal(Synthesiser):
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

    scales: ClassVar[Scales] = "blocks"

    exact: bool = True

    @property
    def dealing(self) -> Dealing:
        return "drawn"

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        draw = rotate if self.exact else _free
        return self._synthesise(records, columns, partition, (), draw, rng, progress, exact=self.exact)


def _free(parts: Split, _: Longs, rng: np.random.Generator) -> Floats:
    """Normal residuals whose covariance is the group's n - 1 covariance; a single record has none."""
    freedom = np.sqrt(max(parts.residual.shape[1] - 1, 1))
    draw = standard_normal(rng, parts.residual.shape)
    return times(draw, factor(parts.residual) / freedom)
