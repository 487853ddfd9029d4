import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from by_night import by_night
from published.thyroid import BINARY, CONTINUOUS, thyroid
from shoal.partition.gaussian_mixture import GaussianMixture
from shoal.partition.latent_class import LatentClass
from shoal.partition.local_synthesis import LocalSynthesis
from shoal.replace.class_conditional import ClassConditional
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.vocabulary.errors import ParameterError

QI = "quasi-identifier"


def mixed(n=240, seed=0):
    """Two groups apart in x; the answers depend on the group."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    frame = pd.DataFrame({"x": rng.normal(size=n) + 8 * truth, "y": rng.normal(size=n) * (1 + truth)})
    for j in range(3):
        frame[f"q{j}"] = np.where(rng.random(n) < np.where(truth, 0.9, 0.15), "yes", "no")
    return frame


def records(frame, **roles):
    return Microdata.of(frame, {name: roles.get(name, QI) for name in frame}).records


def test_groups_are_those_of_the_mixture_on_the_continuous_columns():
    data = records(mixed())
    part = LocalSynthesis(k=30, groups=2, models=("VVI",)).partition(data, seed=3)
    alone = GaussianMixture(k=30, groups=2, models=("VVI",)).partition(data, columns=["x", "y"], seed=3)
    assert part.labels.tolist() == alone.labels.tolist()
    assert part.details["mixture"] == alone.details
    assert part.details["latent classes"]["classes"] == 2
    assert part.details["latent classes"]["covariates"] == ["x", "y"]
    assert part.model.columns == ("q0", "q1", "q2")


def test_one_kind_of_columns_alone():
    frame = mixed()
    data = records(frame)
    part = LocalSynthesis(k=30, groups=2).partition(data, columns=["q0", "q1", "q2"], seed=1)
    alone = LatentClass(k=30, groups=2).partition(data, columns=["q0", "q1", "q2"], seed=1)
    assert part.labels.tolist() == alone.labels.tolist()
    part = LocalSynthesis(k=30, groups=2, models=("VVI",)).partition(data, columns=["x", "y"], seed=1)
    assert part.details["covariance model"] == "VVI"


def test_number_of_classes_by_bic():
    part = LocalSynthesis(k=20, groups=2, models=("VVI",), classes="1..3", starts=4).partition(records(mixed()), seed=1)
    assert set(part.details["latent classes"]["BIC by classes"]) == {"1", "2", "3"}
    with pytest.raises(ParameterError, match="20 groups of at least k = 20 need 400 records; there are 240"):
        LocalSynthesis(k=20, groups=2, models=("VVI",), classes=20).partition(records(mixed()))


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(4, 12), st.integers(1, 3))
def test_every_group_has_k_records_and_every_value_is_a_category(seed, k, groups):
    rng = np.random.default_rng(seed)
    n = groups * k + int(rng.integers(0, 60))
    frame = pd.DataFrame({
        "x": rng.normal(size=n), "c": np.char.add("v", rng.integers(0, 4, n).astype(str)),
        "z": rng.integers(0, 3, n).astype(float), "one": "same",
    })  # fmt: skip
    data = records(frame)
    method = LocalSynthesis(k=k, groups=groups, starts=2, kmeans_starts=0, models=("EII", "VVV"), most_steps=60)
    part = method.partition(data, seed=seed)
    assert part.k >= k
    new = ClassConditional().apply(data, data.quasi_identifiers, part, rng).records
    assert np.isfinite(new["x"].values).all()
    assert set(new["c"].values) <= set(data["c"].values)


def test_strata_have_models_of_their_own():
    frame = mixed().assign(s=np.arange(240) // 120)
    data = records(frame, s="stratum")
    part = LocalSynthesis(k=20, groups=2, models=("VVI",), starts=2).partition(data, seed=0)
    assert part.n_groups == 4
    change = ClassConditional().apply(data, data.quasi_identifiers, part, np.random.default_rng(0))
    for s in (0, 1):
        here = frame.s.to_numpy() == s
        assert change.records["x"].values[here].mean() == pytest.approx(frame.x[here].mean())


@pytest.mark.slow
def test_mixed_thyroid_keeps_the_associations_between_kinds_of_columns():
    # Correlations of the continuous columns with those answers that more than 60 patients gave: their mean error is
    # smaller than when the answers are drawn from the group's own shares, without the regression on the new values.
    frame = pd.DataFrame(thyroid())
    data = records(frame)
    common = [name for name in BINARY if frame[name].value_counts().min() > 60]

    def correlations(table):
        columns = [table[name].values.astype(float) for name in (*CONTINUOUS, *common)]
        return np.corrcoef(columns)[:5, 5:]

    part = LocalSynthesis(k=60, groups=6, models=("VVV",), starts=by_night(1, 4), kmeans_starts=0).partition(
        data, seed=1
    )
    assert part.k >= 60
    assert len(part) == 1947
    plain = Partition(labels=part.labels)
    errors = []
    for used in (part, plain):
        draws = [
            ClassConditional().apply(data, data.quasi_identifiers, used, np.random.default_rng(seed)).records
            for seed in range(by_night(2, 5))
        ]
        errors.append(np.mean([np.abs(correlations(new) - correlations(data)).mean() for new in draws]))
    assert errors[0] < errors[1]
    assert errors[0] < 0.05
