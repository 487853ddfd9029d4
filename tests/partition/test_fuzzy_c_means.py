import numpy as np

from partition.test_fuzzy import SUM, summed
from shoal.partition.fuzzy_c_means import FuzzyCMeans


def test_where_proposition_2_ends() -> None:
    """All centres at the mean are an optimum if and only if lambda < 1/2 - 1/(2m).

    lambda is the largest eigenvalue of the mean of z z'/|z|^2, z = x - mean. With two columns it is 1/2 or more, and
    then no m brings the centres to the mean.
    """
    from shoal.kernels.partition import fuzzy_step

    def leaves_the_mean(x: np.ndarray, m: float) -> bool:
        direction = 1e-3 * np.linalg.eigh(along(x))[1][:, -1]
        pair = np.array([direction, -direction])
        return fuzzy_step(x, pair, "power", m)[1] < fuzzy_step(x, 0 * pair, "power", m)[1]

    def along(x: np.ndarray) -> np.ndarray:
        return (x[:, :, None] * x[:, None, :] / (x**2).sum(axis=1)[:, None, None]).mean(axis=0)

    for d in (2, 3, 5):
        x = np.random.default_rng(d).normal(size=(200, d))
        x -= x.mean(axis=0)
        largest = np.linalg.eigvalsh(along(x))[-1]
        if d == 2:
            assert largest >= 0.5
            assert all(leaves_the_mean(x, m) for m in (2.0, 10.0, 1000.0))
        else:
            border = 1 / (1 - 2 * largest)
            assert leaves_the_mean(x, 0.98 * border)
            assert not leaves_the_mean(x, 1.02 * border)


def test_constraints_are_kept_at_every_step_and_not_once_at_the_end() -> None:
    """The constrained optimum is lower in the objective than the plain optimum projected afterwards."""
    from shoal.kernels.partition import fuzzy_step
    from shoal.partition.fuzzy import SearchEffort, _onto, fit, system_of

    records = summed(60, 5, noise=25.0)
    x = records.matrix()
    search = SearchEffort(starts=3, tolerance=1e-9, most_steps=500)
    _, none = system_of((), records, records.names())
    _, system = system_of((SUM,), records, records.names())
    plain = fit(x, 4, "power", 1.3, none, search, np.random.default_rng(1), None)
    constrained = fit(x, 4, "power", 1.3, system, search, np.random.default_rng(1), None)
    projected = fuzzy_step(x, _onto(plain.centres, system), "power", 1.3)[1]
    assert constrained.objective < projected - 1e-6


def test_the_balanced_draw_is_the_plain_one_where_no_bound_binds() -> None:
    """Labels of the balanced draw are distributed by the memberships."""
    from shoal.kernels.partition import fuzzy_memberships
    from shoal.partition.fuzzy import draw

    rng = np.random.default_rng(4)
    x, v = np.repeat(rng.normal(size=(3, 2)), 3000, axis=0), rng.normal(size=(4, 2))
    labels, _, kind = draw(x, v, "power", 2.0, 1, rng)
    assert kind == "balanced, exact"
    shares = np.array([np.bincount(part, minlength=4) / 3000 for part in labels.reshape(3, 3000)])
    assert np.abs(shares - fuzzy_memberships(x[::3000], v, "power", 2.0)).max() < 4 * np.sqrt(0.25 / 3000)


def test_an_unbalanced_draw_says_what_it_left() -> None:
    part = FuzzyCMeans(k=3, balanced=False, m2=2.0).partition(np.random.default_rng(1).normal(size=(60, 2)), seed=1)
    sizes = np.array(part.details["realised sizes"])
    assert part.details["centres"] == 20
    assert part.details["groups smaller than k"] == ((sizes > 0) & (sizes < 3)).sum() > 0
    assert part.details["centres nobody drew"] == (sizes == 0).sum()
    assert sorted(part.sizes) == sorted(sizes[sizes > 0])
