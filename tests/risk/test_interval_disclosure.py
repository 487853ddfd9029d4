import numpy as np
import pytest

from shoal.risk.interval_disclosure import IntervalDisclosure
from shoal.table.records import Records
from shoal.vocabulary.errors import ParameterError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(500, 2))


def test_by_hand():
    # Released 0, 10, 20, 30, 40: s = 15.81. Within 10 % of s, 1.58, lie the originals 0 and 11, not 22, 33, 44.
    y = np.arange(0, 50, 10.0)
    finding = IntervalDisclosure(widths=(0.1,)).measure(y * 1.1, y)
    assert finding.value == pytest.approx(2 / 5)
    # By rank: 40 % of 5 ranks are 2 to either side; all but 44, which exceeds every released value.
    assert IntervalDisclosure(scale="rank", widths=(0.4,)).measure(y * 1.1, y).value == pytest.approx(4 / 5)


def test_ranks_by_hand():
    # 100 values, 29 % of their ranks are 29: the original at rank 50 + 29 lies inside, the one at rank 50 + 30 not.
    released = np.arange(100.0)
    for place, inside in ((79, 1), (80, 0), (21, 1), (20, 0)):
        original = released.copy()
        original[50] = place
        finding = IntervalDisclosure(scale="rank", widths=(0.29,)).measure(original, released)
        assert finding.value == pytest.approx((99 + inside) / 100)


@pytest.mark.parametrize("scale", ["sd", "rank"])
def test_planted(scale, rng):
    judge = IntervalDisclosure(scale=scale)
    assert judge.measure(X, X).value == 1
    assert judge.measure(X + 1e8, X + 1e8).value == 1
    noise = [judge.measure(X, X + s * rng.normal(size=X.shape)).value for s in (0.02, 0.2, 2)]
    assert noise == sorted(noise, reverse=True)
    curve = list(judge.measure(X, X + 0.1 * rng.normal(size=X.shape)).details["curve"].values())
    assert curve == sorted(curve)
    assert len(curve) == 10


def test_independent_values_fall_into_the_interval_by_chance(rng):
    # A rank interval of w to either side holds about 2 w of an independent sample.
    x = rng.uniform(size=(20_000, 1))
    finding = IntervalDisclosure(scale="rank", widths=(0.1,)).measure(x, rng.permutation(x))
    assert finding.value == pytest.approx(0.2 - 0.01, abs=0.01)  # the edges cut 1/2 w at either end


def test_records_need_every_value():
    y = X.copy()
    y[:, 1] += 100
    assert IntervalDisclosure().measure(X, y).value == pytest.approx(0.5)
    assert IntervalDisclosure(unit="record").measure(X, y).value == 0


@pytest.mark.parametrize("scale", ["sd", "rank"])
def test_a_missing_cell_discloses_nothing_and_a_constant_one_itself(scale):
    original = Records.from_array(X)
    half = X[:, 0].copy()
    half[::2] = np.nan
    released = original.with_variables(original["x0"].with_values(half))
    assert IntervalDisclosure(scale=scale).measure(original, released).value == pytest.approx(0.75)
    assert IntervalDisclosure(scale=scale).measure(released, released).value == 1
    assert IntervalDisclosure(scale=scale, unit="record").measure(released, released).value == 1
    same = np.ones((5, 1))
    assert IntervalDisclosure(scale=scale).measure(same, same).value == 1
    assert IntervalDisclosure(scale=scale).measure(same, np.nextafter(same, 2)).value == 1  # the last bit hides nothing
    assert IntervalDisclosure(scale=scale).measure(same, same + 1).value == 0


def test_refused():
    for widths in ((), (0.0,), (5.0,)):  # fractions, never percent
        with pytest.raises(ParameterError, match="interval-disclosure: widths"):
            IntervalDisclosure(widths=widths)
    assert IntervalDisclosure().measure(X, X[:10]).value is None


def test_the_curve_by_definition():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    curve = IntervalDisclosure().measure(x, y).details["curve"]
    for width, share in curve.items():
        assert share == np.mean(np.abs(x - y) <= float(width) * y.std(axis=0, ddof=1))
    assert len(set(curve.values())) == 10
