import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import crossed
from naive import latent_class as naive
from shoal.partition.latent_class import LatentClass
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError, ParameterError

QI = "quasi-identifier"


def survey(n=300, seed=0):
    """Two classes that answer five questions differently; the second lives at larger z."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    columns = {f"q{j}": np.where(rng.random(n) < np.where(truth, 0.9, 0.1), "yes", "no") for j in range(4)}
    columns["colour"] = np.where(truth, rng.choice(["red", "blue"], n), rng.choice(["green", "blue"], n))
    return pd.DataFrame(columns).assign(z=rng.normal(size=n) + 3 * truth), truth


def records(frame, **roles):
    return Microdata.of(frame, {name: roles.get(name, QI) for name in frame}).records


def test_by_hand():
    # Three columns that always agree: two classes, all of "a" and all of "b".
    frame = pd.DataFrame({name: ["a", "b", "a", "b", "a", "b"] for name in "uvw"})
    part = LatentClass(k=3, groups=2).partition(frame, seed=0)
    assert part.labels[::2].tolist() == [part.labels[0]] * 3
    assert part.sizes.tolist() == [3, 3]
    # Tables: three answers and a credited record that is half of each: (3.5, 0.5)/4.
    own = part.model.tables[0][:, part.labels[0]]
    assert own.tolist() == pytest.approx([3.5 / 4, 0.5 / 4], abs=0.02)


def test_classes_are_found_and_counted_by_bic():
    frame, truth = survey()
    part = LatentClass(k=20, groups="1..4").partition(frame.drop(columns="z"), seed=1)
    assert part.n_groups == 2
    agree = (part.labels == truth).mean()
    assert max(agree, 1 - agree) > 0.9
    table = part.details["BIC by classes"]
    assert set(table) == {"1", "2", "3", "4"}
    assert max(table, key=table.get) == "2"
    # proportions 1, and 2 (4 (2 - 1) + (3 - 1))
    assert part.details["parameters"] == 13
    json.dumps(part.details, allow_nan=False)


def test_same_likelihood_as_the_naive_twin():
    frame, truth = survey(200)
    columns = frame.drop(columns="z")
    part = LatentClass(k=10, groups=2, tolerance=1e-12).partition(columns)
    codes = np.column_stack([np.unique(columns[c], return_inverse=True)[1] for c in columns])
    loglik = naive.em(codes, codes.max(axis=0) + 1, np.eye(2)[truth], 300)[0]
    assert part.details["log-likelihood"] == pytest.approx(loglik, rel=1e-8)


def test_covariates_raise_the_likelihood_and_are_counted():
    frame, truth = survey()
    plain = LatentClass(k=20, groups=2).partition(frame.drop(columns="z"), seed=1)
    data, columns = records(frame), [c for c in frame if c != "z"]
    part = LatentClass(k=20, groups=2, covariates=("z",)).partition(data, columns=columns, seed=1)
    assert part.details["log-likelihood"] > plain.details["log-likelihood"] + 20
    assert part.details["parameters"] == plain.details["parameters"] + 1
    agree = (part.labels == truth).mean()
    assert max(agree, 1 - agree) > 0.95
    copy = data.with_variables(*(records(frame.assign(z2=2 * frame.z, one=1.0))[c] for c in ("z2", "one")))
    same = LatentClass(k=20, groups=2, covariates=("z", "z2", "one")).partition(copy, columns=columns, seed=1)
    assert same.details["covariates"] == ["z"]
    assert same.details["log-likelihood"] == part.details["log-likelihood"]


@st.composite
def categorical_tables(draw):
    n = draw(st.integers(2, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = {}
    for j in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["even", "constant", "lone", "unique"]))
        values = {
            "even": lambda: rng.integers(0, 3, n), "constant": lambda: np.zeros(n, dtype=int),
            "lone": lambda: np.eye(n, dtype=int)[0], "unique": lambda: np.arange(n),
        }[kind]()  # fmt: skip
        columns[f"c{j}"] = np.char.add("v", values.astype(str))
    columns["z"] = rng.normal(size=n) if draw(st.booleans()) else np.eye(n)[0] * 1e6
    return pd.DataFrame(columns)


@settings(max_examples=40)
@given(categorical_tables(), st.integers(1, 15), st.integers(1, 4), st.booleans(), st.integers(0, 5))
def test_every_group_has_k_records_whatever_the_data(frame, k, groups, regression, seed):
    method = LatentClass(k=k, groups=groups, starts=2, most_steps=40, covariates=("z",) if regression else ())
    data, columns = records(frame), [c for c in frame if c != "z"]
    if groups * k > len(frame):
        with pytest.raises(ParameterError, match="Lower k"):
            method.partition(data, columns=columns, seed=seed)
        return
    part = method.partition(data, columns=columns, seed=seed)
    assert part.k >= k
    assert part.n_groups == groups
    assert all(np.isfinite(table).all() for table in part.model.tables)
    assert np.isfinite(part.model.coefficient).all()
    json.dumps(part.details, allow_nan=False)


def test_prevalences_and_counts_are_held():
    frame, _ = survey(300)
    part = LatentClass(k=90, groups=3).partition(frame.drop(columns="z"), seed=2)
    assert min(part.details["prevalences"]) >= 90 / 300 - 1e-12
    assert part.k >= 90


def test_rare_categories_are_counted_by_column():
    frame, _ = survey(100)
    frame.loc[0, "colour"] = "mauve"
    part = LatentClass(k=10, groups=2).partition(frame.drop(columns="z"))
    assert part.details["categories held by fewer than k records"] == {"colour": 1}


def test_selection_on_a_sample():
    frame, truth = survey(600)
    part = LatentClass(k=100, groups="1..3", selection_records=200).partition(frame.drop(columns="z"), seed=1)
    assert part.details["BIC from a sample of"] == 200
    assert part.n_groups == 2
    agree = (part.labels == truth).mean()
    assert max(agree, 1 - agree) > 0.9


def test_bad_input_refused():
    frame, _ = survey(50)
    with pytest.raises(DataError, match="latent-class needs categorical columns, and not 'z'"):
        LatentClass(k=5, groups=2).partition(frame)
    with pytest.raises(ParameterError, match="covariates must not be among the columns; take out 'q0'"):
        LatentClass(k=5, groups=2, covariates=("q0",)).partition(frame.drop(columns="z"))
    with pytest.raises(DataError, match="There is no column 'income'"):
        LatentClass(k=5, groups=2, covariates=("income",)).partition(frame.drop(columns="z"))
    with pytest.raises(ParameterError) as error:
        LatentClass(k=30, groups="2..4").partition(frame.drop(columns="z"))
    assert str(error.value) == (
        "latent-class: 2 groups of at least k = 30 need 60 records; there are 50. Lower k or groups."
    )


def test_same_seed_same_groups_for_every_frame():
    frame, _ = survey(80)
    frame = frame.drop(columns="z")
    method = LatentClass(k=10, groups=2, starts=2)
    expected = method.partition(frame, seed=4).labels.tolist()
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert method.partition(other, seed=4).labels.tolist() == expected


@pytest.mark.parametrize(("seed", "prior"), crossed([0, 2, 3, 5], [1e-9, 1.0]))
def test_more_starts_never_end_worse(seed, prior):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{j}": rng.choice(list("ab"), 150) for j in range(7)})
    ends = [
        LatentClass(k=3, groups=4, starts=starts, prior_records=prior).partition(frame, seed=1).details
        for starts in (1, 2, 4, 8, 16, 32)
    ]
    reached = [end["log-likelihood"] for end in ends]
    assert reached == sorted(reached)
    chosen = [end["BIC by classes"]["4"] for end in ends]
    assert chosen == sorted(chosen)
