from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from published.reference import reference
from shoal.kernels.partition import mdav
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(400, 3))


def share(original, released, **parameters):
    return DistanceLinkage(**parameters).measure(original, released).value


def test_by_hand():
    # 0, 1 and 10 are released as 0, 9 and 10: 0 finds itself, 9 finds 10 (wrong), 10 finds itself.
    finding = DistanceLinkage().measure([0.0, 1, 10], [0.0, 9, 10])
    assert finding.value == pytest.approx(2 / 3)
    assert finding.record_risk.tolist() == [1, 0, 1]
    assert finding.details["by chance"] == pytest.approx(1 / 3)
    assert finding.interval.low < 2 / 3 < finding.interval.high


def test_planted_releases(rng):
    n = len(X)
    assert share(X, X) == 1
    assert share(X, np.zeros_like(X)) == pytest.approx(1 / n)  # one value for all: the same nearest record for all
    permuted = X[rng.permutation(n)]
    assert share(X, permuted) < 5 / n  # a random permutation has one fixed point on average
    noise = [share(X, X + s * rng.normal(size=X.shape)) for s in (0.01, 0.1, 1.0, 10.0)]
    assert noise == sorted(noise, reverse=True)
    assert noise[-1] < 0.05


@pytest.mark.parametrize("direction", ["released to original", "original to released"])
def test_order_and_omissions_do_not_matter(direction, rng):
    records = Records.from_array(X)
    some = records.take(rng.permutation(len(X))[:150])
    finding = DistanceLinkage(direction=direction).measure(records, some)
    assert finding.value == 1
    assert finding.details["candidates"] == (400 if direction == "released to original" else 150)


def test_ties_share_the_probability():
    twice = np.vstack([X[:50], X[:50]])
    assert share(twice, twice) == pytest.approx(0.5)
    assert share(np.ones((8, 2)), np.ones((8, 2))) == pytest.approx(1 / 8)


def test_groups_of_k_are_found_with_one_in_k_at_most():
    # All of a group link to the one record nearest to their mean; from the other side, the group is a tie of k.
    part = Partition(labels=np.arange(400) // 5)
    grouped = part.means(X)[part.labels]
    assert share(X, grouped) <= 1 / 5
    centred = np.repeat(np.arange(80) * 100.0, 5)[:, None] + np.tile([-1.0, -0.4, 0.1, 0.5, 0.8], 80)[:, None]
    tight = part.means(centred)[part.labels]
    assert share(centred, tight) == pytest.approx(1 / 5)
    assert share(centred, tight, direction="original to released") == pytest.approx(1 / 5)


def test_one_to_one_by_hand():
    # Each released point is nearest to the one that is 1 higher, and 3 of 4 have one; 0 cannot have 2's place as well.
    points = [1.0, 2, 3, 4]
    assert share(points, [2.0, 3, 4, -0.1], matching="one-to-one") == 0
    # From the middle all four corners are equally near; once the others have theirs only one is left.
    corners = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    moved = np.array([[0.0, 0], [0, 2.1], [-2.1, 0], [0, -2.1]])
    assert share(corners, moved, matching="one-to-one") == 1
    assert share(corners, moved) == (3 + 1 / 4) / 4


@pytest.mark.parametrize("seed", range(30))
def test_one_to_one_as_among_all_orders(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (6, 2)).astype(float) + rng.choice([0, 0.01], (6, 2))
    y = x + rng.integers(-1, 2, (6, 2))
    x, y = x[:, x.std(axis=0) > 0], y[:, x.std(axis=0) > 0]
    squares = (((y[:, None] - x) / x.std(axis=0)) ** 2).sum(axis=2)
    orders = np.array(list(permutations(range(6))))
    sums = squares[np.arange(6), orders].sum(axis=1)
    best = orders[sums <= sums.min() + 1e-9]
    alike = len(np.unique(x, axis=0)) == len(np.unique(y, axis=0)) == 6
    finding = DistanceLinkage(matching="one-to-one").measure(x, y)
    if len(best) == 1 and alike:
        assert finding.record_risk.tolist() == (best[0] == np.arange(6)).tolist()
    assert (best == np.arange(6)).mean(axis=1).min() <= finding.value <= (best == np.arange(6)).mean(axis=1).max()


def test_one_to_one_shares_among_equal_records_and_looks_at_some(monkeypatch):
    twice = np.vstack([X[:50], X[:50]])
    assert share(twice, twice, matching="one-to-one") == pytest.approx(0.5)
    assert share(np.ones((8, 2)), np.ones((8, 2)), matching="one-to-one") == pytest.approx(1 / 8)
    part = Partition(labels=np.arange(400) // 5)
    assert share(X, part.means(X)[part.labels], matching="one-to-one") <= 1 / 5
    finding = DistanceLinkage(matching="one-to-one", sample=40).measure(X, X)
    assert finding.details["records attacked"] == 40
    assert finding.details["matching"] == "one-to-one"
    with monkeypatch.context() as few:
        few.setattr("shoal.judges.linkage.PAIRS", 10 * len(X))
        finding = DistanceLinkage(matching="one-to-one", sample=40).measure(X, X)
        assert (finding.value, finding.details["records attacked"]) == (1, 10)
    for direction in ("released to original", "original to released"):
        assert share(X, X, matching="one-to-one", direction=direction, metric="mahalanobis") == 1


def test_one_to_one_finds_more_where_little_was_changed(rng):
    y = X + 0.2 * rng.normal(size=X.shape)
    assert share(X, y, matching="one-to-one") > share(X, y) + 0.03


@pytest.mark.parametrize(("k", "nearest", "one_to_one"), [(3, 0.313, 0.328), (10, 0.091, 0.076)])
def test_one_to_one_on_census(k, nearest, one_to_one):  # the figures of docs/reference/conformance_sdcmicro.md
    x = pl.read_csv(reference("census.csv")).to_numpy().astype(float)
    part = Partition(labels=mdav((x - x.mean(axis=0)) / x.std(axis=0), k))
    masked = part.means(x)[part.labels]
    assert share(x, masked) == pytest.approx(nearest, abs=5e-4)
    assert share(x, masked, matching="one-to-one") == pytest.approx(one_to_one, abs=5e-4)


def test_mahalanobis_undoes_a_linear_map(rng):
    # In the covariance's own metric a thin direction counts as much as a wide one.
    x = X @ np.array([[1.0, 0.99, 0], [0, 0.05, 0], [0, 0, 1]])
    y = x + 0.02 * rng.normal(size=x.shape)
    white = np.linalg.solve(np.linalg.cholesky(np.cov(x.T)), (x - x.mean(axis=0)).T).T
    white_y = np.linalg.solve(np.linalg.cholesky(np.cov(x.T)), (y - x.mean(axis=0)).T).T
    nearest = ((white_y[:, None] - white[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert share(x, y, metric="mahalanobis") == pytest.approx((nearest == np.arange(400)).mean())
    singular = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert share(singular, singular, metric="mahalanobis") == 1


def test_a_sample_estimates_the_whole(rng):
    y = X + 0.3 * rng.normal(size=X.shape)
    some = DistanceLinkage(sample=200).measure(X, y, seed=4)
    assert some.details["records attacked"] == 200
    assert some.interval.low < share(X, y) < some.interval.high
    assert some.value == DistanceLinkage(sample=200).measure(X, y, seed=4).value


def test_dropped_and_permuted_records_are_matched_by_row_number(rng):
    original = Records.from_array(X)
    rows = rng.permutation(400)[:300]
    assert DistanceLinkage().measure(original, original.take(rows)).value == 1
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.index = rng.permutation(400)  # an index is a label, not a position
    assert share(frame, frame.reset_index(drop=True)) == 1


def test_tables_of_other_length_without_row_numbers_give_no_figure():
    finding = DistanceLinkage().measure(X, X[:300])
    assert finding.value is None
    assert "differ in length" in finding.reason


def test_mixed_levels_missing_values_and_the_three_kinds_of_frame():
    columns = {"age": [20.0, 30, None, 50, 60, 70], "sex": ["f", "m", None, "m", "f", "m"]}
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in columns}
    from shoal.table.microdata import Microdata

    kinds = [pl.DataFrame(columns), pa.table(columns), pl.DataFrame(columns).to_pandas()]
    for kind in kinds:
        records = Microdata.of(kind, roles).records
        assert DistanceLinkage().measure(records, records).value == 1
    records = Microdata.of(kinds[0], roles).records
    emptied = records.with_variables(
        records["age"].with_values(np.full(6, np.nan)), records["sex"].with_values(np.full(6, -1))
    )
    assert DistanceLinkage().measure(records, emptied).value == pytest.approx(1 / 6)  # nothing left to know


def test_minus_999_is_a_number_like_others():
    x = np.array([[-999.0], [0], [5], [1000]])
    assert share(x, x) == 1


def test_no_columns_no_records():
    records = Records.from_array(X)
    assert "no quasi-identifier" in DistanceLinkage().measure(records, records.without(["x0", "x1", "x2"])).reason
    assert DistanceLinkage().measure(records.take(np.arange(0)), records.take(np.arange(0))).value is None


def test_refused():
    with pytest.raises(DataError, match="Columns must be in both tables; 'wage' is not"):
        share(X, X, columns=("wage",))
    with pytest.raises(ParameterError, match="distance-linkage: metric must be"):
        DistanceLinkage(metric="cosine")
