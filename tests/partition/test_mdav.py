"""MDAV as a method: strata, households, frames; its kernel is tested in tests/kernels."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.partition import mdav
from shoal.partition.mdav import MDAV
from shoal.partition.mu_approx import MuApprox
from shoal.partition.refined import Refined
from shoal.partition.vmdav import VMDAV
from shoal.table import variable
from shoal.table.microdata import as_records
from shoal.table.packed import Packed
from shoal.table.partition import Partition
from shoal.vocabulary.errors import DataError, ParameterError
from shoal.vocabulary.facts import Count


def test_two_clouds_by_hand() -> None:
    x = [0.0, 0.1, 10.0, 10.1, 0.2, 10.2]  # the mean is 5.1: rows 0 and 5 are equally far, so row 0 begins
    assert MDAV(k=3).partition(np.array(x)).labels.tolist() == [0, 0, 1, 1, 0, 1]


@given(st.integers(1, 60), st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_every_group_holds_k_to_2k_minus_1(n: int, k: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 4, size=(n, 2)).astype(float)
    if k > n:
        with pytest.raises(ParameterError, match=rf"k must be an integer in \[1, {n}\]"):
            MDAV(k=k).partition(x)
        return
    sizes = MDAV(k=k).partition(x).sizes
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, k)


def test_frames_of_every_kind_give_the_same_groups() -> None:
    columns = {"a": [1, 5, 2, 8, 9, 3], "b": ["u", "v", "u", "v", "v", "u"]}
    labels = [MDAV(k=3).partition(make(columns)).labels.tolist() for make in (pl.DataFrame, pd.DataFrame, pa.table)]
    assert labels[0] == labels[1] == labels[2]


def test_strata_are_partitioned_apart() -> None:
    frame = pl.DataFrame({"x": [1.0, 1.1, 1.2, 1.3], "region": ["n", "s", "n", "s"]})
    table = shoal.Microdata.of(frame, {"x": "quasi-identifier", "region": "stratum"})
    part = MDAV(k=2).partition(table)
    assert part.labels[0] == part.labels[2] != part.labels[1] == part.labels[3]


def test_a_stratum_under_k_is_refused_or_merged() -> None:
    frame = pl.DataFrame({"x": [1.0, 1.1, 1.2, 1.3, 5.0], "region": ["n", "s", "n", "s", "w"]})
    table = shoal.Microdata.of(frame, {"x": "quasi-identifier", "region": "stratum"})
    with pytest.raises(ParameterError, match="stratum 3 has 1 record"):
        MDAV(k=2).partition(table)
    assert MDAV(k=2).partition(table, small_strata="merge").k >= 2


def test_k_counts_households() -> None:
    frame = pl.DataFrame({"x": [1.0, 1.0, 1.0, 1.1, 9.0, 9.1, 9.2], "home": ["a", "a", "a", "b", "c", "c", "d"]})
    table = shoal.Microdata.of(frame, {"x": "quasi-identifier", "home": "household"})
    part = MDAV(k=2).partition(table)
    homes = np.array(frame["home"])
    assert all(len(set(homes[rows])) >= 2 for rows in part.members())
    assert all(len(set(part.labels[homes == home])) == 1 for home in "abcd")


def test_a_household_in_two_strata_is_refused() -> None:
    frame = pl.DataFrame({"x": range(8), "home": [1, 1, 2, 2, 3, 3, 4, 4], "region": list("nnnsssss")})
    columns = {"x": "quasi-identifier", "home": "household", "region": "stratum"}
    with pytest.raises(DataError, match=r"^1 household has members in more than one stratum"):
        MDAV(k=1).partition(shoal.Microdata.of(frame, columns))
    joined = frame.with_columns(region=pl.Series(list("nnssssss")))  # one household in the north
    with pytest.raises(ParameterError, match=r"stratum 1 has 1 household\); got 2\. Lower k, or set small_strata"):
        MDAV(k=2).partition(shoal.Microdata.of(joined, columns))
    assert MDAV(k=2).partition(shoal.Microdata.of(joined, columns), small_strata="merge").sizes.tolist() == [4, 4]


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match=r"mdav: k must be greater than or equal to 1; got 0\."):
        MDAV(k=0)
    with pytest.raises(ParameterError, match="mdav needs the parameter 'k'"):
        MDAV()  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="did you mean 'k'"):
        MDAV(kk=3)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match=r"mdav: block_size must be greater than or equal to 50000; got 100\."):
        MDAV(k=3, block_size=100)


def test_blocks_are_an_option_that_keeps_k(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).normal(size=(100_001, 2))
    exact, part = MDAV(k=7).partition(x), MDAV(k=7, block_size=50_000).partition(x)
    assert (part.details["blocks"], part.details["smallest block"]) == (2, 50_000)
    assert part.k >= 7
    assert part.sizes.max() <= 13
    assert part.sse(x) == pytest.approx(exact.sse(x), rel=0.05)
    assert (part.labels != exact.labels).any()
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    np.testing.assert_array_equal(part.labels, MDAV(k=7, block_size=50_000).partition(x).labels)


def test_tables_under_two_blocks_stay_exact() -> None:
    x = np.random.default_rng(4).normal(size=(3000, 2))
    part = MDAV(k=5, block_size=50_000).partition(x)
    np.testing.assert_array_equal(part.labels, MDAV(k=5).partition(x).labels)
    assert "blocks" not in part.details


def test_an_interrupt_stops_all_blocks() -> None:
    def stop(done: float) -> None:
        assert 0 <= done <= 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MDAV(k=2, block_size=50_000).partition(np.random.default_rng(5).normal(size=(200_000, 6)), progress=stop)


def _of_many_categories(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    towns = [f"town {i:03d}" for i in range(400)]
    return pd.DataFrame({"age": rng.normal(size=n), "town": rng.choice(towns, n), "sex": rng.choice(["f", "m"], n)})


def test_many_categories_are_grouped_as_their_points() -> None:
    frame = _of_many_categories(2_000)
    records = as_records(frame, None, "sd")
    packed = Packed.of(records, records.quasi_identifiers)
    assert packed.coded
    part = MDAV(k=4).partition(frame)
    x = records.matrix()
    np.testing.assert_array_equal(part.labels, mdav(x, 4))
    assert packed.sse(part) == pytest.approx(part.sse(x), rel=1e-12)
    assert packed.information_loss(part) == pytest.approx(part.information_loss(x), rel=1e-12)


def test_missing_cells_lose_as_a_category_of_their_own() -> None:
    x = np.array([[-1.0], [-1.0], [3.0], [0.0]])
    packed = Packed(x=x, categories=np.array([40]), sides=np.array([1.0]))
    assert packed.sse(Partition(labels=np.array([0, 0, 1, 1], dtype=np.int32))) == pytest.approx(1.0)


def test_few_categories_stay_points() -> None:
    records = as_records(_of_many_categories(50)[["age", "sex"]], None, "sd")
    packed = Packed.of(records, records.quasi_identifiers)
    assert not packed.coded
    np.testing.assert_array_equal(packed.x, records.matrix())


def test_blocks_of_many_categories_keep_k() -> None:
    part = MDAV(k=7, block_size=50_000).partition(_of_many_categories(100_000))
    assert part.k == 7
    assert part.facts["blocks"] == Count(n=2, unit="blocks")


def test_more_categories_than_points_have_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One coordinate a category would be refused; codes are not."""
    monkeypatch.setattr(variable, "MOST_COORDINATES", 10_000)
    frame = _of_many_categories(2_000)
    for method in (MDAV(k=4), VMDAV(k=4), MuApprox(k=4)):
        assert method.partition(frame).k >= 4
    with pytest.raises(DataError, match=r"Column 'town' has 399 categories, and a distance takes one"):
        Refined(k=4, start=MDAV(k=4)).partition(frame)
