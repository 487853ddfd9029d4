import numpy as np
import pandas as pd
import pytest

from shoal.table.microdata import Microdata
from shoal.utility.train_test import TrainTest
from shoal.vocabulary.errors import DataError, ParameterError

pytest.importorskip("sklearn")
RNG = np.random.default_rng(61)
N = 240
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
FRAME["y"] = 2 * FRAME["a"] - FRAME["b"] + 0.3 * RNG.normal(size=N)
FRAME["c"] = np.where(FRAME["a"] + FRAME["b"] > 0, "up", "down")
ROLES = {"a": "quasi-identifier", "b": "quasi-identifier", "y": "confidential", "c": "confidential"}


def records(frame=FRAME):
    return Microdata.of(frame, ROLES).records


def measure(target, released, **parameters):
    return TrainTest(target=target, columns=("a", "b"), model="linear", **parameters).measure(records(), released)


@pytest.mark.slow
def test_planted_releases(rng):
    same = measure("y", records())
    assert same.value == pytest.approx(0, abs=1e-12)  # the same records of the same folds train both models
    assert same.details["trained on the original"] > 0.9
    permuted = measure("y", records(FRAME.assign(y=rng.permutation(FRAME["y"]))))
    assert permuted.value == pytest.approx(same.details["trained on the original"], abs=0.15)
    assert permuted.interval.low > 0.5
    category = measure("c", records(FRAME.assign(c=rng.permutation(FRAME["c"]))))
    assert category.value > 0.2
    assert measure("c", records()).value == 0


def test_a_release_of_other_people_is_used_whole(rng):
    a, b = rng.normal(size=(2, 400))
    fresh = pd.DataFrame({"a": a, "b": b, "y": 2 * a - b, "c": "up"})
    finding = measure("y", records(fresh))
    assert abs(finding.value) < 0.02
    one_category = measure("c", records(fresh))
    assert one_category.details["trained on the release"] == pytest.approx((FRAME["c"] == "up").mean())


def test_forest_repeats():
    few = records(FRAME.iloc[:60])
    judge = TrainTest(target="c", folds=2)
    assert judge.measure(few, few, seed=3).value == judge.measure(few, few, seed=3).value == 0


def test_refused_and_not_computable():
    with pytest.raises(ParameterError, match="train-test needs the parameter 'target'"):
        TrainTest()
    with pytest.raises(DataError, match="'wage' is not"):
        measure("wage", records())
    constant = records(FRAME.assign(y=1.0))
    assert "does not vary" in TrainTest(target="y").measure(constant, constant).reason
    few = records(FRAME.iloc[:6])
    assert "fewer than 10" in TrainTest(target="y").measure(few, few).reason
    assert "no column to predict" in TrainTest(target="a", columns=("a",)).measure(records(), records()).reason
