import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import attacks as naive
from shoal.kernels.risk.gower import GowerSpace, chance_of_overlap, guesses, overlaps
from shoal.kernels.risk.predicates import MISSING


def test_overlaps_by_hand():
    # Candidates 0, 1, 2, 10 (range 10) in one column and a, a, b, b in the other; the target is (1, b). Nearest by the
    # first column: the second candidate. By the other one: the third and the fourth, tied.
    space = GowerSpace(candidates=np.array([[0.0, 1, 2, 10], [0, 0, 1, 1]]), scale=np.array([0.1, 0]))
    target = np.array([[1.0], [1]])
    assert overlaps(space, target, 1, 1).tolist() == [[0, 0, 0, 0, 0, 1, 0, 2]]
    assert chance_of_overlap(overlaps(space, target, 1, 1), 1).tolist() == [0]
    # Two nearest: the second for certain and one of the first and the third at equal distance; the third or the
    # fourth candidate for certain both, so they meet where the third is drawn.
    assert chance_of_overlap(overlaps(space, target, 1, 2), 2).tolist() == [0.5]
    assert chance_of_overlap(overlaps(space, target, 1, 4), 4).tolist() == [1]


def test_guesses_by_hand():
    # The nearest to 1 by number are the records with 0 and 2; one of them tells 5, the other 7.
    space = GowerSpace(candidates=np.array([[0.0, 2, 9]]), scale=np.array([1 / 9]))
    secret_values = np.array([[5.0, 7, 5]])
    assert guesses(space, np.array([[1.0]]), secret_values, secret_values, np.array([[5.0]])).tolist() == [[0.5]]
    assert guesses(space, np.array([[1.0]]), secret_values - 2, secret_values + 2, np.array([[5.0]])).tolist() == [[1]]


@pytest.mark.parametrize(("missing", "nearest"), [("equal", 1), ("wildcard", 3), ("nothing", 3)])
def test_readings_of_a_missing_cell(missing, nearest):
    """The target lacks its cell; candidates hold a missing cell, 1 and 2."""
    cells = np.array([[MISSING, 1.0, 2]] * 2)
    space = GowerSpace(candidates=cells, scale=np.zeros(2), missing=missing)
    assert overlaps(space, np.full((2, 1), MISSING), 1, 1)[0, 5] == nearest


SMALL = st.tuples(st.integers(1, 7), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))


@given(SMALL, st.sampled_from(["equal", "wildcard", "nothing"]), st.integers(0, 2**32))
def test_equals_looking_at_every_pair(sizes, missing, seed):
    n, m, d1, d2 = sizes
    rng = np.random.default_rng(seed)
    candidates, targets = (rng.integers(-1, 3, (d1 + d2, count)).astype(np.float64) for count in (n, m))
    candidates[candidates < 0], targets[targets < 0] = MISSING, MISSING
    scale = rng.choice([0, 0.5], d1 + d2)
    space = GowerSpace(candidates=candidates, scale=scale, missing=missing)
    k = int(rng.integers(1, n + 1))
    chances = chance_of_overlap(overlaps(space, targets, d1, k), k)
    for j in range(m):
        one, two = (
            [naive.gower(candidates[part, i], targets[part, j], scale[part], missing) for i in range(n)]
            for part in (slice(0, d1), slice(d1, None))
        )
        assert chances[j] == pytest.approx(naive.chance_of_overlap(one, two, k))
    secrets = rng.integers(0, 3, (2, n)).astype(np.float64)
    truth = rng.integers(0, 3, (2, m)).astype(np.float64)
    shares = guesses(space, targets, secrets, secrets + 1, truth)
    for j in range(m):
        distances = np.array([naive.gower(candidates[:, i], targets[:, j], scale, missing) for i in range(n)])
        nearest = distances == distances.min()
        right = (secrets <= truth[:, [j]]) & (truth[:, [j]] <= secrets + 1)
        assert shares[:, j].tolist() == pytest.approx((right[:, nearest].sum(axis=1) / nearest.sum()).tolist())
