"""Replacing residuals by random ones that have the same moments: the algebra of exact synthesis.

Inside a group let X (s x L) be the columns to replace and Y (s x M) the columns that stay. P projects on
[1, Y] and U is an orthonormal basis of what is orthogonal to [1, Y], of dimension d = s - 1 - rank Y. Burridge's
information preserving statistical obfuscation is

    X' = P X + U O U' X,        O Haar-distributed on the orthogonal d x d matrices.

Since O'O = I, X'X' = X'X in the sense of cross products, and since U is orthogonal to [1, Y], the cross products
with 1 and Y stay as well: means, the covariance of X and its covariance with Y are kept exactly, whatever their
ranks.

**Without d x d matrices.** Write the residuals as E = U U'X = F R with F an orthonormal frame of r = rank E <= L
columns inside the complement of [1, Y] and R an r x L factor. Then U O U'X = (U O U'F) R. U'F is a fixed frame of r
columns in d dimensions, and O times a fixed frame is uniform on the frames (the Stiefel manifold has one
distribution that no rotation changes, and O has it). The same distribution belongs to the frame that QR gives,
diagonal of R made positive, from a Gaussian s x r matrix whose rows' component along [1, Y] was projected
out, because a Gaussian matrix is, in the coordinates U, a Gaussian d x r matrix, and that is not changed by rotations
either (Mezzadri 2007). So W R with W from such a QR has the law of U O U'X and needs memory for s (M + L) numbers
only. Columns beyond the rank r meet zero rows of R and do no harm as long as d >= L; where d < L the explicit form
above is used, which is then small.

All functions take stacks: arrays of shape (B, s, ...) with B groups of equal size.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from shoal.kernels import linear
from shoal.kernels.draws import standard_normal
from shoal.kernels.tall import cross, orthonormal, principal, singular, times, triangular
from shoal.table.prelude import Bools, Floats, Generator, Longs, Partition

NEGLIGIBLE = 1e-11
"""A direction whose part of a column's spread is below this counts as none: it is above what rounding leaves of an
exact collinearity and moves no relative second moment by more than itself."""

LAST_DIGIT = 4 * np.finfo(np.float64).eps
"""A column whose spread is below this part of its values is constant."""

LEAST = 3
"""Dimensions of a group's residuals, at least, whatever the number of columns (see `least_dimensions`)."""

STACK = 1 << 21
"""Numbers in one stack: bounds the memory of the work arrays, not the result."""


def least_dimensions(columns: int) -> int:
    """Dimensions d from which a record that is known leaves the others of its group open, for so many columns.

    Moments are public where they are exact, so residuals of L columns are one frame in d dimensions, which
    L (2d - L - 1) / 2 angles determine; a known record is L equations for them. Without a column nothing is drawn.
    With one column and d = 2 there is one angle, and one known cell gives all others away: so d is at least 3.
    """
    return max(columns + 1, LEAST) if columns else 1


def least_dimensions_beside(columns: int) -> int:
    """Least dimensions where products of new and old residuals are exact, too: L^2 equations more, 2L dimensions.

    The least d with L (2d - L - 1) / 2 > L^2 + L: 4 for one column, 5 for two, 7 for three.
    """
    return max(2 * columns, (3 * columns + 3) // 2 + 1)


def stacks(partition: Partition, width: int) -> Iterator[Longs]:
    """Row numbers of groups of equal size, shape (B, s), sizes ascending; together they cover every group once."""
    order = np.argsort(partition.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(partition.sizes)[:-1]])
    for size in np.unique(partition.sizes):
        begins = starts[partition.sizes == size]
        most = max(1, STACK // max(1, int(size) * max(1, width)))
        for first in range(0, len(begins), most):
            yield order[begins[first : first + most, None] + np.arange(size)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """X of a stack of groups, split at [1, Y]."""

    fitted: Floats  # Shape (B, s, L); P X
    residual: Floats  # Shape (B, s, L); X - P X in units of `unit`
    unit: Floats  # Shape (B, 1, L); powers of two that make the columns near 1
    basis: Floats  # Shape (B, s, 1 + m); orthonormal columns that span [1, Y], columns beyond the rank are zero
    rank: Longs  # Shape (B,); rank of the centred Y

    @property
    def dimension(self) -> Longs:
        """Shape (B,); d = s - 1 - rank Y."""
        return np.asarray(self.residual.shape[1] - 1 - self.rank)

    def take(self, which: Longs | Bools) -> "Split":
        """Some of the groups."""
        return Split(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    @property
    def root(self) -> Floats:
        """Shape (B, L, L); symmetric root of the residuals' cross products."""
        values, axes = linear.singular(factor(self.residual))
        return linear.cross_product(axes, values[:, :, None] * axes)

    def off(self, x: Floats) -> Floats:
        """Remainders of columns (B, s, L) after projection on [1, Y]; projected twice to full precision."""
        for _ in range(2):
            x = x - times(self.basis, cross(self.basis, x))
        return x

    def join(self, residual: Floats) -> Floats:
        """The fitted part with other residuals, in the columns' own units."""
        return self.fitted + residual * self.unit

    def centred(self, x: Floats) -> Floats:
        """Columns in their own units, less the group's fitted part, in units of `unit`."""
        return (x - self.fitted) / self.unit


def split(x: Floats, y: Floats) -> Split:
    """Split X (B, s, L) at [1, Y], Y of shape (B, s, M)."""
    middle = x[:, :1] + (x - x[:, :1]).mean(axis=1, keepdims=True)
    about = x - middle
    unit = power_of_two(about)
    about = about / unit
    basis, rank = _span(y)
    off = about - times(basis, cross(basis, about))
    off = off - times(basis, cross(basis, off))
    # A column that [1, Y] determines leaves rounding errors only: no residual. Decided against its spread.
    spread = np.sqrt((about**2).sum(axis=1, keepdims=True))
    determined = np.sqrt((off**2).sum(axis=1, keepdims=True)) <= NEGLIGIBLE * spread
    determined |= spread * unit <= LAST_DIGIT * np.sqrt(x.shape[1]) * np.abs(middle)
    residual = np.where(determined, 0.0, off)
    fitted = np.where(determined, x, x - residual * unit)
    return Split(fitted=fitted, residual=residual, unit=unit, basis=basis, rank=rank)


def dimensions(partition: Partition, y: Floats) -> Longs:
    """Shape (G,); d = s - 1 - rank Y of each group, for Y of shape (n, M)."""
    out = np.empty(partition.n_groups, dtype=np.int64)
    for rows in stacks(partition, y.shape[1]):
        _, rank = _span(y[rows])
        out[partition.labels[rows[:, 0]]] = rows.shape[1] - 1 - rank
    return out


def leverage(y: Floats) -> Floats:
    """Shape (B, s); the diagonal of P: 1 for a record to which the regression on Y leaves no residual."""
    basis, _ = _span(y)
    return np.asarray((basis**2).sum(axis=2))


def rotate(parts: Split, _: Longs, rng: Generator) -> Floats:
    """Residuals U O U'X with O Haar: the same cross products, orthogonal to [1, Y]; shape (B, s, L)."""
    residual = parts.residual
    wide = parts.dimension >= residual.shape[2]
    new = np.empty_like(residual)
    if wide.any():
        chosen = parts.take(wide)
        new[wide] = times(random_frame(chosen, rng), factor(chosen.residual))
    for b in np.flatnonzero(~wide):
        new[b] = _rotate_explicitly(parts.basis[b], residual[b], rng)
    return new


def random_frame(parts: Split, rng: Generator, beside: Floats | None = None) -> Floats:
    """Uniform orthonormal frames of L columns orthogonal to [1, Y], and to the columns of `beside` (B, s, m)."""
    draw = standard_normal(rng, parts.residual.shape)
    for _ in range(2):
        draw = parts.off(draw)
        if beside is not None:
            draw = draw - times(beside, cross(beside, draw))
    r = triangular(draw)
    r = r * np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, :, None]
    frame = parts.off(times(draw, linear.inverse(r)))
    return orthonormal(frame, np.ones((len(frame), frame.shape[2]), dtype=bool))


def factor(residual: Floats) -> Floats:
    """R of shape (B, L, L) with R'R = E'E; negligible directions are rows of zeros."""
    values, right = singular(residual)
    values = np.where(values <= NEGLIGIBLE * values[:, :1], 0.0, values)
    short = values[:, :, None] * right
    missing = residual.shape[2] - short.shape[1]
    return np.pad(short, ((0, 0), (0, missing), (0, 0))) if missing > 0 else short


def span(residual: Floats) -> Floats:
    """Orthonormal columns (B, s, L) that span the residuals, columns beyond their rank are zero."""
    return principal(residual, NEGLIGIBLE)[0]


def restored(x: Floats, parts: Split, root: Floats) -> Floats:
    """The columns nearest to X (B, s, L) that have the moments of the split table, whose root is given.

    Nearest in the sum of squares, columns weighted by their spread: the orthogonal Procrustes problem, solved by
    the polar factor of E S, where S is the root of the residuals' cross products (Schoenemann 1966).
    """
    left, _, right, _ = principal(times(parts.off(parts.centred(x)), root), NEGLIGIBLE)
    return parts.join(times(parts.off(left), linear.product(right, root)))


def _rotate_explicitly(basis: Floats, residual: Floats, rng: Generator) -> Floats:
    kept = basis[:, np.abs(basis).sum(axis=0) > 0]
    complement = linear.orthogonal(kept)[0][:, kept.shape[1] :]
    d = complement.shape[1]
    q, diagonal = linear.orthogonal(standard_normal(rng, (d, d)))
    haar = q * np.where(diagonal < 0, -1.0, 1.0)
    return linear.product(complement, linear.product(haar, linear.cross_product(complement, residual)))


def _span(y: Floats) -> tuple[Floats, Longs]:
    """Orthonormal basis of [1, Y] with zero columns beyond the rank, and the rank of the centred Y."""
    stack, size, width = y.shape
    ones = np.full((stack, size, 1), 1 / np.sqrt(size))
    if width == 0 or size == 1:
        return ones, np.zeros(stack, dtype=np.int64)
    about = y - y[:, :1]
    about = about - about.mean(axis=1, keepdims=True)
    flat = np.abs(about).max(axis=1, keepdims=True) <= LAST_DIGIT * np.abs(y).max(axis=1, keepdims=True)
    about = np.where(flat, 0.0, about) / power_of_two(about)
    about = about - about.mean(axis=1, keepdims=True)
    norms = np.sqrt((about**2).sum(axis=1, keepdims=True))
    about = about / np.where(norms > 0, norms, 1.0)
    left, _, _, real = principal(about, NEGLIGIBLE, np.ones((stack, 1)))
    real &= np.arange(real.shape[1]) < size - 1
    left = (left - left.mean(axis=1, keepdims=True)) * real[:, None, :]
    return np.concatenate([ones, orthonormal(left, real)], axis=2), real.sum(axis=1).astype(np.int64)


def power_of_two(x: Floats) -> Floats:
    """Shape (B, 1, m); what divides the columns of (B, s, m) so that their largest value is near 1, exactly."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    return np.asarray(np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1]))
