"""EM for mixtures of multivariate normal and t distributions (native/mixture/mixture.cpp)."""

from typing import Literal, get_args

import numpy as np

from shoal.kernels import linear
from shoal.kernels._native import SINGULAR, MixtureFit, Statistics, floored_proportions, mixture_em, mixture_scores
from shoal.kernels.arrays import Floats, Ints

CovarianceModel = Literal[
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"
]
"""Volume, shape and orientation of the groups' covariances: Equal, Variable or Identity (Celeux & Govaert 1995)."""

COVARIANCE_MODELS: tuple[CovarianceModel, ...] = get_args(CovarianceModel)

VVE_ALONG_EVE = "VVE along EVE"
"""VVE with the axes that EVE would choose, which do not maximise VVE's likelihood: the fixed point that mclust 6.0.0
reports as VVE. For comparison only; no method fits it."""


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


def parameter_count(model: str, groups: int, d: int) -> int:
    """Number of free parameters of a normal mixture (Celeux & Govaert 1995, table 1)."""
    volume, shape, orientation = tuple(model)
    volumes = groups if volume == "V" else 1
    shapes = {"I": 0, "E": d - 1, "V": groups * (d - 1)}[shape]
    turns = {"I": 0, "E": 1, "V": groups}[orientation] * (d * (d - 1) // 2)
    return (groups - 1) + groups * d + volumes + shapes + turns
