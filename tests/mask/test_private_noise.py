from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, norm

import shoal
from shoal.mask.private_noise import (
    GRID_STEPS,
    MOST_STEPS,
    bernoulli_exp,
    bernoulli_two_over_e,
    exact_fraction,
    fine_grid,
    geometric_exp,
)
from shoal.mask.secret_stream import SecretStream
from shoal.table.records import Records
from shoal.vocabulary.errors import InputError
from shoal.vocabulary.facts import losses

N = 60_000


def stream(seed):
    return SecretStream(np.random.default_rng(seed))


METHODS = [shoal.Laplace, shoal.Geometric, shoal.Staircase]


def noisy(cls, value, seed, n=N, **parameters):
    method = cls(bounds={"x0": (0, 10)}, **parameters)
    return method.apply(
        data := Records.from_array(np.full(n, float(value))), data.quasi_identifiers, np.random.default_rng(seed)
    ).records.raw()[:, 0]


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_two_samples_cannot_be_told_apart_better_than_epsilon(cls, epsilon):
    """Over half-lines and bins, P[S | x = 0] <= exp(epsilon) P[S | x = 10], and the bound is nearly reached."""
    a, b = np.sort(noisy(cls, 0, 1, epsilon=epsilon)), np.sort(noisy(cls, 10, 2, epsilon=epsilon))
    edges = np.quantile(np.concatenate([a, b]), np.linspace(0.02, 0.98, 40))
    below = [(np.searchsorted(s, edges) / N) for s in (a, b)]
    events = [
        (below[0], below[1]),
        (1 - below[1], 1 - below[0]),
        (np.diff(below[0]), np.diff(below[1])),
        (np.diff(below[1]), np.diff(below[0])),
    ]
    reached = 0.0
    for p, q in events:
        margin = norm.ppf(1 - 1e-5) * np.sqrt((p * (1 - p) + np.exp(2 * epsilon) * q * (1 - q)) / N)
        assert (p <= np.exp(epsilon) * q + margin).all()
        enough = q > 200 / N
        reached = max(reached, float(np.log(p[enough] / q[enough]).max()))
    assert reached > 0.85 * epsilon  # noise of the wrong scale would stay far below, or break the bound


def test_geometric_and_bernoulli_have_their_laws():
    g = geometric_exp(N, Fraction(5, 4), stream(0))
    assert (g >= 1).mean() == pytest.approx(np.exp(-1.25), abs=0.01)
    b = bernoulli_exp(np.full(N, 3), 7, stream(1))
    assert b.mean() == pytest.approx(np.exp(-3 / 7), abs=0.01)


def test_two_over_e():
    assert bernoulli_two_over_e(N, stream(2)).mean() == pytest.approx(2 / np.e, abs=5 * np.sqrt(0.2 / N))


@settings(max_examples=20)
@given(value=st.floats(0, 10), epsilon=st.floats(0.1, 20), seed=st.integers(0, 99))
def test_outputs_lie_on_one_grid_whatever_the_input(value, epsilon, seed):
    """Mironov (2012): the low-order bits of the result must not depend on the value."""
    for cls in METHODS:
        out = noisy(cls, value, seed, n=50, epsilon=epsilon)
        grid = 1.0 if cls is shoal.Geometric else 2.0**-13  # 10 / 2^16 lies between 2^-13 and 2^-12
        assert np.array_equal(out / grid, np.round(out / grid))


def test_epsilon_is_shared_out_and_accounted_for():
    records = Records.from_array(np.full((10, 4), 5.0))
    bounds = {f"x{j}": (0, 10) for j in range(4)}
    mask = shoal.Laplace(epsilon=2, bounds=bounds, records_per_person=2)
    change = mask.apply(records, records.quasi_identifiers, np.random.default_rng(0))
    (loss,) = losses(change.facts)
    assert loss.epsilon == pytest.approx(2) and loss.epsilon <= 2
    assert all(
        spent["epsilon"] == 0.25 and spent["sensitivity"] == 10 for spent in change.details["by column"].values()
    )


@given(epsilon=st.floats(0.001, 50), columns=st.integers(1, 9))
def test_what_is_spent_is_never_more_than_epsilon(epsilon, columns):
    share = exact_fraction(Fraction(epsilon) / columns)
    assert share * columns <= Fraction(epsilon) and float(share * columns) == pytest.approx(epsilon, rel=0.15)
    assert share.denominator <= 2**16


def test_sensitivity_comes_from_the_bounds_and_values_beyond_count_as_the_bound():
    inside, outside = noisy(shoal.Laplace, 10, 3, epsilon=1), noisy(shoal.Laplace, 10_000, 3, epsilon=1)
    assert np.array_equal(inside, outside)
    clamped = noisy(shoal.Laplace, 3, 3, epsilon=1, clamp=True)
    assert clamped.min() == 0 and clamped.max() == 10


def test_bad_input_refused():
    with pytest.raises(InputError, match="laplace needs the parameter 'bounds'"):
        shoal.Laplace(epsilon=1)
    with pytest.raises(InputError, match="bounds must be pairs of a lower and a higher finite number"):
        shoal.Staircase(epsilon=1, bounds={"x0": (3, 3)})
    with pytest.raises(InputError, match="bounds must name every column of the step; 'x0' has none"):
        shoal.Laplace(epsilon=1, bounds={}).apply(
            data := Records.from_array(np.ones(3)), data.quasi_identifiers, np.random.default_rng(0)
        )
    with pytest.raises(InputError, match="bounds must be whole numbers"):
        shoal.Geometric(epsilon=1, bounds={"x0": (0, 1.5)})
    with pytest.raises(InputError, match="epsilon must be greater than 0"):
        shoal.Geometric(epsilon=0, bounds={"x0": (0, 1)})


def fits(x, weight):
    """Whether whole numbers follow the law proportional to weight(|x|), by chi-square with cells of 20 or more."""
    reach = np.arange(-3000, 3001)
    mass = np.array([weight(abs(int(v))) for v in reach])
    expected = len(x) * mass / mass.sum()
    cells = np.minimum(np.cumsum(expected) // 20, np.floor(len(x) / 20) - 1).astype(int)
    seen = np.bincount(np.clip(x, -3000, 3000).astype(int) + 3000, minlength=len(reach))
    cells = np.unique(cells, return_inverse=True)[1]
    return chisquare(np.bincount(cells, seen), np.bincount(cells, expected)).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [float("inf"), 1e300, 101])
def test_an_epsilon_that_promises_nothing_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon must be"):
        shoal.Laplace(epsilon=epsilon, bounds={"x0": (0, 1)})


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (0, 5e-324), (0, 1e76)])
def test_bounds_without_a_usable_grid_are_refused(bounds):
    with pytest.raises(InputError, match="the bounds of 'x0' must lie between -1e\\+75 and 1e\\+75"):
        shoal.Laplace(epsilon=1, bounds={"x0": bounds})


def test_grids_that_float64_cannot_hold_are_refused():
    records = Records.from_array(np.full(5, 1e15))

    def released(**parameters):
        return shoal.Laplace(epsilon=1, **parameters).apply(records, ["x0"], np.random.default_rng(0)).records.raw()

    with pytest.raises(InputError, match="lie so far from 0 that float64 cannot tell the steps of its grid apart"):
        released(bounds={"x0": (1e15, 1e15 + 10)})
    with pytest.raises(InputError, match="lie more than 1,073,741,824 grid steps apart; choose a coarser grid"):
        released(bounds={"x0": (0, 1)}, grid=1e-320)
    assert MOST_STEPS == 2**30
    near = released(bounds={"x0": (1e15, 1e15 + 1000)}, grid=10.0)
    assert np.abs(near - 1e15).max() < 1e6


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 65536), (-3, 1e-3), (10, 10.1), (0, 1e-200), (-1e14, 1e14)])
def test_the_default_grid_is_the_coarsest_power_of_two_that_is_fine_enough(low, high):
    grid = fine_grid(low, high)
    assert np.frexp(grid)[0] == 0.5
    assert GRID_STEPS <= (high - low) / grid < 2 * GRID_STEPS


def test_a_grid_that_does_not_divide_the_bounds_reaches_beyond_both():
    """Bounds [0.5, 9.5] on a grid of 2: steps 0 to 5, sensitivity 10, not 8."""
    method = shoal.Laplace(epsilon=1, bounds={"x0": (0.5, 9.5)}, grid=2.0, clamp=True)
    change = method.apply(Records.from_array(np.full(2000, 5.0)), ["x0"], np.random.default_rng(0))
    assert change.details["by column"]["x0"]["sensitivity"] == 10
    assert set(change.records.raw()[:, 0]) == {0, 2, 4, 6, 8, 10}


@pytest.mark.parametrize("bound", [float("inf"), float("-inf"), float("nan")])
def test_bounds_must_be_finite(bound):
    for pair in ((bound, 1.0), (0.0, bound)):
        with pytest.raises(InputError, match="bounds must be pairs of a lower and a higher finite number"):
            shoal.Geometric(epsilon=1, bounds={"x0": pair})
