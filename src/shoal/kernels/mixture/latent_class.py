"""EM for latent class models and latent class regression (`native/mixture/latent_class.cpp`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import shoal.kernels._native as _native
from shoal.kernels.arrays import Floats, Ints, Progress, floats, ints
from shoal.kernels.elementary import exp
from shoal.kernels.logit import INTERCEPT_PRECISION, SLOPE_PRECISION
from shoal.kernels.tall import times


class LatentClassFit(NamedTuple):
    """A fitted latent class model.

    Parameters
    ----------
    loglik
        Log-likelihood without the priors.
    objective
        Log-likelihood plus logarithms of the priors: what EM raises.
    steps
        EM steps made.
    moved, reached
        Whether the last prevalences were below the floor, and whether the posteriors could be moved to the new ones.
    prevalence
        Shape (G,); mean prevalence p*_g.
    coefficient
        Shape (G, q); of the covariates in the multinomial logit of the class.
    log_table
        Shape (categories of all columns, G); log of the probability of each category in each class.
    posterior
        Shape (n, G); from the last E-step.
    """

    loglik: float
    objective: float
    steps: int
    converged: bool
    moved: bool
    reached: bool
    prevalence: Floats
    coefficient: Floats
    log_table: Floats
    posterior: Floats


def offsets_of(categories: ArrayLike) -> Ints:
    """Shape (J + 1,); first row of each column's categories in a table, from their numbers (J,)."""
    return np.concatenate([[0], np.cumsum(categories)]).astype(np.int32)


def latent_class_em(
    codes: ArrayLike,
    categories: ArrayLike,
    posterior: ArrayLike,
    *,
    covariates: ArrayLike | None = None,
    floor: float = 0.0,
    pseudo: float = 1.0,
    tolerance: float = 1e-8,
    most_steps: int = 1000,
    progress: Progress = None,
) -> LatentClassFit:
    """Fit a latent class model by EM, beginning with an M-step.

    Parameters
    ----------
    codes
        Shape (n, J); category of each answer, from 0; -1 where it is missing.
    categories
        Shape (J,); number of categories of each column.
    posterior
        Shape (n, G); first class memberships, rows that sum to 1.
    covariates
        Shape (n, q), its first column 1, the others standardised: latent class regression. None: the plain model.
    floor
        Smallest mean prevalence, at most 1/G.
    pseudo
        How many records each class is credited with that answer like the whole table; above 0.
    tolerance
        Stop when the objective F changes by at most `tolerance` (1 + |F|).
    """
    rows = ints(codes)
    x = np.ones((len(rows), 1)) if covariates is None else floats(covariates)
    return LatentClassFit(
        *_native.latent_class_em(
            rows,
            offsets_of(categories),
            x,
            floats(posterior),
            floor,
            pseudo,
            SLOPE_PRECISION,
            INTERCEPT_PRECISION,
            tolerance,
            most_steps,
            progress,
        )
    )


def latent_class_scores(
    codes: ArrayLike, categories: ArrayLike, coefficient: Floats, log_table: Floats, covariates: ArrayLike | None = None
) -> Floats:
    """Shape (n, G); log of prior class probability times probability of the answers."""
    rows = ints(codes)
    x = np.ones((len(rows), 1)) if covariates is None else floats(covariates)
    scores: Floats = _native.latent_class_scores(
        rows, offsets_of(categories), x, floats(coefficient), floats(log_table)
    )
    return scores


def class_probabilities(coefficient: Floats, covariates: Floats) -> Floats:
    """Shape (n, G); p_g(x) of the multinomial logit."""
    logs = times(covariates[None], coefficient.T[None])[0]
    raised = exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def project_prevalences(posterior: ArrayLike, target: ArrayLike) -> tuple[Floats, bool]:
    """Move posteriors (n, G) to column means `target` (G,), nearest in Kullback-Leibler divergence.

    Returns
    -------
    Shape (n, G), and whether every mean is within 1e-10 of its target.
    """
    moved, reached = _native.project_prevalences(floats(posterior), floats(target))
    return moved, bool(reached)


def latent_class_parameters(groups: int, categories: ArrayLike, covariates: int = 0) -> int:
    """Free parameters: the logit (or the proportions) and a table a class.

    Parameters
    ----------
    categories
        Shape (J,); number of categories of each column.
    covariates
        Number of covariates beside the constant.
    """
    return (groups - 1) * (1 + covariates) + groups * int((np.asarray(categories) - 1).sum())
