"""Draws from a multivariate t distribution with the group's mean and covariance.

A t vector is a normal one over the root of an independent chi^2/nu, the same for all its coordinates: a few records lie
far out in every column at once. The draw is centred, made orthonormal in the way that moves it least (its polar factor,
so that no column is favoured), and given the group's cross products: mean and covariance are then exactly the group's,
and the tails are those of the t distribution as far as that allows.
"""

from typing import Annotated, Literal, Protocol, runtime_checkable

import numpy as np

from shoal.kernels.draws import chi_squared, standard_normal
from shoal.kernels.tall import orthonormal, principal, times
from shoal.replace._residuals.rotation import NEGLIGIBLE, Split, factor
from shoal.replace.drawing import Draw
from shoal.replace.synthesis import MomentDraw
from shoal.table.prelude import Floats, Generator, Partition
from shoal.vocabulary.prelude import Gt, ParameterError, Setting, method

NORMAL = np.array([np.inf])
"""Degrees of freedom of a group that is too small for a mixture."""


@runtime_checkable
class HasTails(Protocol):
    """A model of groups that says how long their tails are."""

    @property
    def degrees_of_freedom(self) -> Floats:
        """Shape (G,); infinite for normal groups."""


@method(
    "multivariate-t",
    title="Multivariate t draw",
    source="Lange, Little & Taylor (1989)",
    example={"degrees_of_freedom": 5.0},
)
class MultivariateT(MomentDraw):
    """All target columns of a group drawn from a t distribution with the group's exact mean and covariance.

    After `gaussian-mixture` with `tails: t` the draw has the law that shaped the group: the degrees of freedom are
    those fitted to it.

    Parameters
    ----------
    degrees_of_freedom
        Of every group; by default those of the partition's model. Few make long tails; from about 30 on the draw is
        all but normal.
    small, support, marginals
        As for IPSO: a group needs L + 2 records for L columns, and 4 at least.
    """

    degrees_of_freedom: Annotated[float, Gt(0), Setting()] | None = None
    small: Literal["refuse", "merge"] = "refuse"

    def draw(self, partition: Partition) -> tuple[Draw, bool]:
        freedom = self._by_record(partition)
        return lambda parts, rows, rng: _drawn(parts, freedom[rows[:, 0]], rng), True

    def _by_record(self, partition: Partition) -> Floats:
        """Shape (n,); the degrees of freedom of each record's group."""
        if self.degrees_of_freedom is not None:
            return np.full(len(partition), self.degrees_of_freedom)
        models = list(partition.model.values()) if isinstance(partition.model, dict) else [partition.model]
        estimated = [m.degrees_of_freedom if isinstance(m, HasTails) else NORMAL for m in models]
        if all(degrees is NORMAL for degrees in estimated) or sum(map(len, estimated)) != partition.n_groups:
            raise ParameterError(
                "multivariate-t: degrees_of_freedom must be given, as the partition fitted none. Give a number, or "
                "form groups by gaussian-mixture with tails: t."
            )
        return np.concatenate(estimated)[partition.labels]


def _drawn(parts: Split, freedom: Floats, rng: Generator) -> Floats:
    """Residuals (B, s, L) with the cross products of the group's and the tails of t with `freedom` (B,)."""
    size = parts.residual.shape[:2]
    draw = standard_normal(rng, parts.residual.shape)
    finite = np.where(np.isfinite(freedom), freedom, 1.0)[:, None]
    spread = np.sqrt(chi_squared(rng, np.broadcast_to(finite, size)) / finite)
    draw = draw / np.where(np.isfinite(freedom)[:, None], spread, 1.0)[:, :, None]
    left, _, right, _ = principal(parts.off(draw), NEGLIGIBLE)
    frame = parts.off(times(left, right))
    frame = orthonormal(frame, np.ones((len(frame), frame.shape[2]), dtype=bool))
    return times(frame, factor(parts.residual))
