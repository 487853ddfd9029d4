"""EM for latent class models and latent class regression (native/mixture/latent_class.cpp)."""

import numpy as np

from shoal.kernels._native import LatentClassFit, latent_class_em, latent_class_scores, project_prevalences
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.elementary import exp
from shoal.kernels.tall import times


def class_probabilities(coefficient: Floats, covariates: Floats) -> Floats:
    """Shape (n, G); p_g(x) of the multinomial logit."""
    logs = times(covariates[None], coefficient.T[None])[0]
    raised = exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def latent_class_parameters(groups: int, categories: Longs, covariates: int = 0) -> int:
    """Number of free parameters: the logit (or the proportions), and a table for each class.

    Parameters
    ----------
    categories
        Shape (J,); number of categories of each column.
    covariates
        Number of covariates in addition to the constant.
    """
    return (groups - 1) * (1 + covariates) + groups * int((categories - 1).sum())
