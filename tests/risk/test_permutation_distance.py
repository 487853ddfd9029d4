import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.risk.permutation_distance import PermutationDistance, reverse_mapped
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError


def measured(x, y, **parameters):
    return PermutationDistance(**parameters).measure(np.asarray(x, float), np.asarray(y, float))


def naive_distance(own, y):
    """Widen the window of ranks about the nearest released values until some released record lies in it everywhere."""
    n, columns = len(y), len(y[0])
    for d in range(n + 1):
        for record in y:
            gaps = []
            for j in range(columns):
                values = sorted(other[j] for other in y)
                nearest = min(values, key=lambda v: (abs(v - own[j]), v))
                ranks = [i for i, v in enumerate(values) if v == nearest]
                others = [i for i, v in enumerate(values) if v == record[j]]
                gaps.append(min(abs(a - b) for a in ranks for b in others))
            if max(gaps) <= d:
                return d
    raise AssertionError


def test_by_hand():
    # Two columns of ranks 0 to 3, the second released in reverse. For (10, 10) the nearest values have ranks 0 and 0;
    # the released records have the ranks (0, 3), (1, 2), (2, 1), (3, 0): the largest differences are 3, 2, 2, 3, so
    # the distance is 2. For (20, 20), with ranks 1 and 1: 2, 1, 1, 2, so 1.
    x = [[10, 10], [20, 20], [30, 30], [40, 40]]
    y = [[10, 40], [20, 30], [30, 20], [40, 10]]
    finding = measured(x, y, distance=0.5)  # d = 2
    assert finding.record_risk.tolist() == [0, 1, 1, 0]
    assert finding.value == 0.5
    assert finding.details["least permutation distance"] == 1
    assert finding.details["median permutation distance"] == 1.5
    by_column = finding.by_column.private()
    assert by_column["x0"]["mean share of ranks moved"] == 0
    assert by_column["x1"]["mean share of ranks moved"] == pytest.approx((3 + 1 + 1 + 3) / 4 / 3)
    assert by_column["x1"]["change beyond permutation"] == 0  # nothing but a permutation


def test_reverse_mapping_by_hand():
    # The ranks of (2.1, 9, 1.2) are 1, 2, 0; so the values 1, 2, 7 stand as 2, 7, 1, and what is left is .1, 2, .2.
    x, y = np.array([7.0, 1.0, 2.0]), np.array([2.1, 9.0, 1.2])
    assert reverse_mapped(x, y).tolist() == [2, 7, 1]
    left = (0.1**2 + 2**2 + 0.2**2) / (4.9**2 + 8**2 + 0.8**2)
    assert measured(x, y).by_column.private()["x0"]["change beyond permutation"] == pytest.approx(left)


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=2, max_size=12), share=st.sampled_from([0.1, 0.3, 0.6])
)
def test_same_as_widening_the_window(rows, share):
    table = np.array(rows, dtype=float)
    x, y = table[:, :2], table[:, 2:]
    finding = measured(x, y, distance=share)
    distances = [naive_distance(own, y.tolist()) for own in x.tolist()]
    assert finding.details["median permutation distance"] == np.median(distances)
    d = max(1, int(share * len(x) + 1e-9))
    assert finding.details["share too near"] == pytest.approx(np.mean([v < d for v in distances]))


def test_known_truths(rng):
    x = rng.normal(size=(300, 2))
    assert measured(x, x).value == 1  # nobody was moved
    assert measured(x[:, :1], -x[:, :1]).value == 1  # one column is found in the release whatever its order
    shuffled = np.column_stack([rng.permutation(column) for column in x.T])
    noise = [measured(x, x + s * rng.normal(size=x.shape), distance=0.01).value for s in (0.001, 0.02, 0.5)]
    assert noise == sorted(noise, reverse=True)
    assert measured(x, shuffled, distance=0.01).value < 0.5 < noise[0]


def test_values_among_their_like_are_exposed(rng):
    x = rng.normal(size=(60, 2))
    flat = np.column_stack([np.ones(60), rng.permutation(x[:, 1])])
    assert measured(x, flat).value == 1  # whoever reads the column knows all of it
    y = np.column_stack([rng.permutation(column) for column in x.T])
    lenient, strict = (measured(x, y, distance=0.05, variance=v).value for v in (0.0, 1.0))
    assert lenient < strict == 1


def test_missing_cells_are_left_out_and_order_does_not_matter(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame.loc[:9, "a"] = np.nan
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    records = Microdata.of(frame, roles).records
    finding = PermutationDistance().measure(records, records)
    assert finding.details["records attacked"] == 70
    assert np.isnan(finding.record_risk[:10]).all()
    some = records.take(rng.permutation(80)[:50])
    assert PermutationDistance().measure(records, some).value == 1


def test_a_sample_and_a_gate(rng):
    x = rng.normal(size=(400, 2))
    y = x + 0.3 * rng.normal(size=x.shape)
    whole, some = measured(x, y), measured(x, y, sample=150)
    assert some.details["records attacked"] == 150
    assert some.interval.low < whole.value < some.interval.high
    frame = pd.DataFrame(x, columns=["a", "b"])
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier"},
        "requirements": [{"risk": "permutation-distance", "at most": 0.5}],
    }
    with pytest.raises(shoal.Refused, match="hardly permuted"):
        shoal.protect(frame, plan, seed=1)


def test_no_figure_and_bad_input():
    assert "Fewer than two" in measured([[1.0]], [[2.0]]).reason
    assert measured(np.ones((5, 2)), np.ones((5, 2))).value == 1
    with pytest.raises(ParameterError, match="permutation-distance: distance must be greater than 0; got 0"):
        PermutationDistance(distance=0)
