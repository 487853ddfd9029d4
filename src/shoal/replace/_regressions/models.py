"""A normal linear and a multinomial logistic regression, with parameters estimated or drawn, and draws from them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Bools, Floats, Ints, ints
from shoal.kernels.draws import chi_squared, standard_normal
from shoal.kernels.logit import INTERCEPT_PRECISION, SLOPE_PRECISION, Logit, multinomial_logit
from shoal.kernels.tall import cross, singular, times
from shoal.replace._residuals.rotation import NEGLIGIBLE


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearRegression:
    """A normal linear regression.

    In the orthonormal coordinates of the design the coefficients are independent with the error variance, whose
    posterior distribution is RSS / chi^2 (the usual uninformative prior).
    """

    middle: float
    to_rotated: Floats  # Shape (p, rank); from the design to its orthonormal coordinates
    coefficients: Floats  # Shape (rank,)
    rss: float
    freedom: int
    exact: bool  # Whether the predictors determine the response, so that nothing is drawn
    sigma: float

    @classmethod
    def of(cls, x: Floats, y: Floats) -> "LinearRegression":
        """The regression of y (n,) on x (n, p), with the estimates of its parameters."""
        middle = float(y.mean())
        values, right = (part[0] for part in singular(x[None]))
        rank = int((values > NEGLIGIBLE * values[0]).sum())
        rank = min(rank, max(1, len(x) - 2))
        to_rotated = right[:rank].T / values[:rank]
        left = times(x[None], to_rotated[None])
        coefficients = cross(left, (y - middle)[None, :, None])[0, :, 0]
        about = y - middle - times(left, coefficients[None, :, None])[0, :, 0]
        rss = float((about**2).sum())
        freedom = len(x) - rank
        exact = freedom == 0 or rss <= (NEGLIGIBLE**2) * float(((y - middle) ** 2).sum())
        return cls(
            middle=middle,
            to_rotated=to_rotated,
            coefficients=coefficients,
            rss=rss,
            freedom=freedom,
            exact=exact,
            sigma=0.0 if exact else float(np.sqrt(rss / freedom)),
        )

    def drawn(self, rng: Generator) -> "LinearRegression":
        """The regression with parameters drawn from their posterior distribution."""
        if self.exact:
            return self
        sigma = np.sqrt(self.rss / float(chi_squared(rng, self.freedom)))
        coefficients = self.coefficients + sigma * standard_normal(rng, len(self.coefficients))
        return replace(self, sigma=sigma, coefficients=coefficients)

    def values(self, at: Floats, rng: Generator) -> Floats:
        """Shape (m,); draws at the rows of `at` (m, p)."""
        expected = _applied(at, _applied(self.to_rotated, self.coefficients))
        if self.exact:
            return self.middle + expected
        return np.asarray(self.middle + expected + self.sigma * standard_normal(rng, len(at)))


def _applied(x: Floats, coefficients: Floats) -> Floats:
    return times(x[None], coefficients[None, :, None])[0, :, 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Logistic:
    """A multinomial logistic regression of categories."""

    present: Ints  # Shape (K,); categories that occur, and can come
    model: Logit | None  # None where there is one alone

    @classmethod
    def of(cls, x: Floats, codes: Ints) -> "Logistic":
        """The regression of categories (n,) on x (n, p), the first column of which is one."""
        present, y = np.unique(codes, return_inverse=True)
        if len(present) == 1:
            return cls(present=present, model=None)
        precision = np.full(x.shape[1], SLOPE_PRECISION)
        precision[0] = INTERCEPT_PRECISION
        return cls(present=present, model=multinomial_logit(x, np.eye(len(present))[y], precision))

    def drawn(self, rng: Generator) -> "Logistic":
        """The regression with coefficients drawn from their posterior distribution."""
        return self if self.model is None else replace(self, model=self.model.drawn(rng))

    def values(self, at: Floats, free: Bools, rng: Generator) -> Ints:
        """Shape (m,); draws of a category at the rows of `at` (m, p).

        Of the categories that occur, those that `free`, shape (m, categories), allows, unless there is none.
        """
        if self.model is None:
            return np.full(len(at), self.present[0], dtype=np.int32)
        chances = self.model.probabilities(at)
        if free.shape[1]:
            allowed = chances * free[:, self.present]
            total = allowed.sum(axis=1, keepdims=True)
            chances = np.where(total > 0, allowed / np.where(total > 0, total, 1.0), chances)
        edges = np.cumsum(chances, axis=1)
        pick = (rng.random(len(at))[:, None] > edges[:, :-1]).sum(axis=1)
        return ints(self.present[pick])
