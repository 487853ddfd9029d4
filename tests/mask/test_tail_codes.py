import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.records import Records
from shoal.errors import InputError, Refused

values = st.lists(st.integers(0, 30), min_size=3, max_size=60)


def coded(cls, x, **parameters):
    return (
        cls(**parameters).apply(data := Records.from_array(x), data.quasi_identifiers, np.random.default_rng(0)).records
    )


def test_by_hand():
    x = [1.0, 2, 3, 4, 10]
    assert coded(shoal.TopCode, x, value=3.5)["x0"].values.tolist() == [1, 2, 3, 3.5, 3.5]
    assert coded(shoal.TopCode, x, k=2)["x0"].values.tolist() == [1, 2, 3, 4, 4]
    assert coded(shoal.TopCode, x, k=2, replace="mean")["x0"].values.tolist() == [1, 2, 3, 7, 7]
    assert coded(shoal.BottomCode, x, k=3)["x0"].values.tolist() == [3, 3, 3, 4, 10]
    assert coded(shoal.BottomCode, x, quantile=0.4, replace="mean")["x0"].values.tolist() == [1.5, 1.5, 3, 4, 10]
    labelled = coded(shoal.TopCode, x, k=2, replace="label")["x0"]
    assert labelled.level == "ordinal" and labelled.categories == ("1", "2", "3", "at least 4")


@given(values=values, k=st.integers(1, 3), lower=st.booleans())
def test_smallest_tail_holds_k(values, k, lower):
    x = np.array(values, dtype=float)
    new = coded(shoal.BottomCode if lower else shoal.TopCode, x, k=k)["x0"].values
    edge, inside = (new.min(), x <= new.min()) if lower else (new.max(), x >= new.max())
    assert (new == edge).sum() == inside.sum() >= k
    assert (x < edge if lower else x > edge).sum() < k  # a smaller tail would not do
    assert np.array_equal(new[~inside], x[~inside])


@given(values=values, k=st.integers(1, 3))
def test_tail_mean_keeps_the_total(values, k):
    x = np.array(values, dtype=float)
    assert coded(shoal.TopCode, x, k=k, replace="mean").raw().sum() == pytest.approx(x.sum())


@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=40), k=st.integers(1, 4))
def test_multivariate_tail_holds_k_that_cannot_be_told_apart(rows, k):
    x = np.array(rows, dtype=float)
    records = Records.from_array(x)
    change = shoal.TopCode(k=k, replace="mean", together=True).apply(
        records, records.quasi_identifiers, np.random.default_rng(0)
    )
    held = change.facts["by column"]["x0"]["records in the tail"]
    assert held >= k
    above = np.array([[sum(other >= v for other in x[:, j]) for j, v in enumerate(row)] for row in x]).min(axis=1)
    tail = above <= np.sort(above)[k - 1]
    changed = change.records.raw()
    assert tail.sum() == held
    assert np.allclose(changed[tail], x[tail].mean(axis=0)) and len(np.unique(changed[tail], axis=0)) == 1
    assert np.array_equal(changed[~tail], x[~tail])


def test_weights_and_missing_cells():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 9, None], "w": [1.0, 1, 1, 3, 1]})
    records = shoal.Microdata.of(frame, {"x": {"role": "quasi-identifier", "missing": "keep"}, "w": "weight"}).records
    new = (
        shoal.TopCode(k=2, replace="mean", weighted=True)
        .apply(records, records.quasi_identifiers, np.random.default_rng(0))
        .records["x"]
        .values
    )
    assert new[2] == new[3] == (3 + 27) / 4 and np.isnan(new[4])
    half = (
        shoal.TopCode(quantile=0.5, weighted=True)
        .apply(records, records.quasi_identifiers, np.random.default_rng(0))
        .records["x"]
        .values
    )
    assert half[:4].tolist() == [1, 2, 3, 3]  # weights 1 1 1 3: half the mass lies at or below 3


def test_bad_input_refused():
    with pytest.raises(InputError, match="needs one of the parameters 'value', 'quantile' and 'k'"):
        shoal.TopCode()
    with pytest.raises(InputError, match="only one of the parameters 'value' and 'quantile'"):
        shoal.TopCode(value=1, quantile=0.5)
    with pytest.raises(InputError, match="with together, replace must be 'mean' or 'label'"):
        shoal.BottomCode(k=3, together=True)
    with pytest.raises(Refused, match="must hold at least 3 records; it holds 1"):
        coded(shoal.TopCode, [1.0, 2, 3], value=3, k=3)
    with pytest.raises(InputError, match="k must be at most 3, the number of values of column 'x0'; got 4"):
        coded(shoal.TopCode, [1.0, 2, 3], k=4)


def test_a_bound_for_each_column():
    x = np.array([[1.0, 100], [2, 200], [3, 300], [4, 400], [5, 500]])
    assert coded(shoal.TopCode, x, value={"x0": 4, "x1": 250.5}).raw().tolist() == [
        [1, 100],
        [2, 200],
        [3, 250.5],
        [4, 250.5],
        [4, 250.5],
    ]
    assert coded(shoal.BottomCode, x, quantile={"x0": 0.4, "x1": 0.2}).raw()[:, 0].tolist() == [2, 2, 3, 4, 5]
    assert coded(shoal.TopCode, x, k={"x0": 1, "x1": 3}).raw()[:, 1].tolist() == [100, 200, 300, 300, 300]
    labels = coded(shoal.TopCode, x, value={"x0": 4, "x1": 250}, replace="label")
    assert [labels[name].categories[-1] for name in ("x0", "x1")] == ["at least 4", "at least 250"]
    with pytest.raises(Refused, match=r"tail of column 'x1' must hold at least 2 records; it holds 1\."):
        coded(shoal.TopCode, x, value={"x0": 4, "x1": 500}, k={"x0": 1, "x1": 2})


def test_together_with_bounds_of_their_own_codes_whoever_passes_one():
    x = np.array([[1.0, 500], [2, 200], [3, 100], [9, 300]])
    new = coded(shoal.TopCode, x, value={"x0": 9, "x1": 500}, replace="mean", together=True).raw()
    assert new.tolist() == [[5, 400], [2, 200], [3, 100], [5, 400]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"value": {"x0": 4}}, r"value must name each .* no other; it leaves out 'x1' of the columns 'x0', 'x1'\."),
        ({"k": {"x0": 4, "x1": 1, "y": 2}}, r"k must name each .* it names 'y', not among the columns 'x0', 'x1'\."),
    ],
)
def test_bounds_name_the_columns_of_the_step(parameters, message):
    with pytest.raises(InputError, match=message):
        coded(shoal.TopCode, np.ones((5, 2)), **parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"quantile": {"a": 1.5}}, "quantile must be .*less than 1"),
        ({"k": {"a": 0}}, "k must be .*greater than or equal to 1"),
        ({"k": {"a": 2}, "together": True, "replace": "mean"}, "with together, k must be one number"),
    ],
)
def test_wrong_bounds_of_columns(parameters, message):
    with pytest.raises(InputError, match=message):
        shoal.TopCode(**parameters)


def test_a_plan_holds_bounds_of_columns(tmp_path):
    (tmp_path / "plan.yaml").write_text("""
columns: {age: quasi-identifier, income: confidential}
steps: [{mask: top-code, columns: [age, income], value: {age: 85, income: 1e5}}]
""")
    plan = shoal.Plan.read(tmp_path / "plan.yaml")
    assert plan.steps[0].method.value == {"age": 85, "income": 100000}
    (tmp_path / "again.yaml").write_text(plan.as_yaml())
    assert shoal.Plan.read(tmp_path / "again.yaml").steps == plan.steps
    table = pd.DataFrame({"age": [40, 90, 99], "income": [2e5, 3e4, 1e5]})
    released = shoal.protect(table, plan, seed=1).data
    assert sorted(zip(released["age"], released["income"])) == [(40, 1e5), (85, 3e4), (85, 1e5)]
