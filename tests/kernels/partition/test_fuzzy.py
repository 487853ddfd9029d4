"""The kernels of fuzzy clustering against their naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from naive import fuzzy as naive
from shoal.kernels.partition import fuzzy_draw, fuzzy_fill, fuzzy_memberships, fuzzy_step

PARAMETERS = [
    ("power", 1.05),
    ("power", 1.3),
    ("power", 2.0),
    ("power", 3.0),
    ("power", 20.0),
    ("entropy", 0.01),
    ("entropy", 1.0),
    ("entropy", 30.0),
]

values = st.integers(-6, 6).map(lambda v: v / 2)


def tables(rows):
    return st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            rows.flatmap(lambda n: arrays(float, (n, d), elements=values)),
            st.integers(1, 9).flatmap(lambda c: arrays(float, (c, d), elements=values)),
        )
    )


@given(tables(st.integers(1, 20)), st.sampled_from(PARAMETERS))
def test_memberships_and_step_equal_their_twins(table, how) -> None:
    x, centres = table
    u = naive.memberships(x, centres, *how)
    means, objective = naive.step(x, centres, *how)
    assert fuzzy_memberships(x, centres, *how) == pytest.approx(u, abs=1e-13)
    got, value = fuzzy_step(x, centres, *how)
    assert value == pytest.approx(objective, rel=1e-12, abs=1e-12)
    heavy = (u ** (how[1] if how[0] == "power" else 1)).sum(axis=0) > 1e-9
    assert got[heavy] == pytest.approx(means[heavy], abs=1e-9)


@given(tables(st.integers(1, 40)), st.sampled_from(PARAMETERS))
def test_the_vector_unit_changes_no_bit(table, how) -> None:
    x, centres = table
    x, centres = x + np.pi, centres + np.e
    plain, fast = fuzzy_step(x, centres, *how, simd=False), fuzzy_step(x, centres, *how, simd=True)
    assert (plain[0] == fast[0]).all()
    assert plain[1] == fast[1]
    draws = [fuzzy_draw(x, centres, *how, 7, simd=simd) for simd in (False, True)]
    assert (draws[0][0] == draws[1][0]).all()
    assert (draws[0][1] == draws[1][1]).all()


@pytest.mark.parametrize(("rule", "parameter"), [("power", 1.0001), ("entropy", 1e8)])
def test_the_crisp_limit_is_the_nearest_centre(rule: str, parameter: float) -> None:
    rng = np.random.default_rng(1)
    x, centres = rng.normal(size=(200, 3)), rng.normal(size=(9, 3))
    nearest = ((x[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    u = fuzzy_memberships(x, centres, rule, parameter)
    assert (u.argmax(axis=1) == nearest).all()
    assert (u.max(axis=1) > 0.999).mean() > 0.99
    assert (fuzzy_draw(x, centres, rule, parameter, 1)[0] == nearest).mean() > 0.99


@pytest.mark.parametrize("rule", ["power", "entropy"])
def test_extreme_parameters_stay_finite(rule: str) -> None:
    rng = np.random.default_rng(2)
    x = np.vstack([rng.normal(size=(50, 2)), 1e6 + rng.normal(size=(2, 2)), 1e-9 * rng.normal(size=(2, 2))])
    centres = x[[0, 1, 50, 52]] + 1e-12
    for parameter in (1.0 + 1e-9, 1.5, 300.0, 1e5) if rule == "power" else (1e-12, 1.0, 1e12):
        u = fuzzy_memberships(x, centres, rule, parameter)
        means, objective = fuzzy_step(x, centres, rule, parameter)
        assert np.isfinite(u).all() and np.isfinite(means).all() and np.isfinite(objective)
        assert u.sum(axis=1) == pytest.approx(np.ones(len(x)), abs=1e-12)


def test_a_record_on_several_centres_shares_its_membership_among_them() -> None:
    x = np.array([[0.0, 0.0], [1.0, 0.0]])
    centres = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    assert fuzzy_memberships(x, centres, "power", 2.0)[0].tolist() == [0.5, 0.5, 0.0]
    # for the record at 1: squared distances 1, 1, 4, so memberships 4/9, 4/9, 1/9
    assert fuzzy_memberships(x, centres, "power", 2.0)[1] == pytest.approx([4 / 9, 4 / 9, 1 / 9], abs=1e-15)


@pytest.mark.parametrize(("rule", "parameter"), [("power", 1.6), ("entropy", 0.8)])
def test_draws_have_the_memberships_as_their_law(rule: str, parameter: float) -> None:
    rng = np.random.default_rng(3)
    x, centres = rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    u = fuzzy_memberships(x, centres, rule, parameter)
    many = np.repeat(x, 4000, axis=0)
    labels, expected = fuzzy_draw(many, centres, rule, parameter, 11)
    shares = np.array([np.bincount(part, minlength=5) / 4000 for part in labels.reshape(4, 4000)])
    assert np.abs(shares - u).max() < 4 * np.sqrt(0.25 / 4000)
    assert expected == pytest.approx(4000 * u.sum(axis=0), rel=1e-10)


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 12), st.integers(0, 99))
def test_short_groups_are_filled(least: int, c: int, spare: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, centres = rng.normal(size=(least * c + spare, 2)), rng.normal(size=(c, 2))
    labels, _ = fuzzy_draw(x, centres, "power", 1.5, seed)
    filled = fuzzy_fill(x, centres, "power", 1.5, labels, least)
    assert np.bincount(filled, minlength=c).min() >= least
    before = np.bincount(labels, minlength=c)
    if before.min() >= least:
        assert (filled == labels).all()
    # nobody leaves a group that was short
    assert all(filled[i] == g for i, g in enumerate(labels) if before[g] <= least)


SHARE = 0.0137


def without_far(x, centres, rule, parameter):
    """Masses, weighted sums and objective when, of each record, centres of a weight below the share are not there."""
    mass, sums, objective = np.zeros(len(centres)), np.zeros(centres.shape), 0.0
    for record in x:
        d2 = ((record - centres) ** 2).sum(axis=1)
        if rule == "entropy":
            weight = np.exp(np.maximum(-parameter * (d2 - d2.min()), -700.0))
        elif d2.min() > 0:
            weight = (d2.min() / d2) ** (parameter / (parameter - 1.0))
        else:
            weight = (d2 == 0) * 1.0
        near = np.flatnonzero(weight >= SHARE)
        u = naive.memberships(record[None], centres[near], rule, parameter)[0]
        w = u**parameter if rule == "power" else u
        mass[near] += w
        sums[near] += w[:, None] * record
        objective += float((w * d2[near]).sum())
        objective += 0.0 if rule == "power" else float((u * np.log(u)).sum()) / parameter
    return mass, sums, objective


@given(tables(st.integers(1, 12)), st.sampled_from(PARAMETERS), st.booleans())
def test_a_step_without_far_centres_equals_its_twin(table, how, simd) -> None:
    x, centres = table
    mass, sums, objective = without_far(x, centres, *how)
    got, value = fuzzy_step(x, centres, *how, least=SHARE, simd=simd)
    assert value == pytest.approx(objective, rel=1e-11, abs=1e-11)
    heavy = mass > 1e-9
    assert got[heavy] == pytest.approx(sums[heavy] / mass[heavy, None], abs=1e-9)
    assert (got[mass == 0] == centres[mass == 0]).all()


@pytest.mark.parametrize("how", [("power", 1.1), ("power", 1.3), ("entropy", 3.0)])
@pytest.mark.parametrize("grid", [False, True])
def test_steps_among_many_centres_equal_their_twin(how, grid) -> None:
    """On the grid many centres are as far as others."""
    rng = np.random.default_rng(3)
    x, centres = (rng.integers(-3, 4, (n, 3)) / 2 if grid else rng.normal(size=(n, 3)) for n in (30, 90))
    mass, sums, objective = without_far(x, centres, *how)
    got, value = fuzzy_step(x, centres, *how, least=SHARE)
    assert value == pytest.approx(objective, rel=1e-11)
    assert (mass == 0).any()
    assert got[mass > 0] == pytest.approx(sums[mass > 0] / mass[mass > 0, None], abs=1e-9)
    assert (got[mass == 0] == centres[mass == 0]).all()
