"""Draws are those of NumPy's generators, but for the last digits of values with a logarithm in them; or of records."""

import numpy as np
import pytest
from scipy import stats

from shoal.kernels.draws import BITS, TAIL, RecordDraws, chi_squared, dirichlet, keyed_generator, standard_normal
from shoal.kernels.elementary import normal_quantile


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def whole(x: np.ndarray) -> np.ndarray:
    """Whether values have BITS binary digits."""
    share = np.ldexp(np.frexp(x)[0], BITS)
    return share == np.rint(share)


def test_normal_values_are_rounded_in_the_tails_only() -> None:
    x, plain = standard_normal(rng(), (100_000, 2)), rng().standard_normal((100_000, 2))
    tails = np.abs(plain) > TAIL
    assert 10 < tails.sum() < 200
    assert (x[~tails] == plain[~tails]).all()
    assert whole(x[tails]).all() and not whole(plain[tails]).any()
    np.testing.assert_allclose(x, plain, rtol=2.0**-BITS, atol=0)


def test_chi_squared_values_are_rounded() -> None:
    freedom = np.repeat([[0.5], [1.0], [2.0], [30.0]], 500, axis=1)
    x = chi_squared(rng(), freedom)
    assert whole(x).all()
    assert x == pytest.approx(rng().chisquare(freedom), rel=2.0**-BITS, abs=0)


def test_dirichlet_values() -> None:
    x = dirichlet(rng(), 4, 200)
    assert x.sum(axis=1) == pytest.approx(np.ones(200))
    assert x == pytest.approx(rng().dirichlet(np.ones(4), 200), rel=1e-7)


def test_a_last_digit_that_differs_does_not_show() -> None:
    """As another processor's logarithm would make it."""

    class Elsewhere(np.random.Generator):
        def standard_normal(self, size: object) -> np.ndarray:  # type: ignore[override]
            return np.nextafter(super().standard_normal(size), np.inf)

        def chisquare(self, freedom: object) -> np.ndarray:  # type: ignore[override]
            return np.nextafter(super().chisquare(freedom), np.inf)

    there = Elsewhere(np.random.PCG64(5))
    here, other = standard_normal(rng(), 100_000), standard_normal(there, 100_000)
    tails = np.abs(here) > TAIL
    assert (here[tails] == other[tails]).all() and tails.any()
    freedom = np.full(1000, 0.7)
    assert (chi_squared(rng(), freedom) == chi_squared(Elsewhere(np.random.PCG64(5)), freedom)).all()


KEY = (0x0123456789ABCDEF, 0xFEDCBA9876543210)


def numpys(row: int, turn: int, count: int) -> np.ndarray:
    """The words of a record in a turn, from NumPy's Philox, which counts before it draws."""
    counter = ((row << 64 | turn << 128) - 1) % (1 << 256)
    return np.random.Philox(key=KEY[0] | KEY[1] << 64, counter=counter).random_raw(count)


@pytest.mark.parametrize("row", [0, 1, 2, 65_535, 65_536, 10**8, 2**62 + 3])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 13])
def test_draws_of_a_record_are_a_stream_of_philox(row: int, count: int) -> None:
    draws = RecordDraws(np.array([7, row]), KEY)
    for turn in (1, 2):
        uniform = (numpys(row, turn, count) >> np.uint64(11)) * 2.0**-53
        assert (draws.random((2, count))[1] == uniform).all()
    words = numpys(row, 3, count) >> np.uint64(12)
    assert (draws.standard_normal((2, count))[1] == normal_quantile((words + 0.5) * 2.0**-52)).all()


@pytest.mark.parametrize("draw", ["random", "standard_normal"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (6,)])
def test_draws_of_a_record_are_the_same_among_any_others(draw: str, shape: tuple[int, ...]) -> None:
    rows = np.random.default_rng(3).permutation(100_000)[:5_000]
    whole = RecordDraws(np.arange(100_000), KEY)
    some = RecordDraws(rows, KEY)
    for _ in range(2):
        of_all, of_some = getattr(whole, draw)((100_000, *shape)), getattr(some, draw)((5_000, *shape))
        assert of_all.shape == (100_000, *shape) and (of_all[rows] == of_some).all()
        among = whole.among(rows[::3])
        assert (
            getattr(among, draw)((len(among.rows), *shape))
            == getattr(some.among(slice(None, None, 3)), draw)((len(among.rows), *shape))
        ).all()


def test_draws_of_records_have_their_distribution() -> None:
    """Across records, turns and columns, none of which tells of another."""
    draws = RecordDraws.of(np.arange(50_000), keyed_generator(1, 2))
    first, second, normal = draws.random((50_000, 2)), draws.random(50_000), draws.standard_normal((50_000, 2))
    assert ((first >= 0) & (first < 1)).all()
    for x in (*first.T, second):
        assert stats.kstest(x, "uniform").pvalue > 1e-4
    for z in normal.T:
        assert stats.kstest(z, "norm").pvalue > 1e-4
    columns = np.column_stack([first, second, normal])
    together = np.corrcoef(np.hstack([columns[:-1], columns[1:]]), rowvar=False) - np.eye(10)
    assert np.abs(together).max() < 5 / np.sqrt(50_000)


def test_other_keys_give_other_draws() -> None:
    rows = np.arange(1000)
    drawn = {
        RecordDraws.of(rows, keyed_generator(seed, *key)).random(1000).tobytes()
        for seed in (1, 2)
        for key in ((0,), (1,), (0, 1))
    }
    assert len(drawn) == 6
    assert (
        len({RecordDraws(rows, key).random(1000).tobytes() for key in (KEY, KEY[::-1], (KEY[0], 0), (0, KEY[1]))}) == 4
    )
