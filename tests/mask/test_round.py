import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError


def rounded(x, seed=0, **parameters):
    records = Records.from_array(np.asarray(x, dtype=float))
    step = shoal.Round(**parameters).apply(records, records.quasi_identifiers, np.random.default_rng(seed))
    return step.records.raw()


def test_by_hand():
    # Of the multiples of 5, 7 is nearest to 5 and 8 to 10; 2.5 lies between 0 and 5, 7.5 between 5 and 10: even ones.
    assert rounded([7, 8, 2.5, 7.5, -7, 10], base=5)[:, 0].tolist() == [5, 10, 0, 10, -5, 10]
    assert rounded([0.26, 0.34], base=0.1)[:, 0].tolist() == [0.3, 0.3]  # 3 x 0.1 would be 0.30000000000000004
    assert rounded([[7, 1400], [8, 1600]], base={"x0": 5, "x1": 1000}).tolist() == [[5, 1000], [10, 2000]]


values = st.lists(st.integers(-300, 300), min_size=1, max_size=40)


@given(
    values=values,
    base=st.sampled_from([0.1, 1.0, 2.5, 3.0, 7.0]),
    kind=st.sampled_from(["nearest", "random", "controlled"]),
    seed=st.integers(0, 99),
)
def test_multiples_near_the_values(values, base, kind, seed):
    x = np.array(values) / 10
    new = rounded(x, seed, base=base, kind=kind)[:, 0]
    assert np.abs(new / base - np.rint(new / base)).max() < 1e-9
    reach = base / 2 if kind == "nearest" else base
    assert np.abs(new - x).max() <= reach * (1 + 1e-9)
    stays = np.abs(x / base - np.rint(x / base)) < 1e-12
    assert np.abs(new - x)[stays].max(initial=0) < 1e-9
    if kind == "controlled":
        assert abs(new.sum() - x.sum()) < base * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["random", "controlled"])
def test_every_value_is_right_in_expectation(kind):
    x = np.array([1.0, 2.5, 4.9, 5.0, -0.5])
    many = np.array([rounded(x, seed, base=5, kind=kind)[:, 0] for seed in range(2000)])
    error = np.sqrt((many.var(axis=0) + 1e-12) / len(many))
    assert (np.abs(many.mean(axis=0) - x) <= 4 * error).all()
    assert (many[:, 3] == 5).all()


def test_controlled_keeps_the_total_of_each_stratum_and_missing_cells(rng):
    frame = pd.DataFrame({"x": rng.uniform(0, 100, 200), "s": np.repeat(["a", "b"], 100)})
    frame.loc[::9, "x"] = np.nan
    roles = {"x": {"role": "confidential", "missing": "keep"}, "s": "stratum"}
    records = shoal.Microdata.of(frame, roles).records
    new = shoal.Round(base=10, kind="controlled").apply(records, ["x"], rng).records["x"].values
    assert (np.isnan(new) == frame["x"].isna()).all()
    for rows in (slice(0, 100), slice(100, 200)):
        assert abs(np.nansum(new[rows]) - frame["x"][rows].sum()) < 10


def test_whole_numbers_stay_whole():
    frame = pd.DataFrame({"age": [23, 24, 26]})
    plan = {"columns": {"age": "quasi-identifier"}, "steps": [{"mask": "round", "base": 5}]}
    released = shoal.protect(frame, plan, seed=1).data
    assert sorted(released["age"].tolist()) == [25, 25, 25]
    assert released["age"].dtype == frame["age"].dtype


def test_bad_input_refused():
    with pytest.raises(ParameterError, match="round: base must be greater than 0"):
        shoal.Round(base=0)
    with pytest.raises(ParameterError, match="base must name each of the step's columns and no other; it names 'x1'"):
        rounded([1.0], base={"x1": 5})
    with pytest.raises(DataError, match="Column 'x0' has values of more than 2\\^53 times the base"):
        rounded([1e18], base=1)
    records = shoal.Microdata.of(pd.DataFrame({"c": ["a", "b"]}), {"c": "quasi-identifier"}).records
    with pytest.raises(DataError, match="Column 'c' is nominal; round needs columns that are continuous"):
        shoal.Round(base=5).apply(records, ["c"], np.random.default_rng(0))
