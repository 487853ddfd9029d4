"""The attack by distance that several judges make."""

import numpy as np
import pytest

import shoal.judges.linkage as module
from shoal.judges.linkage import DIRECTIONS, METRICS, link_by_distance
from shoal.judges.table_pair import TablePair
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.table.records import Records


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_links_equal_looking_at_every_distance(metric: module.Metric, direction: module.Direction) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, (40, 2)).astype(float)
    y = x + rng.integers(-1, 2, x.shape)
    pair = TablePair.of(Records.from_array(x), Records.from_array(y))
    rows, chances = link_by_distance(pair, ("x0", "x1"), metric, direction, None, np.random.default_rng(0))
    assert rows.tolist() == list(range(40))
    known, looked_up = (y, x) if direction == "original to released" else (x, y)
    turn = np.linalg.inv(np.cov(x, rowvar=False)) if metric == "mahalanobis" else np.diag(1 / x.var(axis=0, ddof=1))
    for i, row in enumerate(looked_up):
        apart = np.einsum("ij,jk,ik->i", known - row, turn, known - row)
        nearest = np.isclose(apart, apart.min())
        assert chances[i] == (1 / nearest.sum() if nearest[i] else 0)


def test_a_sample_is_of_that_size_and_in_order() -> None:
    table = Records.from_array(np.arange(50.0))
    pair = TablePair.of(table, table)
    rows, chances = link_by_distance(pair, ("x0",), "euclidean", "released to original", 7, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == 7
    assert (np.diff(rows) > 0).all()
    assert (chances == 1).all()


def test_what_cannot_be_done_in_some_seconds_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(3000, 14))
    noisy = wide + 0.5 * rng.normal(size=wide.shape)
    monkeypatch.setattr(module, "EFFORT", 5_000_000)
    finding = DistanceLinkage().measure(wide, noisy)
    assert 50 < finding.details["records attacked"] < 3000
    assert int((~np.isnan(finding.record_risk)).sum()) == finding.details["records attacked"]
    every = DistanceLinkage(sample=3000).measure(wide, noisy)  # as asked
    assert every.details["records attacked"] == 3000
    assert finding.interval.low < every.value < finding.interval.high
    narrow = DistanceLinkage().measure(wide[:, :2], wide[:, :2])  # most boxes are not looked into
    assert narrow.details["records attacked"] == 3000
    few = np.repeat(wide[:20], 150, axis=0)  # nor are records that coincide looked at twice
    assert DistanceLinkage().measure(few, few).details["records attacked"] == 3000
