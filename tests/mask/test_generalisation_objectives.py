"""What a full-domain search may aim at beside the mean loss of a cell."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive.generalise import least_by, nested
from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary.errors import ParameterError, Refused

PATHS = [nested(list("abcdef"), [2]), nested(list("uvwx"), [2]), nested(list("pq"), [])]

rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwx"), st.sampled_from("pq")), min_size=4, max_size=24
)
limits = st.sampled_from([0.0, 0.1, 0.3, 1.0])
factors = st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0])


def run(rows, weights=(1.0, 1.0, 1.0), **parameters):
    frame = pd.DataFrame(rows, columns=["c0", "c1", "c2"])
    spec = {
        f"c{j}": {"role": "quasi-identifier", "hierarchy": Hierarchy(tuple(p.values())), "weight": weight}
        for (j, p), weight in zip(enumerate(PATHS), weights)
    }
    table = shoal.Microdata.of(frame, spec)
    mask = shoal.Generalise(**parameters)
    return mask.apply(table.records, table.records.quasi_identifiers, np.random.default_rng(0))


@given(rows=rows, k=st.integers(1, 4), limit=limits, factor=factors)
@pytest.mark.parametrize("aggregate", ["mean", "geometric-mean", "rank"])
def test_columns_taken_together_reach_the_optimum_of_exhaustive_search(rows, k, limit, factor, aggregate):
    change = run(rows, k=k, suppression=limit, aggregate=aggregate, gs_factor=factor)
    best = least_by(rows, PATHS, k, limit, aggregate, factor)
    if aggregate == "rank":
        columns = sorted(change.details["losses of the columns"].values(), reverse=True)
        assert columns == pytest.approx(best, abs=1e-12)
    assert change.details["loss"] == pytest.approx(best[0] if aggregate == "rank" else best, abs=1e-12)
    assert shoal.KAnonymity(k=k).check(change.records).holds
    assert change.details["records dropped"] <= limit * len(rows)


@given(rows=rows, k=st.integers(1, 4), limit=limits, factor=factors)
@pytest.mark.parametrize("loss", ["chained-entropy", "discernibility", "average-class-size"])
def test_losses_of_the_whole_table_reach_the_optimum_of_exhaustive_search(rows, k, limit, factor, loss):
    factor = factor if loss == "discernibility" else 0.5
    change = run(rows, k=k, suppression=limit, loss=loss, gs_factor=factor)
    assert change.details["loss"] == pytest.approx(least_by(rows, PATHS, k, limit, loss, factor), abs=1e-12)
    assert 0 <= change.details["loss"] <= 1
    assert change.details["no full-domain recoding loses less than"] == pytest.approx(change.details["loss"])


@given(rows=rows, average=st.sampled_from([0.1, 0.25, 0.5, 1.0]), limit=limits)
def test_the_average_risk_is_kept_by_dropping_the_smallest_classes(rows, average, limit):
    required = [{"method": "average-risk", "average": average}]
    try:
        change = run(rows, k=1, suppression=limit, requirements=required)
    except Refused:
        with pytest.raises(ValueError, match="empty"):
            least_by(rows, PATHS, 1, limit, "mean", average=average)
        return
    assert change.details["loss"] == pytest.approx(least_by(rows, PATHS, 1, limit, "mean", average=average), abs=1e-12)
    if len(change.records):
        assert shoal.AverageRisk(average=average).check(change.records).holds


def test_by_hand_the_rank_spares_the_column_that_loses_most():
    """Uniting a with b costs 1/5, u with v 1/3, and p with q 1, which neither takes; heavy columns give way last."""
    table = [("a", "u", "p"), ("b", "u", "q"), ("a", "v", "q"), ("b", "v", "p")] * 2
    assert run(table, k=4).details["levels"] == {"c0": 1, "c1": 1, "c2": 0}
    heavy = run(table, weights=(1.0, 4.0, 1.0), k=4, aggregate="rank").details
    assert heavy["levels"] == {"c0": 1, "c1": 0, "c2": 1}  # 1/4 and 1/20, where two thirds of c1 are 1/3
    assert heavy["loss"] == pytest.approx(1 / 4)


def test_by_hand_dropping_is_free_or_dear():
    """Five alike and one of its own: dropped at a price of 0; at 1 generalising is free, and nobody need be dropped."""
    table = [("a", "u", "p")] * 5 + [("f", "x", "q")]
    free, dear = (run(table, k=2, suppression=0.5, gs_factor=f).details for f in (0.0, 1.0))
    assert (free["records dropped"], free["loss"]) == (1, 0.0)
    assert (dear["records dropped"], dear["loss"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"aggregate": "rank", "recoding": "local"}, "recoding: local and labels: tight lose the mean"),
        ({"gs_factor": 0.2, "labels": "tight"}, "recoding: local and labels: tight lose the mean"),
        ({"loss": "discernibility", "aggregate": "rank"}, "discernibility is of the whole table"),
        ({"loss": "average-class-size", "gs_factor": 0.2}, "average-class-size has a price of dropping of its own"),
        ({"loss": "chained-entropy", "target": "c0"}, "a target goes with loss: ncp or precision; got chained-entropy"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, wrong):
    with pytest.raises(ParameterError, match=wrong):
        shoal.Generalise(k=2, **parameters)
