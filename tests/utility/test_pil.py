import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.table.microdata import Microdata
from shoal.utility.pil import PIL


def losses(x, y):
    return PIL().measure(np.asarray(x, float), np.asarray(y, float)).details["loss by statistic"]


def naive_loss(change, variance):
    if abs(change) < 1e-9:
        return 0.0
    return 100 * math.erf(abs(change) / math.sqrt(2 * variance)) if variance > 1e-18 else 100.0


def test_by_hand():
    # -1 and 1, ten each, with a mean of 0 and a variance of 1: the mean's standard error is 1 / sqrt(20), and a shift
    # of that size is exceeded by as many samples as lie beyond one standard deviation: 1 - .6827. The variance is 1 in
    # every sample (m4 - m2^2 = 0), and stays.
    x = np.repeat([-1.0, 1.0], 10)
    shares = losses(x, x + 1 / math.sqrt(20))
    assert shares["means"] == pytest.approx(68.2689, abs=1e-4)
    assert shares["variances"] == 0
    assert "correlations" not in shares and "covariances" not in shares
    assert losses(x, 1.01 * x)["variances"] == 100  # which no sample would move


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(*[st.integers(-5, 5)] * 4), min_size=4, max_size=30))
def test_same_as_the_formulas_one_by_one(rows):
    table = np.array(rows, dtype=float)
    x, y = table[:, :2], table[:, 2:]
    n = len(x)
    shares = losses(x, y)

    def moment(a, b):
        a_about, b_about = x[:, 0] - x[:, 0].mean(), x[:, 1] - x[:, 1].mean()
        return float((a_about**a * b_about**b).mean())

    a, b = x.T
    expected = [naive_loss(y[:, j].mean() - x[:, j].mean(), x[:, j].var() / n) for j in (0, 1)]
    assert shares["means"] == pytest.approx(np.mean(expected), abs=1e-6)
    fourth = [moment(4, 0), moment(0, 4)]
    expected = [naive_loss(y[:, j].var() - x[:, j].var(), (fourth[j] - x[:, j].var() ** 2) / n) for j in (0, 1)]
    assert shares["variances"] == pytest.approx(np.mean(expected), abs=1e-6)
    joint = float(((y[:, 0] - y[:, 0].mean()) * (y[:, 1] - y[:, 1].mean())).mean())
    if np.ptp(a) > 0 and np.ptp(b) > 0:
        m11, m20, m02 = moment(1, 1), moment(2, 0), moment(0, 2)
        assert shares["covariances"] == pytest.approx(naive_loss(joint - m11, (moment(2, 2) - m11**2) / n), abs=1e-4)
        spread = y[:, 0].std() * y[:, 1].std()
        rho, after = m11 / math.sqrt(m20 * m02), joint / spread if spread > 0 else 0.0
        if abs(rho) > 1e-9:
            squared = moment(4, 0) / m20**2 + moment(0, 4) / m02**2 + 2 * moment(2, 2) / (m20 * m02)
            crossed = moment(3, 1) / (m11 * m20) + moment(1, 3) / (m11 * m02)
            variance = rho**2 / n * (moment(2, 2) / m11**2 + squared / 4 - crossed)
            assert shares["correlations"] == pytest.approx(naive_loss(after - rho, max(variance, 0)), abs=1e-3)
    else:
        assert "correlations" not in shares


def test_the_loss_is_what_sampling_does(rng):
    """Another sample of the same population moves every statistic as sampling does: the losses are uniform."""
    samples = [rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 400) for _ in range(61)]
    # The difference of two samples has twice the variance of one: P(|Z| <= sqrt(2) |Z'|) is 60.8 on average.
    expected = 100 * 2 / math.pi * math.atan(math.sqrt(2))
    shares = [losses(one, other) for one, other in zip(samples, samples[1:])]
    for kind in ("means", "variances", "covariances", "correlations", "quantiles"):
        assert np.mean([loss[kind] for loss in shares]) == pytest.approx(expected, abs=12)


def test_bounds_and_order(rng):
    x = rng.normal(size=(200, 3))
    noise = [PIL().measure(x, x + s * rng.normal(size=x.shape)).value for s in (0.01, 0.2, 2.0)]
    assert noise == sorted(noise)
    assert PIL().measure(x, x).value == 0
    assert PIL().measure(x, 1000 * x + 1e6).value == 80  # all is lost but the correlations
    assert PIL().measure(x, np.zeros_like(x)).value <= 100
    assert PIL().measure(x * 2.0**500 + 0.0, x * 2.0**500).value == 0
    y = x + 0.1 * rng.normal(size=x.shape)
    assert PIL().measure(x + 1e8, y + 1e8).value == pytest.approx(PIL().measure(x, y).value, rel=1e-5)


def test_constant_columns_and_missing_cells(rng):
    x = rng.normal(size=(50, 2))
    x[:, 1] = 0.1
    assert PIL().measure(x, x).value == 0
    moved = losses(x, x + [0, 1e-18])
    assert moved["means"] == 0  # no more than rounding
    assert losses(x, x + [0, 1])["means"] == 50  # one of two columns, which cannot move
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    frame.loc[:4, "b"] = np.nan
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    records = Microdata.of(frame, roles).records
    finding = PIL().measure(records, records)
    assert finding.value == 0 and finding.details["records compared"] == 35
    assert "fewer than two" in PIL().measure([[1.0]], [[1.0]]).reason
