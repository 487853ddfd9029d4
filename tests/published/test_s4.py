"""The worked example of Torra (2020) of constrained fuzzy microaggregation (Tables 1, 3 and 4).

The last of the 12 records, (13, 100, 125.56), breaks the constraint v3 = 1.16 v1 + 1.07 v2 by -3.48. The printed
centres of the original satisfy it, and they are reproduced with 16 in place of 13 (within .37, the value of m not
being stated; m = 1.32 fits best) and not with 13 (.56). So 13 is taken for a misprint of 16.
"""

import numpy as np
import pytest

from shoal.constraints import Constraints
from shoal.data.records import Records
from shoal.kernels.partition.fuzzy import fuzzy_step
from shoal.partition.fuzzy import Search, _alternate, system_of

RULE = "v3 == 1.16*v1 + 1.07*v2"
M = 1.32
DATA = np.array(
    [
        (15, 23, 42.01),
        (12, 43, 59.93),
        (64, 229, 319.27),
        (12, 45, 62.07),
        (28, 39, 74.21),
        (71, 102, 191.50),
        (23, 64, 95.16),
        (25, 102, 138.14),
        (48, 230, 301.78),
        (32, 50, 90.62),
        (90, 200, 318.40),
        (16, 100, 125.56),
    ]
)
NOISY = np.array(
    [  # Table 2
        (16.91695, 26.67021, 41.37696),
        (15.48220, 42.61481, 60.60212),
        (65.86964, 228.47892, 318.70371),
        (12.97750, 45.84617, 60.80475),
        (25.93508, 38.55444, 75.96227),
        (72.14286, 103.34332, 191.54478),
        (24.43550, 65.84895, 96.49401),
        (24.56774, 101.54299, 137.49281),
        (47.97780, 226.75840, 302.78913),
        (28.43727, 48.02995, 89.97244),
        (91.86226, 197.98087, 318.96431),
        (11.64466, 100.13359, 127.12980),
    ]
)
PRINTED = np.array(
    [
        (13.44075, 37.16236, 55.35500),
        (67.32890, 219.64071, 313.11708),
        (27.59963, 52.64698, 88.34783),
        (37.11288, 101.71213, 151.88292),
    ]
)
PRINTED_NOISY = np.array(
    [  # N(0, 1.5) with constraint
        (14.00637, 37.19070, 56.04144),
        (68.88084, 218.00900, 313.17140),
        (27.11313, 52.93224, 88.08872),
        (36.83617, 102.07690, 151.95224),
    ]
)


def table(values: np.ndarray) -> Records:
    return Records.from_array(values, "none", ["v1", "v2", "v3"])


def centres(values: np.ndarray, rules: tuple[str, ...] = (), start: np.ndarray = PRINTED, m: float = M) -> np.ndarray:
    _, system = system_of(rules, table(values), table(values).names())
    search = Search(starts=1, tolerance=1e-10, most_steps=3000)
    return _alternate(values, start, "power", m, system, search, None).centres


def residual(v: np.ndarray) -> np.ndarray:
    return np.abs(v @ [1.16, 1.07, -1.0])


def test_one_record_of_table_1_breaks_its_own_rule() -> None:
    as_printed = DATA.copy()
    as_printed[11, 0] = 13
    broken = Constraints.parse([RULE], table(as_printed)).violations(table(as_printed), tolerance=1e-9)[RULE]
    assert np.flatnonzero(broken).tolist() == [11]
    assert residual(as_printed)[11] == pytest.approx(3.48, abs=0.005)
    corrected = Constraints.parse([RULE], table(DATA))
    assert not corrected.violations(table(DATA), tolerance=1e-9)[RULE].any()


def test_centres_of_the_original() -> None:
    found = centres(DATA)
    assert np.abs(found - PRINTED).max() <= 0.371
    assert residual(found).max() <= 1e-10  # feasible data: no constraint needed


def test_centres_of_the_printed_noisy_data() -> None:
    # m = 1.3 fits these best; at 1.32 two of the centres of this table leap to another optimum
    plain, constrained = centres(NOISY, m=1.3), centres(NOISY, (RULE,), m=1.3)
    assert np.abs(constrained - PRINTED_NOISY).max() <= 0.25
    assert residual(plain).min() > 0.01
    assert residual(constrained).max() <= 1e-10


@pytest.mark.parametrize("sd", [0.5, 1.0, 1.5])
def test_constrained_centres_of_noisy_data_are_nearer_to_the_original_ones(sd: float) -> None:
    """In the mean over the four centres, and for each of them in most tables; `bench/published/s4.py` runs 1000."""
    original = centres(DATA)
    plain, constrained = [], []
    for seed in range(20):
        noisy = DATA + np.random.default_rng(seed).normal(0, sd, DATA.shape)
        found = centres(noisy, (RULE,), original)
        assert residual(found).max() <= 1e-10
        constrained.append(np.sqrt(((found - original) ** 2).sum(axis=1)))
        plain.append(np.sqrt(((centres(noisy, (), original) - original) ** 2).sum(axis=1)))
    assert np.mean(constrained) < np.mean(plain)
    assert (np.mean(np.array(constrained) < np.array(plain), axis=0) >= 0.75).all()


def test_the_objective_is_that_of_the_paper() -> None:
    u = np.array(
        [
            [1 / sum((((x - v) ** 2).sum() / ((x - w) ** 2).sum()) ** (1 / (M - 1)) for w in PRINTED) for v in PRINTED]
            for x in DATA
        ]
    )
    expected = sum(u[k, i] ** M * ((x - v) ** 2).sum() for k, x in enumerate(DATA) for i, v in enumerate(PRINTED))
    assert fuzzy_step(DATA, PRINTED, "power", M)[1] == pytest.approx(expected, rel=1e-12)
