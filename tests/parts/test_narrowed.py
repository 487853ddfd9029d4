"""What a release gives away itself: cells filled in, narrowed down or told by rules, as judging in memory finds."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from parts.conftest import whole_plan
from shoal import audit, protect
from shoal.judges.closure import closure
from shoal.judges.refinement import trees
from shoal.proof import given_away
from shoal.proof.given_away import laws_among, refuse_given_away
from shoal.proof.narrowed import refuse_narrowed
from shoal.table.laws import Laws
from shoal.table.microdata import Microdata
from shoal.table.parts.stage import Stage, write_part
from shoal.table.schema import Schema
from shoal.vocabulary.errors import ConstraintError, Refused

TREE = {"nested": {"Spain": ["Madrid", "Sevilla"], "France": ["Lyon", "Paris"]}}
TOWNS = np.array(["Madrid", "Sevilla", "Lyon", "Paris"])
COUNTRIES = np.array(["Spain", "Spain", "France", "France"])
MEMORY = 1 << 30
KINDS = ["town", "country", "other", "record", "home"]


def staged(frame: pl.DataFrame, place: Path) -> Stage:
    paths = [place / "1.parquet", place / "2.parquet"]
    half = len(frame) // 2
    for path, part in zip(paths, (frame[:half], frame[half:])):
        write_part(part, path)
    return Stage.of(paths)


def refused(check, *given) -> bool:
    try:
        check(*given)
    except Refused:
        return True
    return False


def tables(kind: str, seed: int, n: int) -> pl.DataFrame:
    """Towns, some of them generalised, beside a column that tells more or less of them."""
    rng = np.random.default_rng([seed, n])
    town = rng.integers(0, 4, n)
    labels = np.where(rng.random(n) < 0.3, COUNTRIES[town], TOWNS[town])
    if kind == "pairs":
        labels = np.where(rng.random(n) < 0.2, "Madrid | Lyon", labels)
    by = {"town": town, "country": town // 2, "other": rng.integers(0, 4, n), "record": np.arange(n)}
    several = np.repeat(town[: n // 2], 2)  # two records each, of one town
    homes = np.arange(n) // 2
    if kind in ("home", "stray home"):
        labels = np.where(rng.random(n) < 0.3, COUNTRIES[several], TOWNS[several])
        if kind == "stray home":
            labels[0], labels[1] = "Lyon", "Spain"
        return pl.DataFrame({"by": homes, "town": labels})
    return pl.DataFrame({"by": by.get(kind, town), "town": labels})


@pytest.mark.parametrize(
    ("kind", "n", "seed"),
    crossed(["town", "country", "other", "record", "pairs", "home", "stray home"], [12, 400], [1, 2]),
)
def test_it_is_refused_where_memory_narrows_down(tmp_path, kind, n, seed):
    frame = tables(kind, seed, n)
    schema = Schema.of(
        {"by": "household" if "home" in kind else "other", "town": {"role": "quasi-identifier", "hierarchy": TREE}}
    )
    records = Microdata.finished(frame, schema).encoded
    known = closure(records, None, trees(schema, Path(), records)).filled
    given = (staged(frame, tmp_path), schema, Path(), MEMORY, tmp_path)
    assert refused(refuse_narrowed, *given) == bool(known)


@pytest.mark.parametrize(("kind", "seed"), crossed(KINDS, [1, 2]))
def test_it_is_refused_where_memory_fills_in(tmp_path, kind, seed):
    frame = tables(kind, seed, 400)
    rng = np.random.default_rng(seed)
    blank = pl.Series(rng.random(len(frame)) < 0.1)
    town = pl.when(blank).then(None).otherwise(pl.col("town").replace(dict(zip(TOWNS, COUNTRIES)))).alias("town")
    frame = frame.with_columns(town)
    schema = Schema.of({"by": "household" if kind == "home" else "other", "town": "quasi-identifier"})
    records = Microdata.finished(frame, schema).encoded
    given = (staged(frame, tmp_path), schema, MEMORY, tmp_path)
    assert refused(refuse_given_away, *given) == bool(closure(records).filled)


@pytest.mark.parametrize(
    ("kind", "left", "odd"),
    crossed(["town", "country", "other", "record", "home", "birth", "town"], [1, 5, 40], [0, 8]),
)
def test_it_is_refused_where_memory_fills_in_by_laws_of_the_original(tmp_path, kind, left, odd):
    """Of a column few cells are left: by themselves they show no law, which a few contradict even in the original."""
    original = tables("town" if kind == "birth" else kind, 1, 400).with_columns(age=pl.int_range(400) % 61 + 20)
    original = original.with_columns(
        birth=2020 - pl.col("age"), town=pl.col("town").replace(dict(zip(TOWNS, COUNTRIES)))
    )
    name, by = ("age", "birth") if kind == "birth" else ("town", "by")
    first = pl.int_range(400) < odd
    original = original.select(by, pl.when(first).then(pl.col(name).reverse()).otherwise(name).alias(name))
    chosen = pl.Series(np.isin(np.arange(400), np.random.default_rng(left).choice(400, left, replace=False)))
    released = original.with_columns(pl.when(chosen).then(name).alias(name))
    role = "household" if kind == "home" else "other"
    schema = Schema.of({by: {"role": role, "missing": "keep"}, name: {"role": "quasi-identifier", "missing": "keep"}})
    before, after = (Microdata.finished(frame, schema).encoded for frame in (original, released))
    closed = closure(after, laws=Laws.for_release(before, after))
    known = closed.filled or (closed.informed and closed.informed.filled)
    places = [tmp_path / "before", tmp_path / "after"]
    for place in places:
        place.mkdir()
    stages = [staged(frame, place) for frame, place in zip((original, released), places)]
    assert refused(refuse_given_away, stages[1], schema, MEMORY, tmp_path, stages[0]) == bool(known)


def test_only_records_with_both_cells_are_evidence(tmp_path):
    """Cells of the second column beside a missing one of the first say nothing of a law, but made it seem believed."""
    by = [0, 0, 0, 1, 1, 1] + [None] * 60
    on = ["p"] * 5 + [None] + [f"v{i}" for i in range(60)]
    frame = pl.DataFrame({"by": by, "on": on})
    schema = Schema.of({"by": "other", "on": "quasi-identifier"})
    assert not closure(Microdata.finished(frame, schema).encoded).filled
    assert not refused(refuse_given_away, staged(frame, tmp_path), schema, MEMORY, tmp_path)


COLUMNS = {"net": "confidential", "tax": "confidential", "gross": "confidential", "area": "quasi-identifier"}
RULES = ["net + tax == gross", "tax <= 40", "area == 'a' -> net >= 20"]


def accounts() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    net, tax = rng.integers(10, 99, 1500), rng.integers(0, 45, 1500)
    area = rng.choice(["a", "b"], 1500)
    return pl.DataFrame({"net": net, "tax": tax, "gross": net + tax, "area": area})


@pytest.mark.usefixtures("small_blocks")
def test_rules_are_judged_as_in_memory(folder_of):
    plan = {"columns": COLUMNS, "requirements": [{"privacy": "k-anonymity", "k": 2}], "constraints": RULES}
    frame = accounts()
    parts, whole = audit(folder_of(frame), plan, workers=1), shoal.audit(frame, whole_plan(plan))
    assert [v.holds for v in parts.verdicts] == [True, True, False, False]
    for ours, theirs in zip(parts.verdicts, whole.verdicts):
        assert ours.private_form() == theirs.private_form()


def test_a_rule_of_a_column_that_is_gone_is_an_error_as_in_memory(tmp_path):
    frame = accounts().drop("tax")
    frame.write_parquet(tmp_path / "t.parquet")
    plan = {"columns": COLUMNS, "constraints": ["tax <= 50"]}
    for judge in (shoal.audit, audit):
        with pytest.raises(ConstraintError, match="'tax'"):
            judge(tmp_path / "t.parquet", plan)


def test_missing_cells_that_rules_determine_are_refused(tmp_path):
    blank = pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise("tax").alias("tax")
    frame = accounts().head(7).with_columns(blank)  # so few that the rule is not seen in them
    frame.write_parquet(tmp_path / "t.parquet")
    plan = {"columns": COLUMNS, "requirements": [{"privacy": "k-anonymity", "k": 2}]}
    assert audit(tmp_path / "t.parquet", plan, workers=1).holds
    with pytest.raises(Refused, match="rules of the plan determine missing cells"):
        audit(tmp_path / "t.parquet", plan | {"constraints": RULES}, workers=1)


def test_missing_cells_that_arithmetic_restores_are_refused(tmp_path):
    frame = accounts().with_columns(pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("tax").alias("tax"))
    frame.write_parquet(tmp_path / "t.parquet")
    plan = {"columns": COLUMNS, "requirements": [{"privacy": "k-anonymity", "k": 2}]}
    with pytest.raises(Refused, match="'gross', 'net' give 'tax' back: take it out"):
        audit(tmp_path / "t.parquet", plan, workers=1)


def test_the_laws_of_a_table_in_parts_are_those_of_the_table(tmp_path):
    """By one column, by two, by arithmetic; with exceptions."""
    rng = np.random.default_rng(8)
    a, b, year = (rng.integers(0, size, 700) for size in (6, 5, 40))
    rate = rng.permutation(30).reshape(6, 5)[a, b] % 7
    rate[:3] = (rate[:3] + 1) % 7
    columns = {"a": a, "b": b, "rate": rate, "half": a // 2, "year": 1980 + year, "age": 44 - year}
    frame = pl.DataFrame(columns).cast({"half": pl.String})
    schema = Schema.of({name: {"role": "other", "level": "nominal"} for name in columns})
    whole = Laws.of(Microdata.finished(frame, schema).encoded, ["rate", "half", "age"])
    parts = laws_among(staged(frame, tmp_path), schema, frame.columns, ["rate", "half", "age"], MEMORY, tmp_path)
    assert {law.by for law in whole.look_ups} == {("a",), ("year",), ("a", "b")}
    assert (parts.look_ups, parts.arithmetic) == (whole.look_ups, whole.arithmetic)
    assert [law.records for law in parts.arithmetic] == [law.records for law in whole.arithmetic]


def test_what_is_looked_at_first_is_a_copy():
    """A slice would keep all of its part in memory, and so all parts together."""
    part = pl.DataFrame({"a": np.arange(5_000)})
    first = given_away._first_records(part, count=20)
    assert first["a"].to_list() == list(range(20))
    assert given_away._first_records(part.head(7), count=20).equals(part.head(7))
    cells = [frame["a"].to_numpy(allow_copy=False) for frame in (part, first, part.head(20))]
    assert np.shares_memory(cells[0], cells[2])
    assert not np.shares_memory(cells[0], cells[1])


def test_of_a_column_of_few_values_not_all_records_are_looked_at():
    part = pl.DataFrame({"a": np.arange(5_000) % 2, "b": np.arange(5_000) % 7})
    (records,) = given_away._samples_in(part, {"a": ["b"]}, shares=1, most=30).values()
    assert records.equals(part.head(30))


NARROWED = "Column 'by' narrows down generalised cells of 'town'"


def test_an_audit_by_parts_refuses_cells_that_are_narrowed_down(tmp_path):
    tables("town", 1, 400).write_parquet(tmp_path / "t.parquet")
    columns = {"by": "other", "town": {"role": "quasi-identifier", "hierarchy": TREE}}
    with pytest.raises(Refused, match=NARROWED):
        audit(
            tmp_path / "t.parquet",
            {"columns": columns, "requirements": [{"privacy": "k-anonymity", "k": 2}]},
            workers=1,
        )


def test_no_release_by_parts_has_cells_that_are_narrowed_down(tmp_path):
    """Groups get the ancestors that their towns have in common, and a column that stays says which town it was."""
    rng = np.random.default_rng(1)
    town = rng.integers(0, 4, 400)
    pl.DataFrame({"by": town, "town": TOWNS[town], "age": rng.integers(20, 60, 400)}).write_parquet(
        tmp_path / "o.parquet"
    )
    plan = {
        "columns": {"by": "other", "age": "quasi-identifier", "town": {"role": "quasi-identifier", "hierarchy": TREE}},
        "accept": ["by"],
        "steps": [{"partition": "mdav", "k": 3, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    with pytest.raises(Refused, match=NARROWED):
        protect(tmp_path / "o.parquet", plan, tmp_path / "out", seed=1, workers=1)
    assert not (tmp_path / "out").exists()
