"""Intervals wider for outliers: by hand, by sdcMicro's figures, and what the robust covariance is robust to."""

import numpy as np
import polars as pl
import pytest

import shoal
from published.reference import other_measures, reference
from shoal.risk.robust_intervals import robust_distances
from shoal.vocabulary.errors import NoFigure, ParameterError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(400, 2)) * [1, 5] + [3, 0]


def test_distances_of_normal_records_are_mahalanobis_distances(rng):
    x = rng.multivariate_normal([0, 0, 0], [[2, 1, 0], [1, 2, 0.5], [0, 0.5, 1]], 4_000)
    covariance = np.cov(x, rowvar=False)
    plain = np.sqrt(((x - x.mean(axis=0)) @ np.linalg.inv(covariance) * (x - x.mean(axis=0))).sum(axis=1))
    assert robust_distances(x, np.random.default_rng(1)) == pytest.approx(plain, rel=0.1)


def test_distances_do_not_hide_outliers(rng):
    """A fifth of the records far out widen the plain covariance until nobody is far out."""
    x = np.vstack([rng.normal(size=(400, 2)), rng.normal([50, 50], 1, size=(100, 2))])
    robust = robust_distances(x, np.random.default_rng(1))
    plain = np.linalg.inv(np.cov(x, rowvar=False))
    centred = x - x.mean(axis=0)
    assert robust[400:].min() > 10 * np.sqrt((centred @ plain * centred).sum(axis=1)[400:].max())


def test_by_definition(rng):
    finding = shoal.RobustIntervals(k=2.0).measure(X, X + 0.1)
    z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    reach = 2.0 * 0.05 * robust_distances(z, np.random.default_rng(0))
    assert finding.value == 1  # a shift of all is no change once both tables are standardised
    noise = rng.normal(size=X.shape) * [0.3, 1.5]
    moved = X + noise
    after = (moved - moved.mean(axis=0)) / moved.std(axis=0, ddof=1)
    expected = (np.abs(after - z) < reach[:, None]).any(axis=1)
    finding = shoal.RobustIntervals(k=2.0).measure(X, moved)
    assert finding.record_risk.tolist() == expected.astype(float).tolist()
    assert finding.value == expected.mean()


def test_only_who_is_alone_may_count():
    twins = np.vstack([X[:200], X[:200]])
    assert shoal.RobustIntervals().measure(twins, twins).value == 1
    assert shoal.RobustIntervals(alone=True).measure(twins, twins).value == 0
    far = X.copy()
    far[0] = [60, 300]
    alone = shoal.RobustIntervals(alone=True, near=2.0).measure(far, far)
    assert alone.record_risk[0] == 1
    assert alone.value < 0.1


def test_copies_and_strangers(rng):
    assert shoal.RobustIntervals().measure(X, X).value == 1
    assert shoal.RobustIntervals().measure(X, rng.permutation(X)).value < 0.02


@pytest.mark.parametrize("k", [3, 10])
def test_as_sdcmicro(k):
    """dRiskRMD of testdata after MDAV; its covariance has a correction for small samples, so a record may differ."""
    printed = other_measures(f"numeric_testdata_k{k}")["dRiskRMD"]
    frame = pl.read_csv(reference("testdata.csv")).select("expend", "income", "savings")
    x = frame.cast(pl.Float64).to_numpy()
    groups = shoal.MDAV(k=k).partition(x)
    finding = shoal.RobustIntervals().measure(x, groups.means(x)[groups.labels])
    assert finding.value == pytest.approx(printed["risk1"], abs=5 / len(x))
    assert finding.details["inside and alone"] / len(x) == printed["risk2"]


def test_missing_cells_are_not_compared():
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    gaps = frame.with_columns(a=pl.when(pl.int_range(400) < 100).then(None).otherwise("a"))
    records = [
        shoal.Microdata.of(f, {n: {"role": "confidential", "missing": "keep"} for n in "ab"}).records
        for f in (frame, gaps)
    ]
    finding = shoal.RobustIntervals(k=100.0).measure(*records)
    assert finding.details["records compared"] == 300
    assert np.isnan(finding.record_risk[:100]).all()


def test_what_has_no_figure_says_why():
    assert "one value for all" in shoal.RobustIntervals().measure(X, X * [1, 0]).reason
    assert "Fewer than 4 records" in shoal.RobustIntervals().measure(X[:3], X[:3]).reason
    line = np.column_stack([X[:, 0], 2 * X[:, 0]])
    assert "fewer dimensions" in shoal.RobustIntervals().measure(line, line).reason
    with pytest.raises(NoFigure, match="fewer dimensions"):
        robust_distances(line, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="robust-intervals: k must be"):
        shoal.RobustIntervals(k=0)
