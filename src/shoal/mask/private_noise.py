"""Base of the differentially private masks: bounds, grids, exact samplers, and the account of epsilon.

Each target cell is reported through a mechanism that is epsilon-differentially private for the record it
belongs to (local differential privacy): whatever two values x, x', and whatever set S of outputs,
P[M(x) in S] <= exp(epsilon) P[M(x') in S]; values outside the stated bounds count as the nearer one. The
sensitivity is the distance of the bounds and so is stated, never estimated: bounds taken from the data would
themselves tell about it. Missing cells stay missing: the odds are those between two known values, and which cells are
missing is released as it is.

Noise is drawn on a grid, in whole numbers. Textbook samplers add a floating-point draw to a floating-point
value; the low-order bits of the sum then betray the value, because not every double can be reached from every
input, and the guarantee is void (Mironov 2012). Here a value is first rounded to the grid, the noise is a
whole number of grid steps drawn with exact probabilities by comparing uniform integers (Canonne, Kamath &
Steinke 2020), and the result is the grid step times an integer: every input can give every output, with
probabilities in the stated ratio and not nearly so. epsilon enters as a fraction that is not larger.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor, inf, ldexp, nextafter
from typing import Annotated, ClassVar

import numpy as np

from shoal.kernels.elementary import binary_order
from shoal.mask.base import Mask
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Bools, Floats, Generator, Longs, Progress, Records, StepResult, Variable
from shoal.table.standardisation import LARGEST, SMALLEST
from shoal.vocabulary.errors import ParameterError, quoted
from shoal.vocabulary.facts import OfPlan, PrivacyLoss, of_original
from shoal.vocabulary.prelude import Facts, Ge, Gt, HoldsCells, Le, Setting, family

GRID_STEPS = 2**16
"""Steps between the bounds on the default grid, at least: rounding then moves a value by under 1/100 000 of
the sensitivity, far below the noise."""

MOST_STEPS = 2**30

FARTHEST = 2**53
"""Whole numbers up to this are exact as float64. Noisy values are cut off here, which does not touch the guarantee."""

LARGEST_EPSILON = 100.0
"""exp(100) = 3e43: a larger epsilon promises nothing."""

LARGEST_DENOMINATOR = 2**16
"""Products of these, times the few dozen trials of a draw, stay far inside 64-bit integers."""


@family
class PrivateNoise(Mask):
    """Adds noise of `steps` grid steps to each target cell; subclasses say how it is drawn.

    Parameters
    ----------
    epsilon
        Privacy loss of a person through all columns of the step; each column gets an equal part.
    bounds
        [lowest, highest] value by column, stated from knowledge of the subject. Values outside count as the
        bound. Their distance is the sensitivity.
    records_per_person
        Records that one person may have in the table: epsilon is shared out among them.
    clamp
        Move noisy values back inside the bounds. It costs no privacy and biases means.
    """

    default_roles: ClassVar[tuple[str, ...]] = ("confidential",)
    own_cells = True
    leaves_gaps = True

    epsilon: Annotated[float, Gt(0), Le(LARGEST_EPSILON), Setting()]
    bounds: Annotated[dict[str, tuple[float, float]], HoldsCells()]
    records_per_person: Annotated[int, Ge(1)] = 1
    clamp: bool = False

    def __post_init__(self) -> None:
        if any(not low < high or not np.isfinite([low, high]).all() for low, high in self.bounds.values()):
            raise ParameterError(f"{self.method_name}: bounds must be pairs of a lower and a higher finite number.")
        for name, (low, high) in self.bounds.items():
            if max(-low, high) > LARGEST or high - low < SMALLEST:
                raise ParameterError(
                    f"{self.method_name}: the bounds of '{name}' must lie between -{LARGEST:g} and {LARGEST:g} and be "
                    f"at least {SMALLEST:g} apart; express the column in another unit."
                )

    @abstractmethod
    def grid_of(self, low: float, high: float) -> float:
        """The grid step for a column with these bounds."""

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> Longs:
        """Shape (n,); noise in grid steps, epsilon-private for values that differ by `sensitivity` steps.

        Discrete Laplace noise unless a subclass says otherwise.
        """
        return discrete_laplace(n, epsilon / sensitivity, stream)

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        variables = self.bounded(records, columns)
        parts = max(len(variables), 1) * self.records_per_person
        share = exact_fraction(Fraction(self.epsilon) / parts)
        stream = SecretStream(rng)
        facts = {
            "privacy loss": PrivacyLoss(
                epsilon=float(share * len(variables) * self.records_per_person),
                columns=tuple(columns),
                rho=nextafter(float(share**2 * len(variables) * self.records_per_person / 2), inf),
            ),
            "composition": OfPlan("the epsilons of a record's columns, and of a person's records, add up"),
            "records per person": OfPlan(self.records_per_person),
        }
        if lacking := [v.name for v in variables if not v.complete]:
            facts["not protected by it"] = OfPlan(f"which cells of {quoted(lacking)} are missing")
        return StepResult.by_column(records, (self._noisy(v, share, stream) for v in variables), facts)

    def bounded(self, records: Records, columns: Sequence[str]) -> tuple[Variable, ...]:
        """The columns, refused unless all of them are continuous and have bounds."""
        variables = self.continuous(records, columns)
        if absent := [v.name for v in variables if v.name not in self.bounds]:
            raise ParameterError(
                f"{self.method_name}: bounds must name every column of the step; '{absent[0]}' has none. State the "
                f"range its values can take, from knowledge of the subject and not from the data."
            )
        return variables

    def _noisy(self, variable: Variable, epsilon: Fraction, stream: SecretStream) -> tuple[Variable, Facts]:
        grid, bottom, top = self.steps_at(variable.name)
        known = ~variable.missing
        near = self.nearest(variable.values[known], variable.name)
        noise = self.steps(len(near), top - bottom, epsilon, stream)
        released = np.full(len(known), np.nan)
        released[known] = self.within(near + noise, variable.name) * grid
        # bounds may be cells, so what follows from them is told where the plan tells them, and here it is not
        of_bounds = of_original({"sensitivity": (top - bottom) * grid, "grid": grid})
        return variable.with_values(released), {"epsilon": OfPlan(float(epsilon)), **of_bounds}

    def nearest(self, values: Floats, name: str) -> Longs:
        """Shape (n,); known cells of a column in grid steps, those outside its bounds as the nearer one."""
        grid, bottom, top = self.steps_at(name)
        return np.clip(np.rint(np.clip(values, *self.bounds[name]) / grid), bottom, top).astype(np.int64)

    def within(self, noisy: Longs, name: str) -> Longs:
        """Grid steps that are exact as float64, and inside the bounds if `clamp` says so; it costs no privacy."""
        _, bottom, top = self.steps_at(name)
        return np.clip(noisy, *((bottom, top) if self.clamp else (-FARTHEST, FARTHEST)))

    def steps_at(self, name: str) -> tuple[float, int, int]:
        """The grid of a column, and the whole numbers of its steps that enclose the bounds."""
        grid = self.grid_of(*self.bounds[name])
        low, high = (Fraction(bound) / Fraction(grid) for bound in self.bounds[name])
        if ceil(high) - floor(low) > MOST_STEPS:
            raise ParameterError(
                f"{self.method_name}: the bounds of '{name}' lie more than {MOST_STEPS:,} grid steps apart; choose a "
                f"coarser grid."
            )
        if max(-low, high) > FARTHEST // 2:
            raise ParameterError(
                f"{self.method_name}: the bounds of '{name}' lie so far from 0 that float64 cannot tell the steps of "
                f"its grid apart; choose a coarser grid, or count the column from a value near its bounds."
            )
        return grid, floor(low), ceil(high)


@family
class FineNoise(PrivateNoise):
    """Noise on a grid so fine that it does as well as a continuous one.

    Parameters
    ----------
    grid
        Step of the grid on which values and noise lie; by default a power of two that divides the range of
        the bounds into 65 536 steps or more.
    """

    grid: Annotated[Annotated[float, Gt(0)] | None, Setting()] = None

    def grid_of(self, low: float, high: float) -> float:
        return self.grid if self.grid is not None else fine_grid(low, high)


def fine_grid(low: float, high: float) -> float:
    """The largest power of two that divides the span of the bounds into GRID_STEPS steps or more."""
    return ldexp(1.0, binary_order((high - low) / GRID_STEPS))


def exact_fraction(epsilon: Fraction) -> Fraction:
    """A fraction with a small denominator that is not larger than epsilon."""
    near = epsilon.limit_denominator(LARGEST_DENOMINATOR)
    if near > epsilon:
        near = Fraction(floor(epsilon * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)
    if near <= 0:
        raise ParameterError(f"epsilon for each column must be at least 1/{LARGEST_DENOMINATOR}; raise epsilon.")
    return near


# Exact draws (Canonne, Kamath & Steinke 2020, algorithms 1 and 2), for whole arrays at once


def bernoulli_two_over_e(n: int, stream: SecretStream) -> Bools:
    """Shape (n,); True with probability 2/e = 1 - 1/3 + 1/(3 4) - 1/(3 4 5) + ..., as `bernoulli_exp`."""
    return _first_failure_is_odd(n, 3, lambda k, waiting: stream.integers(k, len(waiting)) == 0)


def bernoulli_exp(numerators: Longs, denominator: int, stream: SecretStream) -> Bools:
    """True with probability exp(-numerator/denominator) each, for numerators in [0, denominator].

    Trials k = 1, 2, ... succeed with probability x/k: that the first failure has an odd k has probability
    1 - x + x^2/2! - ... = exp(-x).
    """

    def succeeds(k: int, waiting: Longs) -> Bools:
        return stream.integers(k * denominator, len(waiting)) < numerators[waiting]

    return _first_failure_is_odd(len(numerators), 1, succeeds)


def _first_failure_is_odd(n: int, k: int, succeeds: Callable[[int, Longs], Bools]) -> Bools:
    """Shape (n,); whether the first of the trials k, k + 1, ... that fails is an odd one."""
    out = np.zeros(n, dtype=bool)
    waiting = np.arange(n)
    while len(waiting):
        success = succeeds(k, waiting)
        out[waiting[~success]] = k % 2 == 1
        waiting = waiting[success]
        k += 1
    return out


def geometric_exp(n: int, rate: Fraction, stream: SecretStream) -> Longs:
    """Shape (n,); P[g] = (1 - q) q^g with q = exp(-rate), g = 0, 1, ..."""
    whole, part = divmod(rate.numerator, rate.denominator)
    out = np.zeros(n, dtype=np.int64)
    going = np.arange(n)
    while len(going):
        success = bernoulli_exp(np.full(len(going), part, dtype=np.int64), rate.denominator, stream)
        for _ in range(whole):
            rows = np.flatnonzero(success)
            if not len(rows):
                break
            success[rows] = bernoulli_exp(np.ones(len(rows), dtype=np.int64), 1, stream)
        going = going[success]
        out[going] += 1
    return out


def discrete_laplace(n: int, rate: Fraction, stream: SecretStream) -> Longs:
    """Shape (n,); P[x] proportional to exp(-rate |x|) over the integers.

    With rate = s/t: a uniform u in [0, t) accepted with probability exp(-u/t), and v geometric with
    ratio 1/e, make u + t v geometric with ratio exp(-1/t); its quotient by s has ratio exp(-s/t).
    """
    s, t = rate.numerator, rate.denominator

    def proposed(n: int) -> tuple[Bools, Longs]:
        u = stream.integers(t, n)
        kept = bernoulli_exp(u, t, stream)
        return kept, (u[kept] + t * geometric_exp(int(kept.sum()), Fraction(1), stream)) // s

    return _signed(n, proposed, stream)


def staircase(n: int, sensitivity: int, width: int, epsilon: Fraction, stream: SecretStream) -> Longs:
    """Shape (n,); P[x] proportional to exp(-epsilon j) on blocks j of `sensitivity` steps in |x|.

    The first `width` steps of block j have that weight, the others exp(-epsilon) times it.
    """

    def proposed(n: int) -> tuple[Bools, Longs]:
        inside = _inside_block(n, sensitivity, width, epsilon, stream)
        kept = inside >= 0
        return kept, inside[kept] + sensitivity * geometric_exp(int(kept.sum()), epsilon, stream)

    return _signed(n, proposed, stream)


def _signed(n: int, proposed: Callable[[int], tuple[Bools, Longs]], stream: SecretStream) -> Longs:
    """Shape (n,); sizes with a random sign.

    `proposed`: which of so many trials succeed, and their sizes. What fails is tried again, and so is a negative zero.
    """
    out = np.zeros(n, dtype=np.int64)
    waiting = np.arange(n)
    while len(waiting):
        kept, size = proposed(len(waiting))
        now = waiting[kept]
        negative = stream.integers(2, len(now)) == 1
        good = ~(negative & (size == 0))
        out[now[good]] = np.where(negative, -size, size)[good]
        waiting = np.concatenate([waiting[~kept], now[~good]])
    return out


def _inside_block(n: int, sensitivity: int, width: int, epsilon: Fraction, stream: SecretStream) -> Longs:
    """Shape (n,); one trial each for the step inside a block, -1 where it fails.

    The steps after the first `width` ones have weight exp(-epsilon), which is tiny for a large epsilon. They are
    proposed 2^h times less often than the first ones, h <= epsilon, and accepted with probability 2^h exp(-epsilon),
    a product of h coins of 2/e and of one of exp(-(epsilon - h)): no more than a few trials fail whatever epsilon is.
    """
    whole, part = divmod(epsilon.numerator, epsilon.denominator)
    halvings = min(whole, MOST_STEPS.bit_length() - 1)
    drawn = stream.integers(width * 2**halvings + sensitivity - width, n)
    inside = np.where(drawn < width * 2**halvings, drawn // 2**halvings, drawn - width * 2**halvings + width)
    rows = np.flatnonzero(inside >= width)
    proposed = rows
    for _ in range(halvings):
        rows = rows[bernoulli_two_over_e(len(rows), stream)]
    for numerator, denominator in [(part, epsilon.denominator), *[(1, 1)] * (whole - halvings)]:
        rows = rows[bernoulli_exp(np.full(len(rows), numerator, dtype=np.int64), denominator, stream)]
    inside[np.setdiff1d(proposed, rows)] = -1
    return np.asarray(inside)
