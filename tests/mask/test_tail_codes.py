import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.vocabulary.errors import InputError, Refused

values = st.lists(st.integers(0, 30), min_size=3, max_size=60)


def coded(cls, x, **parameters):
    return (
        cls(**parameters).apply(data := Records.from_array(x), data.quasi_identifiers, np.random.default_rng(0)).records
    )


@given(values=values, k=st.integers(1, 3), lower=st.booleans())
def test_smallest_tail_holds_k(values, k, lower):
    x = np.array(values, dtype=float)
    new = coded(shoal.BottomCode if lower else shoal.TopCode, x, k=k)["x0"].values
    edge, inside = (new.min(), x <= new.min()) if lower else (new.max(), x >= new.max())
    assert (new == edge).sum() == inside.sum() >= k
    assert (x < edge if lower else x > edge).sum() < k  # a smaller tail would not do
    assert np.array_equal(new[~inside], x[~inside])


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
    assert coded(shoal.TopCode, x, k={"x0": 1, "x1": 3}).raw()[:, 1].tolist() == [100, 200, 300, 300, 300]
    labels = coded(shoal.TopCode, x, value={"x0": 4, "x1": 250}, replace="label")
    assert [labels[name].categories[-1] for name in ("x0", "x1")] == ["at least 4", "at least 250"]
    with pytest.raises(Refused, match=r"tail of column 'x1' must hold at least 2 records; it holds 1\."):
        coded(shoal.TopCode, x, value={"x0": 4, "x1": 500}, k={"x0": 1, "x1": 2})


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
