"""Judging part by part gives the figures of judging the whole, for every model, distance and missing cells."""

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from parts.conftest import whole_plan
from shoal import audit
from shoal.vocabulary.errors import DataError, FileError, Refused, SchemaError
from shoal.vocabulary.registry import registered

COLUMNS = {
    "age": "quasi-identifier",
    "area": "quasi-identifier",
    "income": "confidential",
    "score": {"role": "confidential", "level": "ordinal"},
    "illness": {
        "role": "confidential",
        "level": "nominal",
        "hierarchy": {"nested": {"lung": ["asthma", "flu"], "well": ["none"]}},
    },
    "home": "household",
}

REQUIREMENTS = [
    {"privacy": "k-anonymity", "k": 4},
    {"privacy": "k-anonymity", "k": 2, "columns": ["area"]},
    {"privacy": "k-anonymity", "k": 3, "unit": "household"},
    {"privacy": "l-diversity", "l": 2},
    {"privacy": "l-diversity", "l": 2, "kind": "entropy"},
    {"privacy": "l-diversity", "l": 2, "kind": "recursive", "c": 2.0},
    {"privacy": "t-closeness", "t": 0.3},
    {"privacy": "t-closeness", "t": 0.3, "distance": "rank"},
    {"privacy": "t-closeness", "t": 0.3, "distance": "equal"},
    {"privacy": "t-closeness", "t": 0.3, "distance": "hierarchical"},
    {"privacy": "nt-closeness", "n": 60, "t": 0.3},
    {"privacy": "nt-closeness", "n": 500, "t": 0.05},
    {"privacy": "nt-closeness", "n": 10**6, "t": 1.0},
    {"privacy": "beta-likeness", "beta": 2.0},
    {"privacy": "beta-likeness", "beta": 2.0, "enhanced": False},
    {"privacy": "delta-disclosure", "delta": 2.0},
    {"privacy": "p-sensitivity", "p": 2, "k": 4},
    {"privacy": "average-risk", "average": 0.1, "highest": 0.2, "above": 0.1},
    {"privacy": "no-attack", "gain": 20.0},
]


@pytest.fixture
def released() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 3000
    return pl.DataFrame(
        {
            "age": rng.integers(0, 40, n) / 4,
            "area": rng.choice(list("abcdefg"), n),
            "income": rng.integers(0, 50, n) * 100,
            "score": rng.integers(1, 6, n),
            "illness": rng.choice(["asthma", "flu", "none"], n, p=[0.1, 0.3, 0.6]),
            "home": rng.integers(0, 1500, n),
        }
    )


def with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """Cells of confidential columns missing at random."""
    rng = np.random.default_rng(6)
    return frame.with_columns(
        pl.when(pl.Series(rng.random(len(frame)) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("income", "score", "illness")
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("gaps", [True, False][: by_night(1, 2)])
def test_all_models_give_the_figures_of_the_whole(released, folder_of, gaps):
    frame = with_gaps(released) if gaps else released
    plan = {"columns": COLUMNS, "requirements": REQUIREMENTS}
    parts = audit(folder_of(frame), plan, workers=1).verdicts
    whole = shoal.audit(frame, whole_plan(plan)).verdicts
    assert len(parts) == len(whole) == len(REQUIREMENTS)
    for ours, theirs in zip(parts, whole):
        assert ours.private_form() == theirs.private_form(), ours.requirement


@pytest.mark.parametrize("k", [1, 2])
def test_households_that_are_missing_count_as_in_the_whole(folder_of, k):
    """A class of no household, which may be one; of one and a missing one, which may be the same; of two."""
    frame = pl.DataFrame({"area": list("aabbcc"), "home": [None, None, 1, None, 2, 3]})
    columns = {"area": "quasi-identifier", "home": {"role": "household", "missing": "keep"}}
    plan = {"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": k, "unit": "household"}]}
    (ours,), (theirs,) = audit(folder_of(frame), plan).verdicts, shoal.audit(frame, whole_plan(plan)).verdicts
    assert ours.private_form() == theirs.private_form()
    assert (ours.achieved, ours.details["classes too small"]) == (1, 2 if k == 2 else 0)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("keys", [("age", "area", "home"), ("area",), ("not released",)])
def test_natural_sets_are_those_of_the_whole(released, folder_of, keys):
    """Keys of every kind, some of their cells missing, or none at all; sets within a block, and wider ones."""
    gaps = pl.Series(np.random.default_rng(8).random(len(released)) < 0.03)
    frame = released.with_columns(area=pl.when(gaps).then(None).otherwise("area"))
    tree = {"nested": {"lung": ["asthma", "flu"], "well": ["none"]}}
    columns = {
        "age": "other",
        "area": {"role": "other", "hierarchy": {"nested": {"north": list("ace"), "south": list("bdfg")}}},
        "income": "other",
        "score": {"role": "confidential", "level": "ordinal"},
        "illness": {"role": "confidential", "hierarchy": tree},
        "home": {"role": "other", "level": "ordinal"},
        "not released": "other",
    }
    for name in keys:
        columns[name] = {"role": "quasi-identifier"} if columns[name] == "other" else columns[name]
        columns[name] = columns[name] | {"role": "quasi-identifier", "missing": "keep"}
    required = [{"privacy": "nt-closeness", "n": n, "t": t} for n, t in ((20, 0.2), (450, 0.1), (2000, 0.0))]
    required.append({"privacy": "k-anonymity", "k": 2, "missing": "wildcard"})
    plan = {"columns": columns, "requirements": required}
    parts, whole = audit(folder_of(frame), plan, workers=1).verdicts, shoal.audit(frame, whole_plan(plan)).verdicts
    for ours, theirs in zip(parts, whole, strict=True):
        assert ours.private_form() == theirs.private_form(), ours.requirement
    assert any(0 < verdict.achieved < 1 for verdict in parts[:3]) == (keys != ("not released",))


@pytest.mark.usefixtures("small_blocks")
def test_missing_keys_are_read_as_in_the_whole(released, folder_of):
    draw = np.random.default_rng(8).random((2, len(released))) < 0.05
    frame = released.with_columns(
        pl.when(pl.Series(gap)).then(None).otherwise(pl.col(name)).alias(name)
        for name, gap in zip(("age", "area"), draw)
    ).with_columns(age=pl.when(pl.col("age") == 0).then(-0.0).otherwise(pl.col("age")))
    required = [
        {"privacy": "k-anonymity", "k": k, "missing": missing, "columns": list(columns)}
        for missing in ("equal", "wildcard", "nothing")
        for k, columns in ((2, ("age", "area")), (400, ("area",)))
    ]
    required.append({"privacy": "k-anonymity", "k": 3, "unit": "household", "missing": "wildcard"})
    plan = {"columns": COLUMNS, "requirements": required}
    parts, whole = audit(folder_of(frame), plan, workers=1).verdicts, shoal.audit(frame, whole_plan(plan)).verdicts
    assert [v.private_form() for v in parts] == [v.private_form() for v in whole]
    assert len({v.achieved for v in parts[:6]}) > 3  # the readings differ


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("last", [0.25, 1 / 3, 1e9 + 0.5])
def test_rules_are_judged_in_the_decimals_of_the_whole(folder_of, last):
    """Most parts hold whole numbers; in one a cell has decimals, or is none, so that a cent in billions is hidden."""
    a = np.arange(3000.0)
    a[-1], b = last, a[::-1].copy()
    total = a + b
    a[0], b[0], total[0] = 5e9, 4e9, 9e9 + 0.01 * (last == 1 / 3)
    frame = pl.DataFrame({"a": a, "b": b, "total": total})
    plan = {"columns": dict.fromkeys(frame.columns, "other"), "constraints": ["a + b == total", "a >= 0"]}
    parts, whole = audit(folder_of(frame), plan, workers=1).verdicts, shoal.audit(frame, whole_plan(plan)).verdicts
    assert [v.private_form() for v in parts] == [v.private_form() for v in whole]


def test_every_model_that_says_so_is_judged_class_by_class():
    tried = {requirement["privacy"] for requirement in REQUIREMENTS}
    assert tried == {entry.name for entry in registered("privacy") if entry.cls.scales == "classes"}


def test_a_table_without_records_proves_nothing(released, tmp_path):
    released.head(0).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="nothing can be proved"):
        audit(tmp_path / "t.parquet", {"columns": COLUMNS, "requirements": REQUIREMENTS}, workers=1)


def test_an_unknown_column_is_refused(released, tmp_path):
    released.with_columns(extra=1).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match="'extra'"):
        audit(tmp_path / "t.parquet", {"columns": COLUMNS, "requirements": REQUIREMENTS}, workers=1)


def test_an_identifier_that_is_left_refutes(released, tmp_path):
    released.write_parquet(tmp_path / "t.parquet")
    plan = {"columns": COLUMNS | {"home": "identifier"}, "requirements": [{"privacy": "k-anonymity", "k": 1}]}
    evidence = audit(tmp_path / "t.parquet", plan, workers=1)
    assert [v.requirement for v in evidence.verdicts if not v.holds] == ["no identifiers"]


@pytest.mark.usefixtures("small_blocks")
def test_missing_cells_that_another_column_determines_are_refused(released, folder_of):
    region = released["area"].replace_strict({a: "north" if a in "abc" else "south" for a in "abcdefg"})
    gaps = pl.Series(np.random.default_rng(7).random(len(released)) < 0.02)
    frame = released.with_columns(region=pl.select(pl.when(gaps).then(None).otherwise(region)).to_series())
    plan = {"columns": COLUMNS | {"region": "quasi-identifier"}, "requirements": [{"privacy": "k-anonymity", "k": 1}]}
    with pytest.raises(Refused, match="'area' gives 'region' back: take it out"):
        audit(folder_of(frame), plan, workers=1)


def test_models_of_the_whole_table_are_judged_on_it(released, folder_of, monkeypatch):
    plan = {"columns": COLUMNS, "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 1}]}
    whole = audit(released, plan).verdicts
    assert audit(folder_of(released), {**plan, "exact": False}, workers=1).verdicts == whole
    monkeypatch.setattr("shoal.desk.given.FITS_ANYWHERE", 0)
    monkeypatch.setattr("shoal.desk.given.BYTES_A_CELL", 1 << 30)
    with pytest.raises(FileError, match=r"held whole.* more with --memory\. The requirement probabilistic-k-anonymity"):
        audit(released, {**plan, "exact": False}, workers=1)


def test_one_value_written_in_two_ways_is_left_to_memory(tmp_path):
    plan = {
        "columns": {"a": "quasi-identifier", "b": "confidential"},
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
    }
    (tmp_path / "t.csv").write_text("a,b\n34,1\n34.0,2\n")
    with pytest.raises(FileError, match="one value of 'a' in several ways"):
        audit(tmp_path / "t.csv", plan, workers=1)
    (tmp_path / "t.csv").write_text("a,b\n34,1\n34,2\n")
    assert audit(tmp_path / "t.csv", plan, workers=1).holds
    pl.DataFrame({"a": [1.0, 1.0], "b": [None, float("nan")]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="missing cells written in several ways"):
        audit(tmp_path / "t.parquet", plan, workers=1)
