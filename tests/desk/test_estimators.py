"""The scikit-learn face keeps scikit-learn's contract, and offers no transform."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import shoal
from shoal.desk.estimators import Microaggregation
from shoal.vocabulary.errors import ParameterError


def checks() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(estimator_checks_generator(Microaggregation()))


@pytest.mark.parametrize("check", checks(), ids=lambda pair: getattr(pair[1], "func", pair[1]).__name__)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(check: Any) -> None:
    estimator, run = check
    run(estimator)


def test_same_groups_as_the_method_itself() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    estimator = Microaggregation(k=4).fit(x)
    assert estimator.labels_.tolist() == shoal.MDAV(k=4).partition(x).labels.tolist()
    protected = estimator.fit_transform(x)
    assert np.unique(protected, axis=0, return_counts=True)[1].min() >= 4
    assert protected.mean(axis=0) == pytest.approx(x.mean(axis=0))


def test_there_is_no_transform() -> None:
    assert not hasattr(Microaggregation(), "transform")


def test_bad_methods() -> None:
    with pytest.raises(ParameterError, match="Unknown partition 'mdaw'; did you mean 'mdav'"):
        Microaggregation(method="mdaw").fit(np.eye(4))
    with pytest.raises(ParameterError, match="A partition is needed, by its name or as an object"):
        Microaggregation(method=3).fit(np.eye(4))
