import numpy as np
import pandas as pd
import pytest

from shoal.risk.probabilistic_linkage import ProbabilisticLinkage, estimate, weights
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError


def records(frame):
    return Microdata.of(frame, {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame}).records


@pytest.fixture
def rng():
    """Of each test by itself, so that its data do not depend on the tests before."""
    return np.random.default_rng(21)


def people(rng, n=300):
    return pd.DataFrame(
        {
            "name": [
                f"{a}{b}" for a, b in zip(rng.choice(list("abcdefgh"), n), rng.choice(["anna", "bert", "carl"], n))
            ],
            "town": rng.integers(0, 30, n).astype(str),
            "age": rng.integers(18, 90, n).astype(float),
        }
    )


def test_em_recovers_planted_agreement():
    # Expected pattern counts of 1000 x 1000 pairs with known m and u.
    m, u, n = np.array([0.95, 0.8, 0.7]), np.array([0.1, 0.02, 0.005]), 1000
    bits = np.arange(8)[:, None] >> np.arange(3) & 1
    match = np.where(bits, m, 1 - m).prod(axis=1) * n
    other = np.where(bits, u, 1 - u).prod(axis=1) * n * (n - 1)
    estimated_m, estimated_u = estimate(np.round(match + other).astype(np.int64), 3, n)
    np.testing.assert_allclose(estimated_m, m, atol=0.01)
    np.testing.assert_allclose(estimated_u, u, rtol=0.01)
    assert weights(estimated_m, estimated_u).argmax() == 7


def test_planted_releases(rng):
    frame = people(rng)
    classes = records(frame).classes(("name", "town", "age"))
    same = ProbabilisticLinkage(tolerance=0).measure(records(frame), records(frame))
    assert same.value == pytest.approx(len(classes.sizes) / 300)  # ties in a class share
    shuffled = frame.apply(lambda column: rng.permutation(column))
    assert ProbabilisticLinkage().measure(records(frame), records(shuffled)).value < 0.05
    everyone_alike = frame.assign(name="x", town="1", age=50.0)
    alike = ProbabilisticLinkage().measure(records(frame), records(everyone_alike))
    assert alike.value < 0.02


def test_em_finds_the_column_that_identifies(rng):
    # Names are unique and kept; towns are kept for six in ten, ages not at all. (If only names agreed, no pattern
    # would go with another, and nobody could learn from the counts which column tells.)
    frame = people(rng).assign(name=[f"person {i}" for i in range(300)])
    moved = rng.uniform(size=300) < 0.4
    town = np.where(moved, rng.permutation(frame["town"]), frame["town"])
    noisy = frame.assign(town=town, age=rng.permutation(frame["age"]))
    finding = ProbabilisticLinkage().measure(records(frame), records(noisy))
    assert finding.value > 0.95
    assert finding.details["by EM"] > 0.95
    learned, true = (finding.details[key] for key in ("agreement in matches (m) by EM", "true agreement in matches"))
    assert learned["name"] > 0.7
    assert true["name"] > 1 - 1e-5
    assert learned["town"] == pytest.approx(true["town"], abs=0.15)
    assert learned["age"] < 0.2


def test_typing_errors_need_similarity(rng):
    frame = people(rng, 120).assign(name=[f"{i:03d} surname" for i in range(120)])
    wrong = frame.assign(name=[name[:5] + name[6:] for name in frame["name"]], town="0", age=0.0)
    assert ProbabilisticLinkage().measure(records(frame), records(wrong)).value < 0.05
    assert ProbabilisticLinkage(similarity=0.97).measure(records(frame), records(wrong)).value > 0.5


def test_missing_agrees_with_nothing_and_a_sample_is_repeatable(rng):
    frame = people(rng)
    holes = frame.assign(town=[None] * 300)
    finding = ProbabilisticLinkage(sample=50).measure(records(frame), records(holes), seed=3)
    assert finding.details["true agreement in matches"]["town"] < 0.01
    assert finding.details["records attacked"] == 50
    assert finding.value == ProbabilisticLinkage(sample=50).measure(records(frame), records(holes), seed=3).value


def test_refused_and_not_computable(rng):
    with pytest.raises(ParameterError, match="probabilistic-linkage: similarity must be"):
        ProbabilisticLinkage(similarity=1.5)
    x = rng.normal(size=(20, 17))
    assert "At most 16 columns" in ProbabilisticLinkage().measure(x, x).reason
    assert ProbabilisticLinkage().measure(x[:, :2], x[:9, :2]).value is None


def test_intervals_agree_with_the_values_they_stand_for():
    frame = pd.DataFrame({"age": np.arange(40.0), "name": [f"n{i % 20}" for i in range(40)]})
    recoded = frame.assign(age=[f"{10 * (i // 10)}s" for i in range(40)])
    finding = ProbabilisticLinkage().measure(records(frame), records(recoded))
    assert finding.value == 1  # a name is shared by two people, twenty years apart
    assert finding.details["true agreement in matches"]["age"] > 1 - 1e-5


def test_recoded_categories_agree_with_those_they_stand_for():
    frame = pd.DataFrame({"town": [f"t{i // 10}" for i in range(40)], "name": [f"n{i % 20}" for i in range(40)]})
    recoded = frame.assign(town=["north" if i < 20 else "south" for i in range(40)])
    finding = ProbabilisticLinkage().measure(records(frame), records(recoded))
    assert finding.value == 1  # a name is shared by one person in the north and one in the south
    assert finding.details["true agreement in matches"]["town"] > 1 - 1e-5


def test_the_weight_of_a_pattern_is_its_log_likelihood_ratio():
    # Two columns; bit 0 of a pattern is agreement on the first.
    ratios = weights(np.array([0.9, 0.8]), np.array([0.1, 0.5]))
    expected = [np.log(0.1 / 0.9 * 0.2 / 0.5), np.log(9 * 0.2 / 0.5), np.log(0.1 / 0.9 * 1.6), np.log(9 * 1.6)]
    np.testing.assert_allclose(ratios, expected)
