"""EM for mixtures of multivariate normal and t distributions (`native/mixture/mixture.cpp`)."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

import shoal.kernels._native as _native
from shoal.kernels import linear
from shoal.kernels.arrays import Floats, Ints, Progress, floats

CovarianceModel = Literal[
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"
]
"""Volume, shape and orientation of the groups' covariances: Equal, Variable or Identity (Celeux & Govaert 1995)."""

COVARIANCE_MODELS: tuple[CovarianceModel, ...] = get_args(CovarianceModel)

VVE_ALONG_EVE = "VVE along EVE"
"""VVE with the axes that EVE would choose, which do not maximise VVE's likelihood: the fixed point that mclust 6.0.0
reports as VVE. For comparison only; no method fits it."""

SINGULAR = 1e-12
"""Least conditional variance of a column within a group; the data are standardised, so about its square is lost
to rounding in a Cholesky factor."""


class Statistics(NamedTuple):
    """All that an M-step needs.

    Parameters
    ----------
    weight
        Shape (G,); sum of the posteriors of each group.
    mean
        Shape (G, d).
    scatter
        Shape (G, d, d); weighted sum of squares and products about the group's mean.
    """

    weight: Floats
    mean: Floats
    scatter: Floats


class MixtureFit(NamedTuple):
    """A fitted mixture.

    Parameters
    ----------
    loglik
        Log-likelihood at these parameters; minus infinity if the first M-step was singular.
    steps
        EM steps made.
    singular
        Group whose covariance became singular, or -1; if not -1 the fit is of no use.
    proportion, mean, covariance
        Shapes (G,), (G, d), (G, d, d); the covariance is the scale matrix of a t component.
    dof
        Shape (G,); degrees of freedom, infinity for a normal component.
    statistics
        From the last E-step; starting from them goes on where this fit stopped (t components take one step
        without moving their degrees of freedom).
    """

    loglik: float
    steps: int
    converged: bool
    singular: int
    proportion: Floats
    mean: Floats
    covariance: Floats
    dof: Floats
    statistics: Statistics


def statistics_of(x: Floats, labels: Ints, groups: int) -> Statistics:
    """Statistics of a hard assignment: `x` of shape (n, d), `labels` of shape (n,) in 0 to groups - 1."""
    weight = np.bincount(labels, minlength=groups).astype(np.float64)
    mean = np.zeros((groups, x.shape[1]))
    scatter = np.zeros((groups, x.shape[1], x.shape[1]))
    for g in np.flatnonzero(weight):
        members = x[labels == g]
        mean[g] = members.mean(axis=0)
        scatter[g] = linear.cross_product(members - mean[g], members - mean[g])
    return Statistics(weight, mean, scatter)


def mixture_em(
    x: ArrayLike,
    start: Statistics,
    *,
    model: str = "VVV",
    dof: ArrayLike | None = None,
    floor: float = 0.0,
    tolerance: float = 1e-10,
    singular: float = SINGULAR,
    ridge: float = 0.0,
    most_steps: int = 1000,
    progress: Progress = None,
) -> MixtureFit:
    """Fit a mixture by EM, beginning with an M-step.

    Parameters
    ----------
    x
        Shape (n, d), finite, standardised.
    start
        Statistics of a first assignment (of the records or of a sample of them).
    model
        One of `COVARIANCE_MODELS`, or `VVE_ALONG_EVE`.
    dof
        Shape (G,); first degrees of freedom, infinity for a normal component; all normal if None.
    floor
        Smallest mixing proportion, at most 1/G: equations (3) and (4) of Oganian & Domingo-Ferrer (2017).
    tolerance
        Stop when the log-likelihood L changes by at most `tolerance` (1 + |L|).
    singular
        Stop when a conditional variance within a group is not above this.
    ridge
        Added to every variance within a group before the model shapes the covariances.
    progress
        Called with the share of `most_steps` that is done.

    Notes
    -----
    One pass over the records a step; beside `x` the memory is that of the parameters.
    """
    degrees = np.full(len(start.weight), np.inf) if dof is None else floats(dof)
    loglik, steps, converged, failed, proportion, mean, covariance, degrees, *statistics = _native.mixture_em(
        floats(x),
        floats(start.weight),
        floats(start.mean),
        floats(start.scatter),
        degrees,
        model,
        floor,
        tolerance,
        singular,
        ridge,
        most_steps,
        progress,
    )
    return MixtureFit(loglik, steps, converged, failed, proportion, mean, covariance, degrees, Statistics(*statistics))


def mixture_scores(x: ArrayLike, fit: MixtureFit) -> Floats:
    """Shape (n, G); log of proportion times density of each record in each group."""
    scores: Floats = _native.mixture_scores(floats(x), fit.proportion, fit.mean, fit.covariance, fit.dof)
    return scores


def floored_proportions(weight: ArrayLike, floor: float) -> Floats:
    """Shape (G,); weights as proportions, moved by equations (3) and (4) so that none is below `floor`."""
    proportions: Floats = _native.floored_proportions(floats(weight), floor)
    return proportions


def parameter_count(model: str, groups: int, d: int) -> int:
    """Free parameters of a normal mixture: proportions, means and covariances (Celeux & Govaert 1995, table 1)."""
    volume, shape, orientation = tuple(model)
    volumes = groups if volume == "V" else 1
    shapes = {"I": 0, "E": d - 1, "V": groups * (d - 1)}[shape]
    turns = {"I": 0, "E": 1, "V": groups}[orientation] * (d * (d - 1) // 2)
    return (groups - 1) + groups * d + volumes + shapes + turns
