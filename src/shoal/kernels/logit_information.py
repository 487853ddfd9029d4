"""Minus the second derivative of a multinomial logit's objective: as a matrix, or as its factors where that is large.

With W the weights of the records, f their fitted probabilities and D the precisions, it is
sum_i W_i (diag(f_i) - f_i f_i') (x) x_i x_i' + 1 (x) D for the categories 1 to K - 1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.kernels import linear
from shoal.kernels.arrays import Floats
from shoal.kernels.designs import Design
from shoal.kernels.draws import standard_normal
from shoal.kernels.tall import cross, times

NEAR = 0.3
"""Share of the slope that a step leaves over; the next one takes it."""

EXACT = 1e-5
"""The same for a draw of the coefficients."""

MOST_STEPS = 1000
"""Most steps of conjugate gradients; some dozens are usual."""

LEAST = 1e-8
"""Least precision in the approximation, as a share of the mean square of a column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseInformation:
    """Written down."""

    matrix: Floats  # Shape (p (K - 1), p (K - 1)); coefficients of one category together
    width: int

    @classmethod
    def of(cls, x: Floats, fitted: Floats, total: Floats, precision: Floats) -> "DenseInformation":
        width, others = x.shape[1], fitted.shape[1] - 1
        out = np.empty((others, width, others, width))
        for a in range(others):
            for b in range(a, others):
                weight = fitted[:, a + 1] * ((a == b) - fitted[:, b + 1]) * total
                block = cross((x * weight[:, None])[None], x[None])[0]
                out[a, :, b] = block
                out[b, :, a] = block.T
            out[a, :, a] += np.diag(precision)
        return cls(matrix=out.reshape(others * width, others * width), width=width)

    def solved(self, slope: Floats) -> Floats:
        """Shape (p, K - 1); what the matrix makes the slope of."""
        return np.asarray(linear.solve(self.matrix, slope.T.reshape(-1, 1)).reshape(-1, self.width).T)

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Shape (p, K - 1); normal with mean 0 and the inverse of the matrix for covariance."""
        root = linear.cholesky(self.matrix)
        step = linear.solve(root.T, standard_normal(rng, (len(root), 1)))
        return np.asarray(step.reshape(-1, self.width).T)


@dataclass(frozen=True, kw_only=True, eq=False)
class FactoredInformation:
    """As its factors; systems are solved by conjugate gradients.

    They are preconditioned by the matrix that it would be if all records had the mean of the fitted probabilities: a
    Kronecker product and the precisions, which two small eigenvalue problems invert.
    """

    x: Design
    fitted: Floats
    total: Floats
    precision: Floats

    def product(self, v: Floats) -> Floats:
        """Shape (p, K - 1); the matrix times v."""
        part = self.fitted[:, 1:] * self.x.times(v)
        part -= self.fitted[:, 1:] * part.sum(axis=1, keepdims=True)
        return np.asarray(self.x.cross(part * self.total[:, None]) + self.precision[:, None] * v)

    def solved(self, slope: Floats, left: float = NEAR) -> Floats:
        """Shape (p, K - 1); what the matrix makes the slope of, but for a share `left` of its length."""
        v, rest = np.zeros_like(slope), slope.copy()
        goal = left**2 * float((slope**2).sum())
        near = self._nearly(rest)
        direction, size = near, float((rest * near).sum())
        for _ in range(MOST_STEPS):
            if float((rest**2).sum()) <= goal:
                break
            image = self.product(direction)
            length = size / float((direction * image).sum())
            v += length * direction
            rest -= length * image
            near = self._nearly(rest)
            before, size = size, float((rest * near).sum())
            direction = near + size / before * direction
        return v

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Shape (p, K - 1); normal with mean 0 and the inverse of the matrix for covariance.

        A slope is drawn that has the matrix for covariance, record by record, and solved for.
        """
        part = np.sqrt(self.fitted) * standard_normal(rng, self.fitted.shape)
        part -= self.fitted * part.sum(axis=1, keepdims=True)
        slope = self.x.cross(part[:, 1:] * np.sqrt(self.total)[:, None])
        slope += np.sqrt(self.precision)[:, None] * standard_normal(rng, slope.shape)
        return self.solved(slope, EXACT)

    def _nearly(self, slope: Floats) -> Floats:
        scale, rows, columns, sizes = self._halves
        turned = times(cross(rows[None], (scale[:, None] * slope)[None]), columns[None])[0] / sizes
        return np.asarray(scale[:, None] * times(times(rows[None], turned[None]), columns.T.copy()[None])[0])

    @cached_property
    def _halves(self) -> tuple[Floats, Floats, Floats, Floats]:
        """1 / sqrt(D), the eigenvectors of both factors in its units, and the eigenvalues of the whole."""
        square = self.x.square(self.total)
        least = LEAST * float(np.diag(square).mean()) + np.finfo(float).tiny
        scale = 1 / np.sqrt(np.maximum(self.precision, least))
        mean = (self.fitted[:, 1:] * self.total[:, None]).sum(axis=0) / max(float(self.total.sum()), 1e-300)
        values, rows = linear.eigen(square * scale[:, None] * scale)
        shares, columns = linear.eigen(np.diag(mean) - mean[:, None] * mean)
        return scale, rows, columns, np.maximum(values, 0.0)[:, None] * np.maximum(shares, 0.0) + 1.0
