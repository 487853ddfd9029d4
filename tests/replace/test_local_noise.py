"""Noise inside groups: each group's own moments, nothing of another group."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.replace._noise.laws import NoiseLaw
from shoal.table.joint_moments import JointMoments
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError

TIGHT, WIDE = slice(0, 40), slice(40, 100)
GROUPS = np.repeat([0, 1], [40, 60]).astype(np.int32)


def two_groups() -> np.ndarray:
    """A tight group about 0, and a wide one far off."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    x[WIDE] = 1000 + 50 * x[WIDE]
    return x


def drawn(x: np.ndarray, seed: int = 0, labels: np.ndarray = GROUPS, **parameters: object) -> np.ndarray:
    data = Records.from_array(x)
    method = shoal.LocalNoise(**parameters)
    return method.apply(data, data.names(), Partition(labels=labels), np.random.default_rng(seed)).records.raw()


@pytest.mark.parametrize("kind", ["uncorrelated", "correlated", "kim", "orthogonal"])
def test_the_moments_of_every_group_are_those_of_the_kind(kind: str) -> None:
    x = two_groups()
    new = drawn(x, kind=kind, variance=0.2, exact=True)
    for group in (TIGHT, WIDE):
        s = np.cov(x[group].T)
        expected = {"uncorrelated": s + 0.2 * np.diag(np.diag(s)), "correlated": 1.2 * s}.get(kind, s)
        np.testing.assert_allclose(new[group].mean(axis=0), x[group].mean(axis=0), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(np.cov(new[group].T), expected, rtol=1e-9, atol=1e-10)


def test_it_is_the_law_of_the_mask_for_each_group_by_itself() -> None:
    """One generator, one group after the other, each with its moments as the mask takes them."""
    x, rng = two_groups(), np.random.default_rng(3)
    expected = np.empty_like(x)
    for group in (TIGHT, WIDE):
        law = NoiseLaw(kind="correlated", variance=0.1)
        expected[group] = law.masked(x[group], rng, JointMoments.of(x[group]))
    np.testing.assert_allclose(drawn(x, seed=3, kind="correlated", variance=0.1), expected, rtol=1e-12)


def test_the_tight_group_gets_little_noise() -> None:
    x = two_groups()
    moved = np.abs(drawn(x, variance=0.5) - x)
    assert moved[TIGHT].max() < 5 < moved[WIDE].mean()
    whole = np.abs(drawn(x, variance=0.5, labels=np.zeros(100, dtype=np.int32)) - x)
    assert whole[TIGHT].mean() > 100


def test_sullivan_keeps_the_values_of_every_group() -> None:
    x = two_groups()
    new = drawn(x, kind="sullivan", variance=0.2, exact=True)
    for group in (TIGHT, WIDE):
        assert np.array_equal(np.sort(new[group], axis=0), np.sort(x[group], axis=0))


def test_nothing_is_proved_of_noise() -> None:
    """Everyone keeps a part of their own values."""
    table = pl.DataFrame(two_groups(), schema=["a", "b"])
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier"},
        "steps": [{"partition": "mdav", "k": 20, "replace": {"method": "local-noise", "variance": 0.5}}],
    }
    model = {"privacy": "probabilistic-k-anonymity", "k": 2}
    with pytest.raises(shoal.Refused, match="probabilistic 2-anonymity"):
        shoal.protect(table, plan | {"requirements": [model]}, seed=1)
    facts = shoal.protect(table, plan, seed=1).record["steps"][0]
    assert facts["records unchanged"] == 0


def test_bad_input_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"local-noise: variance must be in \(0, 2\] for the kind orthogonal; got 3"
    ):
        shoal.LocalNoise(kind="orthogonal", variance=3)
    with pytest.raises(DataError, match="noise needs at least 2 records in every group"):
        drawn(two_groups(), variance=0.1, labels=np.arange(100, dtype=np.int32))
    with pytest.raises(DataError, match="Exact noise needs at least 6 records in every group for these columns; got 4"):
        drawn(two_groups(), variance=0.1, exact=True, labels=(np.arange(100) // 4).astype(np.int32))
    coded = Microdata.of(pl.DataFrame({"a": ["x", "y"]}), {"a": "quasi-identifier"}).records
    with pytest.raises(DataError, match="Column 'a' is nominal; local-noise needs columns that are continuous"):
        shoal.LocalNoise(variance=0.1).apply(coded, ["a"], Partition.of([0, 0]), np.random.default_rng(0))
