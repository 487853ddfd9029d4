import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from by_night import by_night
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records


def synthesise(records, labels=None, seed=0, columns=None, **parameters):
    labels = np.zeros(len(records)) if labels is None else labels
    method = shoal.SequentialRegression(**parameters)
    return method.apply(records, columns or records.names(), Partition.of(labels), np.random.default_rng(seed))


def mixed(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    smokes = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 5)), "yes", "no")
    town = np.where(smokes == "yes", rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]), rng.choice(["a", "b", "c"], n))
    bill = 2 * age + 30 * (smokes == "yes") + rng.normal(0, 5, n)
    grade = np.digitize(age, [40, 60])
    frame = pl.DataFrame({"age": age, "smokes": smokes, "town": town, "bill": bill, "grade": grade})
    levels = {"grade": {"role": "quasi-identifier", "level": "ordinal"}}
    return Microdata.of(frame, {name: levels.get(name, "quasi-identifier") for name in frame.columns}).records


def test_relations_of_a_mixed_table_come_back():
    records = mixed()
    change = synthesise(records)
    before, after = (
        {
            "smokers": (r["smokes"].values == 1).mean(),
            "age of smokers": r["age"].values[r["smokes"].values == 1].mean(),
            "town a among smokers": (r["town"].values[r["smokes"].values == 1] == 0).mean(),
            "slope": np.cov(r["age"].values, r["bill"].values)[0, 1] / r["age"].values.var(),
            "grade 2 over 65": (r["grade"].values[r["age"].values > 65] == 2).mean(),
        }
        for r in (records, change.records)
    )
    tolerance = {
        "smokers": 0.04,
        "age of smokers": 1,
        "town a among smokers": 0.06,
        "slope": 0.1,
        "grade 2 over 65": 0.1,
    }
    for key, value in before.items():
        assert after[key] == pytest.approx(value, abs=tolerance[key]), key
    assert change.details["records unchanged"] == 0
    assert change.details["largest relative error overall"]["covariances"] < 0.2


def test_parameters_are_drawn():
    # n = 12, one column: without draws a mean of 12 has variance s^2 / 12; with the mean drawn too, about twice that
    # (the variance's own draw, with 11 degrees of freedom, adds the factor 11 / 9).
    x = np.random.default_rng(1).normal(size=(12, 1))
    means = {
        draw: np.var(
            [
                synthesise(Records.from_array(x), seed=s, draw_parameters=draw, support=()).records.raw().mean()
                for s in range(by_night(200, 400))
            ]
        )
        for draw in (False, True)
    }
    unit = x.var(ddof=1) / 12
    assert means[False] == pytest.approx(unit, rel=0.2)
    assert means[True] == pytest.approx(2 * unit * 11 / 9, rel=0.25)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_degenerate_tables_give_finite_values(seed, groups, draw):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=60) + 1e8
    frame = pl.DataFrame(
        {
            "a": a,
            "twice": 2 * a,
            "constant": np.full(60, 3.0),
            "same": ["u"] * 60,
            "separated": np.where(a > 1e8, "high", "low"),
            "rare": ["v"] + ["w"] * 59,
            "heap": np.where(a > 1e8, a, 0.0),
        }
    )
    records = Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records
    change = synthesise(
        records, rng.permutation(np.arange(60) % groups), seed, draw_parameters=draw, support=("range", "zeros")
    )
    new = change.records
    assert np.isfinite(new.raw(["a", "twice", "constant", "heap"])).all()
    np.testing.assert_array_equal(new["constant"].values, 3.0)
    assert (new["same"].values == 0).all()
    for name in ("separated", "rare"):
        assert set(np.unique(new[name].values)) <= {0, 1}
    np.testing.assert_allclose(new["twice"].values, 2 * new["a"].values, rtol=1e-9)
    assert (new["heap"].values == 0).sum() == (frame["heap"] == 0).sum()


def test_kept_columns_predict_and_stay():
    records = mixed()
    change = synthesise(records, columns=["bill"], given=("age", "smokes"))
    for name in ("age", "smokes", "town"):
        assert change.records[name] is records[name]
    assert np.corrcoef(change.records["bill"].values, records["age"].values)[0, 1] == pytest.approx(
        np.corrcoef(records["bill"].values, records["age"].values)[0, 1], abs=0.02
    )


def test_a_column_cannot_predict_itself():
    # It would, perfectly, and so be released as it is.
    with pytest.raises(shoal.ParameterError, match="given must name columns that stay, and not 'age'"):
        synthesise(mixed(50), given=("age",))


def test_a_column_that_the_kept_ones_determine_is_reported():
    a, b = np.random.default_rng(4).normal(size=(2, 100))
    records = Records.from_array(np.column_stack([a, b, 2 * a + 1]), names=["a", "b", "twice"])
    change = synthesise(records, columns=["b", "twice"], given=("a",), support=())
    np.testing.assert_allclose(change.records["twice"].values, 2 * a + 1, rtol=1e-12)
    assert change.details["groups in which a column was released as it is"] == {"twice": 1}
    assert change.details["records unchanged"] == 0


def test_groups_too_small():
    x = np.random.default_rng(2).normal(size=(20, 3))
    with pytest.raises(shoal.ParameterError, match="sequential-regression needs groups of 5 records"):
        synthesise(Records.from_array(x), np.arange(20) // 4)
    assert synthesise(Records.from_array(x), np.arange(20) // 4, small="merge").details["groups"] < 5
    assert np.isfinite(synthesise(Records.from_array(x), np.arange(20), small="allow").records.raw()).all()


def test_same_seed_same_result():
    records = mixed(200)
    one, two, other = (synthesise(records, seed=s).records for s in (1, 1, 2))
    for name in records.names():
        np.testing.assert_array_equal(one[name].values, two[name].values)
    assert (one["age"].values != other["age"].values).all()


def hospital_table():
    return shoal.example("hospital", n=1500, seed=3)


def test_people_of_a_fully_synthetic_hospital_can_be():
    """Ages in range, whole days, decimals as written, no pregnant man; each default can be switched off."""
    table = hospital_table()
    columns = {name: {"role": "quasi-identifier", "missing": "impute"} for name in table.columns}
    records = Microdata.of(table, columns).records
    names = [name for name in records.names() if records[name].continuous or len(records[name].categories) < 30]

    def made(**off):
        method = shoal.SequentialRegression(**off)
        return method.apply(records, names, shoal.Whole().partition(records), np.random.default_rng(1)).records

    sensible, plain = made(), made(support=(), exclude=False)
    for name in names:
        if records[name].continuous:
            old, new = records[name].values, sensible[name].values
            ordered = np.sort(old)
            assert new.min() >= ordered[0] - (ordered[4] - ordered[0]) / 5
            assert new.max() <= ordered[-1] + (ordered[-1] - ordered[-5]) / 5
            assert (new >= 0).all() or (old < 0).any()
            assert np.array_equal(new, np.round(new, 2))
    assert (plain["age"].values < 0).any()


def test_no_man_is_pregnant():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 800)
    pregnant = np.where((sex == "f") & (rng.random(800) < 0.1), "yes", "no")
    visits = rng.poisson(3, 800).astype(float)
    frame = pl.DataFrame({"visits": visits, "pregnant": pregnant, "sex": sex})
    records = Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records
    counts = []
    for exclude in (True, False):
        after = synthesise(records, exclude=exclude).records
        counts.append(int(((after["pregnant"].values == 1) & (after["sex"].values == 1)).sum()))
    assert counts[0] == 0


def with_gaps(n=1500, seed=0):
    """Income is missing for the young more often, town for those without; children have neither income nor job."""
    rng = np.random.default_rng(seed)
    age = rng.integers(1, 90, n).astype(float)
    child = age < 15
    income = np.where(child | (rng.random(n) < 0.4 * (age < 45)), np.nan, np.round(100 + age + rng.normal(0, 5, n)))
    job = np.where(child, None, np.where(rng.random(n) < age / 90, "old", "new"))
    town = np.where(rng.random(n) < np.where(np.isnan(income), 0.3, 0.02), None, rng.choice(["a", "b"], n))
    grade = pl.Series(np.digitize(age, [30, 60]).astype(float)).cast(pl.Int64)
    frame = pl.DataFrame({"age": age, "income": pl.Series(income, nan_to_null=True), "job": job, "town": town})
    frame = frame.with_columns(grade=pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(grade))
    kept = {"role": "quasi-identifier", "missing": "keep"}
    return {name: {**kept, **({"level": "ordinal"} if name == "grade" else {})} for name in frame.columns}, frame


def test_missing_values_are_synthesised_as_such():
    schema, frame = with_gaps()
    table = Microdata.of(frame, schema)
    change = synthesise(table.records, seed=3, columns=tuple(frame.columns[1:]), given=("age",))
    new = pl.DataFrame(table.rebuild(change.records).native)
    assert new.schema == frame.schema

    def shares(t):
        young, poor = t.filter(pl.col("age").is_between(15, 45)), t.filter(pl.col("income").is_null())
        known = t.filter(pl.col("income").is_not_null())
        return {
            "gaps": [t[name].null_count() / len(t) for name in ("income", "job", "town", "grade")],
            "income missing among the young": young["income"].null_count() / len(young),
            "town missing without income": poor["town"].null_count() / len(poor),
            "slope": np.cov(known["age"], known["income"])[0, 1] / known["age"].var(),
        }

    before, after = shares(frame), shares(new)
    for name, value in before.items():
        assert after[name] == pytest.approx(value, abs=0.06), name
    children = new.filter(pl.col("age") < 15)
    assert len(children) > 100
    assert children["income"].null_count() == len(children)  # a rule: no child has an income or a job
    assert children["job"].null_count() == len(children)


def test_few_missing_cells_stay_few_in_small_groups():
    """Two of 40 in each of 50 groups: coefficients that are drawn would make three times as many missing."""
    x = np.random.default_rng(2).normal(size=(2000, 3))
    x[np.arange(2000) // 40 * 40 + np.arange(2000) % 2 == np.arange(2000), 1] = np.nan
    schema = {f"x{j}": {"role": "quasi-identifier", "missing": "keep"} for j in range(3)}
    frame = pl.DataFrame({f"x{j}": pl.Series(x[:, j], nan_to_null=True) for j in range(3)})
    records = Microdata.of(frame, schema).records
    lacking = np.isnan(synthesise(records, np.arange(2000) // 40).records["x1"].values).sum()
    assert lacking == pytest.approx(np.isnan(x).sum(), rel=0.3)


def test_columns_without_cells_and_groups_without_some():
    schema, frame = with_gaps(n=90)
    frame = frame.with_columns(income=pl.lit(None, dtype=pl.Float64), town=pl.lit(None, dtype=pl.String))
    schema["income"]["level"] = "continuous"
    records = Microdata.of(frame, schema).records
    new = synthesise(records, np.arange(90) // 45).records
    assert new["income"].missing.all()
    assert new["town"].missing.all()
    given = synthesise(records, np.arange(90) // 45, columns=("age",), given=("income", "job", "grade")).records
    assert np.isfinite(given["age"].values).all()


def test_a_number_that_two_records_of_a_group_have_is_not_regressed():
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[2:30, 1] = np.nan
    frame = pl.DataFrame({f"x{j}": pl.Series(x[:, j], nan_to_null=True) for j in range(2)})
    schema = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    records = Microdata.of(frame, schema).records
    with pytest.raises(shoal.ParameterError, match="1 group of 2 is smaller, counting records that have the"):
        synthesise(records, np.arange(60) // 30)
    assert synthesise(records, np.arange(60) // 30, small="merge").details["groups merged because too small"] == 1
