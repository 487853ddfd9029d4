"""Multinomial logistic regression by Newton's method.

P(y = c | x) is proportional to exp(x' b_c), with b_0 = 0. The log-likelihood is concave, and with a normal prior on
the coefficients strictly so: separated categories, which send a maximum likelihood estimate to infinity, get
finite coefficients. Newton steps are halved until the objective rises, so the method always ends at the maximum.

The second derivative has as many rows as there are coefficients, p (K - 1). Where these are many it is never written
down (`FactoredInformation`): a step solves for it by conjugate gradients.
"""

from dataclasses import dataclass, replace

import numpy as np

from shoal.kernels._native import INTERCEPT_PRECISION, SLOPE_PRECISION
from shoal.kernels.arrays import Floats
from shoal.kernels.designs import Design, design_of
from shoal.kernels.elementary import exp, log
from shoal.kernels.logit_information import DenseInformation, FactoredInformation

STEPS = 100
"""Most Newton steps; about ten are usual."""

MANY = 100
"""Most coefficients, of three categories or more, for which the matrix of second derivatives is made."""

RISE = 1e-10
"""The iteration ends when the objective rises by less than this for each record."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Logit:
    """A fitted model.

    Parameters
    ----------
    coefficients
        Shape (p, K - 1); coefficients of categories 1 to K - 1 against category 0.
    information
        Minus the second derivative of the objective.
    """

    coefficients: Floats
    information: DenseInformation | FactoredInformation

    def probabilities(self, x: Floats) -> Floats:
        """Shape (n, K); the probabilities of the categories."""
        return probabilities(x, self.coefficients)

    def drawn(self, rng: np.random.Generator) -> "Logit":
        """The model with coefficients drawn from the normal approximation of their posterior distribution."""
        return replace(self, coefficients=self.coefficients + self.information.drawn(rng))


def probabilities(x: Floats, coefficients: Floats) -> Floats:
    """Shape (n, K); probabilities of the categories at x (n, p)."""
    return _shares(_scores(Design(x=x), coefficients))


def _shares(score: Floats) -> Floats:
    """Shape (n, K); `score` is written over."""
    score -= score.max(axis=1, keepdims=True)
    raised = exp(score)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def multinomial_logit(x: Floats, y: Floats, precision: Floats) -> Logit:
    """Fit by penalised maximum likelihood.

    Parameters
    ----------
    x
        Shape (n, p); a column of ones is not added.
    y
        Shape (n, K); indicators of the categories, or weights of them (posterior probabilities).
    precision
        Shape (p,); precisions, at least 0, of the independent normal priors with mean 0. Zeros are safe only where the
        maximum likelihood estimate exists.
    """
    beta = np.zeros((x.shape[1], y.shape[1] - 1))
    small = y.shape[1] == 2 or beta.size <= MANY
    design = Design(x=x) if small else design_of(x)
    total = y.sum(axis=1)
    best = _objective(design, y, beta, precision)
    for _ in range(STEPS):
        fitted = _shares(_scores(design, beta))
        slope = design.cross((y - fitted * total[:, None])[:, 1:]) - precision[:, None] * beta
        step = information_of(design, fitted, total, precision, small).solved(slope)
        length = 1.0
        while (value := _objective(design, y, beta + length * step, precision)) < best and length > 1e-8:
            length /= 2
        if value <= best + RISE * max(1.0, float(total.sum())):
            if value > best:
                beta = beta + length * step
            break
        beta, best = beta + length * step, value
    information = information_of(design, _shares(_scores(design, beta)), total, precision, small)
    return Logit(coefficients=beta, information=information)


def _scores(design: Design, beta: Floats) -> Floats:
    return np.concatenate([np.zeros((len(design.x), 1)), design.times(beta)], axis=1)


def _objective(design: Design, y: Floats, beta: Floats, precision: Floats) -> float:
    score = _scores(design, beta)
    top = score.max(axis=1)
    log_sum = top + log(exp(score - top[:, None]).sum(axis=1))
    likelihood = (y * score).sum() - (y.sum(axis=1) * log_sum).sum()
    return float(likelihood - (precision[:, None] * beta**2).sum() / 2)


def information_of(
    design: Design, fitted: Floats, total: Floats, precision: Floats, small: bool
) -> DenseInformation | FactoredInformation:
    """Minus the second derivative at fitted probabilities (n, K); `small`: it is to be written down."""
    if small:
        return DenseInformation.of(design.x, fitted, total, precision)
    return FactoredInformation(x=design, fitted=fitted, total=total, precision=precision)
