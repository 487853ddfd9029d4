import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from naive.refine import best_loss
from shoal.kernels.partition import partition_loss
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError


def loss(part, x):
    return part.sse((x - x.mean(axis=0)) / np.where(x.std(axis=0, ddof=1) > 0, x.std(axis=0, ddof=1), 1))


@settings(max_examples=by_night(10, 20))
@given(
    st.integers(2, 40),
    st.integers(1, 4),
    st.integers(0, 2**32),
    st.sampled_from(["normal", "grid", "constant"]),
    st.sampled_from(["none", "windows", "columns"]),
)
def test_promised_sizes_and_never_worse(n, k, seed, kind, finish):
    rng = np.random.default_rng(seed)
    x = {"normal": rng.normal(size=(n, 3)), "grid": rng.integers(0, 3, (n, 3)) / 1.0, "constant": np.ones((n, 3))}[kind]
    k = min(k, n)
    start = shoal.MDAV(k=k).partition(x)
    part = shoal.Refined(start="mdav", k=k, moves=2000, finish=finish).partition(x, seed=seed)
    assert part.k >= k
    assert loss(part, x) <= loss(start, x) * (1 + 1e-12) + 1e-12


@settings(max_examples=6)
@given(st.integers(6, 10), st.integers(2, 3), st.integers(0, 2**32))
def test_the_exact_finishes_are_exact_on_small_tables(n, k, seed):
    # Descent alone may end in a local optimum; one window holds the whole table.
    x = np.random.default_rng(seed).lognormal(0, 1, (n, 2))
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    best = best_loss(z, k)
    part = shoal.Refined(start="mdav", k=k, moves=0, finish="windows").partition(x, seed=0)
    assert loss(part, x) == pytest.approx(best, rel=1e-9)


def test_a_finish_does_not_lose_what_annealing_found():
    x = np.random.default_rng(1).lognormal(0, 1, (72, 3))
    none, windows = (
        loss(shoal.Refined(start="mdav", k=3, moves=720, finish=finish).partition(x, seed=1), x)
        for finish in ("none", "windows")
    )
    assert windows < none


def test_the_exact_finish_says_how_near_the_optimum_it_is():
    x = np.random.default_rng(7).lognormal(0, 1, (10, 2))
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    part = shoal.Refined(start="mdav", k=3, moves=1000, finish="columns").partition(x, seed=1)
    best = best_loss(z, 3)
    assert part.details["no partition loses less than"] <= best * (1 + 1e-12)
    gap = 1 - part.details["no partition loses less than"] / loss(part, x)
    assert part.details["gap to that"] == pytest.approx(gap, abs=1e-9)
    assert gap < 0.01


def test_budgets():
    x = np.random.default_rng(2).normal(size=(300, 4))
    descended = shoal.Refined(start="mdav", k=3, moves=0).partition(x, seed=1)
    annealed = shoal.Refined(start="mdav", k=3, moves=300_000).partition(x, seed=1)
    again = shoal.Refined(start="mdav", k=3, moves=300_000).partition(x, seed=1)
    start = shoal.MDAV(k=3).partition(x)
    assert loss(annealed, x) < loss(descended, x) < loss(start, x)
    np.testing.assert_array_equal(annealed.labels, again.labels)
    assert annealed.details["moves"] == 300_000


@pytest.mark.parametrize("finish", ["none", "windows", "columns"])
def test_hardly_any_moves(finish):
    x = np.random.default_rng(2).normal(size=(30, 4))
    part = shoal.Refined(start="mdav", k=3, moves=1, finish=finish).partition(x, seed=1)
    assert part.k >= 3 and loss(part, x) <= loss(shoal.MDAV(k=3).partition(x), x)


def test_any_start_named_or_made():
    x = np.random.default_rng(3).normal(size=(80, 2))
    made = shoal.Refined(start=shoal.VMDAV(k=4), moves=5000)
    named = shoal.Refined(k=4, start="vmdav", moves=5000)
    mapped = shoal.Refined(k=4, start={"method": "vmdav"}, moves=5000)
    assert made.smallest == named.smallest == 4
    labels = [m.partition(x, seed=1).labels for m in (made, named, mapped)]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[1], labels[2])


def test_parameters_that_contradict_each_other():
    assert shoal.Refined(k=5, start=shoal.MDAV(k=3)).start == shoal.MDAV(k=5)
    with pytest.raises(ParameterError, match="k must not exceed the group size that its start promises, 1; got 5"):
        shoal.Refined(k=5, start="whole")
    with pytest.raises(ParameterError, match=r"^refined: start: Unknown partition 'mdaw'; did you mean"):
        shoal.Refined(start="mdaw", k=5)
    with pytest.raises(ParameterError, match=r"^refined: start: mdav: k must be greater than or equal to 1; got 0\.$"):
        shoal.Refined(start={"method": "mdav", "k": 0})
    with pytest.raises(ParameterError, match="an exact finish knows no weights"):
        shoal.Refined(start="mdav", k=5, weighted=True, finish="windows")


def test_weights_enter_the_loss_when_asked():
    # Weight 9 at 0 and 10: the pairs that keep the heavy records with their like lose least.
    frame = pl.DataFrame({"a": [0.0, 1.0, 5.0, 6.0, 11.0, 30.0], "w": [1.0, 9.0, 1.0, 1.0, 9.0, 1.0]})
    table = Microdata.of(frame, {"a": "quasi-identifier", "w": "weight"}).records
    x, w = table.matrix(), table.weights
    part = shoal.Refined(start="mdav", k=2, weighted=True).partition(table, seed=1)
    assert part.sse(x, w) == pytest.approx(best_loss(x, 2, w), rel=1e-9)
    with pytest.raises(shoal.DataError, match="weighted needs a column with the role weight"):
        shoal.Refined(start="mdav", k=2, weighted=True).partition(x)


def test_households_weigh_what_their_members_do():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=20),
            "b": rng.normal(size=20),
            "w": rng.choice([1.0, 9.0], 20),
            "home": [0] * 3 + [1] * 5 + [i // 2 for i in range(4, 16)],
        }
    )
    columns = {"a": "quasi-identifier", "b": "quasi-identifier", "w": "weight", "home": "household"}
    table = Microdata.of(frame, columns).records
    x, w, homes = table.matrix(), table.weights, table.households
    total = np.array([w[homes == h].sum() for h in range(homes.max() + 1)])
    means = np.array([w[homes == h] @ x[homes == h] / total[h] for h in range(homes.max() + 1)])
    part = shoal.Refined(start="mdav", k=2, weighted=True).partition(table, seed=1)
    of_home = part.labels[[np.flatnonzero(homes == h)[0] for h in range(len(total))]]
    assert (of_home[homes] == part.labels).all()
    assert partition_loss(means, total, of_home) == pytest.approx(best_loss(means, 2, total), rel=1e-9)


def test_a_table_of_one_group():
    assert shoal.Refined(start="mdav", k=3).partition(np.arange(5.0), seed=1).n_groups == 1
