"""Multinomial logistic regression by Newton's method.

P(y = c | x) is proportional to exp(x' b_c), with b_0 = 0. The log-likelihood is concave, and with a normal prior on
the coefficients strictly so: separated categories, which send a maximum likelihood estimate to infinity, get
finite coefficients. Newton steps are halved until the objective rises, so the method always ends at the maximum.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels import linear
from shoal.kernels._native import INTERCEPT_PRECISION, SLOPE_PRECISION
from shoal.kernels.arrays import Floats
from shoal.kernels.draws import standard_normal
from shoal.kernels.elementary import exp, log
from shoal.kernels.tall import cross, times

STEPS = 100
"""Most Newton steps; about ten are usual."""

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
        Shape (p (K - 1), p (K - 1)); minus the second derivative, coefficients of one category together.
    converged
        True if the iteration converged.
    """

    coefficients: Floats
    information: Floats
    converged: bool

    def probabilities(self, x: Floats) -> Floats:
        """Shape (n, K); the probabilities of the categories."""
        return probabilities(x, self.coefficients)

    def drawn(self, rng: np.random.Generator) -> "Logit":
        """The model with coefficients drawn from the normal approximation of their posterior distribution."""
        root = linear.cholesky(self.information)
        step = linear.solve(root.T, standard_normal(rng, (len(root), 1)))
        shape = self.coefficients.shape
        return Logit(
            coefficients=self.coefficients + step.reshape(shape[::-1]).T,
            information=self.information,
            converged=self.converged,
        )


def probabilities(x: Floats, coefficients: Floats) -> Floats:
    """Shape (n, K); probabilities of the categories at x (n, p)."""
    score = np.concatenate([np.zeros((len(x), 1)), times(x[None], coefficients[None])[0]], axis=1)
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
    width, others = x.shape[1], y.shape[1] - 1
    beta = np.zeros((width, others))
    total = y.sum(axis=1)
    best = _objective(x, y, beta, precision)
    converged = False
    for _ in range(STEPS):
        fitted = probabilities(x, beta)
        slope = cross(x[None], (y - fitted * total[:, None])[None, :, 1:])[0] - precision[:, None] * beta
        information = _information(x, fitted[:, 1:], total, precision)
        step = linear.solve(information, slope.T.reshape(-1, 1)).reshape(others, width).T
        length = 1.0
        while (value := _objective(x, y, beta + length * step, precision)) < best and length > 1e-8:
            length /= 2
        if value <= best + RISE * max(1.0, float(total.sum())):
            converged = True
            if value > best:
                beta = beta + length * step
            break
        beta, best = beta + length * step, value
    information = _information(x, probabilities(x, beta)[:, 1:], total, precision)
    return Logit(coefficients=beta, information=information, converged=converged)


def _objective(x: Floats, y: Floats, beta: Floats, precision: Floats) -> float:
    score = np.concatenate([np.zeros((len(x), 1)), times(x[None], beta[None])[0]], axis=1)
    top = score.max(axis=1)
    log_sum = top + log(exp(score - top[:, None]).sum(axis=1))
    likelihood = (y * score).sum() - (y.sum(axis=1) * log_sum).sum()
    return float(likelihood - (precision[:, None] * beta**2).sum() / 2)


def _information(x: Floats, fitted: Floats, total: Floats, precision: Floats) -> Floats:
    width, others = x.shape[1], fitted.shape[1]
    out = np.empty((others, width, others, width))
    for a in range(others):
        for b in range(a, others):
            weight = fitted[:, a] * ((a == b) - fitted[:, b]) * total
            block = cross((x * weight[:, None])[None], x[None])[0]
            out[a, :, b] = block
            out[b, :, a] = block.T
        out[a, :, a] += np.diag(precision)
    return out.reshape(others * width, others * width)
