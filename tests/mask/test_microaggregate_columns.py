import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import InputError, Refused


def data(n=60, seed=0):
    g = np.random.default_rng(seed)
    a, b = g.normal(size=(2, n))
    return np.column_stack([a, b, a + 0.1 * g.normal(size=n), b + 0.1 * g.normal(size=n)])


def run(x, **parameters):
    method = shoal.MicroaggregateColumns(grouping={"method": "mdav", "k": 4}, **parameters)
    return method.apply(data := Records.from_array(x), data.quasi_identifiers, np.random.default_rng(0))


@given(seed=st.integers(0, 99), n=st.integers(8, 70))
def test_each_group_of_columns_is_microaggregated_alone(seed, n):
    x = data(n, seed)
    change = run(x, groups=[["x0", "x2"], ["x1", "x3"]])
    for columns, facts in zip(([0, 2], [1, 3]), change.details["column groups"].values()):
        part = shoal.MDAV(k=4).partition(x[:, columns])
        new = change.records.raw()[:, columns]
        assert np.allclose(new, part.means(x[:, columns])[part.labels])
        z = (x[:, columns] - x[:, columns].mean(axis=0)) / x[:, columns].std(axis=0, ddof=1)
        assert facts["SST"] == pytest.approx(2 * (n - 1)) == pytest.approx(facts["SSA"] + facts["SSE"])
        assert facts["information loss in percent"] == pytest.approx(part.information_loss(z))
        names = tuple(f"x{j}" for j in columns)
        assert shoal.KAnonymity(k=4, columns=names).check(change.records).holds
        assert facts["records that share their values, at least"] == part.k


def test_k_anonymity_holds_per_group_only_and_the_facts_say_so():
    change = run(data(), groups=[["x0", "x2"], ["x1", "x3"]])
    assert not shoal.KAnonymity(k=4).check(change.records).holds
    assert change.facts["warning"].public() == "k-anonymity holds within each group of columns only"
    whole = run(data(), groups=[["x0", "x1", "x2", "x3"]])
    assert shoal.KAnonymity(k=4).check(whole.records).holds
    losses = [sum(one["SSE"] for one in c.details["column groups"].values()) for c in (change, whole)]
    assert losses[0] < losses[1]


def test_columns_are_grouped_by_correlation():
    assert list(run(data(), size=2).details["column groups"]) == ["x0, x2", "x1, x3"]
    assert list(run(data(), size=1).details["column groups"]) == ["x0", "x1", "x2", "x3"]


def test_values_that_are_not_shared_are_refused(monkeypatch):
    monkeypatch.setattr(shoal.Centroid, "apply", lambda self, records, *others: StepResult(records=records))
    with pytest.raises(Refused, match="60 records would share the values of 'x0', 'x2' with fewer than 3 others"):
        run(data(), groups=[["x0", "x2"], ["x1", "x3"]])


def test_bad_input_refused():
    with pytest.raises(InputError, match="one of the parameters 'groups' and 'size'"):
        run(data())
    with pytest.raises(InputError, match="groups must name every column of the step once"):
        run(data(), groups=[["x0", "x1"], ["x1", "x2", "x3"]])
    frame = pd.DataFrame({"a": list("xyxyxyxy"), "b": np.arange(8.0)})
    records = shoal.Microdata.of(frame, {"a": "quasi-identifier", "b": "quasi-identifier"}).records
    with pytest.raises(InputError, match="Column 'a' is nominal; groups by correlation need continuous columns"):
        shoal.MicroaggregateColumns(grouping={"method": "mdav", "k": 2}, size=2).apply(
            records, records.quasi_identifiers, np.random.default_rng(0)
        )
