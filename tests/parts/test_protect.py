"""Protecting part by part: what one part gives is what memory gives, and many parts keep every guarantee."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import dropped_decimal
import shoal
from by_night import crossed
from parts.conftest import ROLES, released, whole_plan
from shoal import protect
from shoal.table.parts.session import workers_for
from shoal.vocabulary.errors import FileError, ParameterError, Refused

SEED = 1 << 70
BY_CLASS = ("prosecutor", "sample-uniques", "marketer")


def sizes(frame: pl.DataFrame, *names: str) -> list[int]:
    return sorted(frame.group_by(names).len()["len"].to_list())


def test_one_block_gives_the_release_in_memory(table, folder_of, plan, tmp_path):
    frame = table(900)
    plan["requirements"] += [{"privacy": "t-closeness", "t": 0.9}, {"privacy": "l-diversity", "l": 1}]
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    keys = ["x", "y", "sex", "income", "illness", "note"]
    ours, theirs = released(tmp_path / "out").sort(keys), whole.table.frame.to_native().sort(keys)
    assert ours.columns == theirs.columns
    for name in keys:
        if ours[name].dtype.is_float():
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9)
        else:
            assert ours[name].to_list() == theirs[name].to_list()
    assert [v.sentence for v in made.evidence.verdicts] == [v.sentence for v in whole.evidence.verdicts]
    assert [v.details for v in made.evidence.verdicts] == [v.details for v in whole.evidence.verdicts]
    in_memory = {f.measure: f for f in whole.evidence.findings}
    for finding in made.evidence.findings:
        if finding.measure in BY_CLASS or finding.measure == "sse":
            assert finding.value == pytest.approx(in_memory[finding.measure].value, rel=1e-9)
    assert {f.measure for f in made.evidence.findings} == set(in_memory)
    account, in_whole = made.account, whole.account
    assert account.classes == in_whole.classes and account.classes[0].smallest >= 4
    assert account.classes_before == in_whole.classes_before and account.classes_before.smallest == 1
    assert account.violations_before == in_whole.violations_before
    assert account.reached == in_whole.reached and len(account.reached) == 3
    assert account.singled_out == in_whole.singled_out
    before = {f.measure: f.value for f in in_whole.before}
    assert {f.measure: f.value for f in account.before} == pytest.approx(
        {f.measure: before[f.measure] for f in account.before}
    )
    assert {f.measure for f in account.before} >= set(BY_CLASS)


@pytest.mark.usefixtures("small_blocks")
def test_many_blocks_keep_the_guarantee_and_little_is_lost(table, folder_of, plan, tmp_path):
    frame = table(4000)
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    out = released(tmp_path / "out")
    assert len(out) == 4000
    assert sizes(out, "x", "y", "sex")[0] >= 4
    assert sorted(out["note"]) == sorted(frame["note"])
    assert "id" not in out.columns
    step = made.record["steps"][0]
    assert step["blocks"] >= 8
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED).record["steps"][0]["information loss in percent"]
    assert whole < step["information loss in percent"] < 1.4 * whole
    record = json.loads((tmp_path / "out" / "private" / "record.json").read_text())
    assert len(record["blocks"]["1 mdav + centroid"]["cuts"][0]) == step["blocks"] - 1


@pytest.mark.usefixtures("small_blocks")
def test_the_loss_told_is_that_of_the_groups(table, folder_of, plan, tmp_path):
    frame = table(2000).with_columns(pl.col("sex").replace({"f": "m"}))
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    groups = pl.read_parquet(tmp_path / "out" / "private" / "groups" / "*.parquet").sort("row")
    x = frame.select("x", "y").to_numpy()
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    loss = shoal.Partition.of(groups["group"].to_numpy()).information_loss(x)
    assert made.record["steps"][0]["information loss in percent"] == pytest.approx(loss, rel=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_workers_and_memory_change_nothing(table, folder_of, plan, tmp_path):
    source = folder_of(table(3000))
    for number, how in enumerate(({"workers": 1}, {"workers": 2, "memory": "512MB"})):
        protect(source, plan, tmp_path / f"out-{number}", seed=SEED, **how)
    one, two = (sorted((tmp_path / f"out-{n}" / "release" / "data").iterdir()) for n in (0, 1))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


@pytest.mark.usefixtures("small_blocks")
def test_strata_stay_apart_and_households_together(table, folder_of, plan, tmp_path):
    rng = np.random.default_rng(2)
    homes = np.repeat(np.arange(1000), 3)
    frame = table(3000).with_columns(
        home=pl.Series(homes), region=pl.Series(np.where(homes < 600, "north", np.where(homes < 990, "south", "isle")))
    )[rng.permutation(3000).tolist()]
    plan["columns"] = plan["columns"] | {"home": "household", "region": "stratum"}
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    out = released(tmp_path / "out")
    assert sizes(out, "x", "y", "sex", "region")[0] >= 12  # four households of three
    groups = pl.read_parquet(tmp_path / "out" / "private" / "groups" / "*.parquet").sort("row")
    joined = frame.with_columns(group=groups["group"])
    assert joined.group_by("group").agg(pl.col("region").n_unique())["region"].max() == 1
    assert joined.group_by("home").agg(pl.col("group").n_unique())["group"].max() == 1
    assert out.group_by("home").len()["len"].to_list() == [3] * 1000


@pytest.mark.usefixtures("small_blocks")
def test_a_requirement_that_blocks_do_not_meet_joins_them(folder_of, tmp_path):
    x = np.sort(np.random.default_rng(3).standard_normal(1200))
    frame = pl.DataFrame({"x": x, "income": np.arange(1200)})  # near records have near incomes
    plan = {
        "columns": {"x": "quasi-identifier", "income": "confidential"},
        "steps": [{"partition": "tcloseness-merge", "k": 4, "t": 0.2, "replace": "centroid"}],
        "requirements": [{"privacy": "t-closeness", "t": 0.2}],
        "output": {"format": "parquet"},
    }
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    assert made.evidence.verdicts[0].holds
    assert made.record["steps"][0]["blocks"] == 1


@pytest.mark.usefixtures("small_blocks")
def test_masks_row_by_row(table, folder_of, plan, tmp_path):
    frame = table(2000)
    plan["columns"] = plan["columns"] | {"age": "quasi-identifier"}
    frame = frame.with_columns(age=pl.Series(np.random.default_rng(4).integers(18, 95, 2000)))
    plan["steps"] = [
        {"mask": "recode", "cuts": [30, 45, 60], "columns": ["age"]},
        {"mask": "top-code", "value": 250, "columns": ["income"]},
        {"partition": "mdav", "k": 4, "replace": "centroid", "columns": ["x", "y", "sex", "age"]},
    ]
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    out = released(tmp_path / "out")
    assert set(out["age"]) == {"< 30", "[30, 45)", "[45, 60)", ">= 60"}
    assert sorted(out["income"]) == sorted(frame["income"].clip(upper_bound=250))
    assert sizes(out, "x", "y", "sex", "age")[0] >= 4


@pytest.mark.usefixtures("small_blocks")
def test_the_order_of_the_records_is_kept_if_asked(table, folder_of, plan, tmp_path):
    frame = table(1500)
    plan["output"]["shuffle"] = False
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    assert released(tmp_path / "out")["note"].to_list() == frame["note"].to_list()


@pytest.mark.usefixtures("small_blocks")
def test_one_csv_is_written_and_proved_as_read_back(table, folder_of, plan, tmp_path):
    plan["output"]["format"] = "csv"
    protect(folder_of(table(1500)), plan, tmp_path / "out", seed=SEED, workers=1)
    out = shoal.read(tmp_path / "out" / "release" / "data.csv")
    assert len(out) == 1500
    assert sizes(out, "x", "y", "sex")[0] >= 4


@pytest.mark.parametrize("work", ["carried_out", "write_release"])
def test_memory_that_lacks_anywhere_is_named_as_such(table, folder_of, plan, tmp_path, monkeypatch, work):
    import duckdb

    def without(*args, **more):
        raise duckdb.OutOfMemoryException("no memory")

    monkeypatch.setattr(f"shoal.desk.in_parts.{work}", without)
    with pytest.raises(FileError, match=r"in' cannot be read in so little memory\. Allow more"):
        protect(folder_of(table(300)), plan, tmp_path / "out", seed=SEED, workers=1)
    assert not (tmp_path / "out").exists()


def test_a_missing_cell_of_a_sole_column_is_no_blank_line(folder_of, tmp_path):
    sole = {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}
    plan = {"columns": {"a": sole}, "requirements": [{"privacy": "k-anonymity", "k": 5}], "output": {"format": "csv"}}
    frame = pl.DataFrame({"a": ["x", None] * 30})
    protect(folder_of(frame), {**plan, "exact": False}, tmp_path / "out", seed=SEED, workers=1)
    assert "" not in (tmp_path / "out/release/data.csv").read_text().splitlines()
    assert shoal.audit(tmp_path / "out/release/data.csv", plan, workers=1).verdicts[0].achieved == 30


@pytest.mark.usefixtures("small_blocks")
def test_missing_values_are_treated_as_in_memory(table, folder_of, plan, tmp_path):
    frame = table(900).with_columns(
        pl.when(pl.int_range(pl.len()) % 50 == 0).then(None).otherwise(pl.col("x")).alias("x"),
        pl.when(pl.int_range(pl.len()) % 40 == 1).then(None).otherwise(pl.col("sex")).alias("sex"),
        pl.when(pl.int_range(pl.len()) % 30 == 2).then(float("nan")).otherwise(pl.col("y")).alias("y"),
    )
    plan["columns"] = plan["columns"] | {
        "x": {"role": "quasi-identifier", "missing": "impute"},
        "sex": {"role": "quasi-identifier", "missing": "impute"},
        "y": {"role": "quasi-identifier", "missing": "drop"},
    }
    plan["steps"] = []
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 1}]
    source = folder_of(frame)
    made = protect(source, plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    assert made.account.missing == whole.account.missing
    ours = released(tmp_path / "out").sort("note")
    assert ours.equals(whole.table.frame.to_native().sort("note"))


def test_the_public_files_tell_nothing_of_rows_or_the_seed(table, folder_of, plan, tmp_path):
    protect(folder_of(table(600)), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    public = tmp_path / "out" / "release"
    assert sorted(p.name for p in public.iterdir()) == ["codebook.json", "data", "evidence.json", "report.html"]
    for path in public.glob("*.*"):
        assert str(SEED) not in path.read_text()
    assert json.loads((public / "evidence.json").read_text())["private"] is None
    assert not any(name.startswith("shoal") for name in released(tmp_path / "out").columns)
    assert all(p.stat().st_mode & 0o077 == 0 for p in (tmp_path / "out" / "private").rglob("*"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]


def test_a_release_can_be_replaced_by_another(table, folder_of, plan, tmp_path):
    source = folder_of(table(600))
    protect(source, plan, tmp_path / "out", seed=SEED, workers=1)
    with pytest.raises(FileError, match="holds a release"):
        protect(source, plan, tmp_path / "out", workers=1)
    protect(source, plan, tmp_path / "out", workers=1, overwrite=True)
    assert len(released(tmp_path / "out")) == 600


def test_a_requirement_that_fails_leaves_nothing(table, folder_of, plan, tmp_path):
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 5}]
    with pytest.raises(Refused, match="5-anonymity does not hold"):
        protect(folder_of(table(600)), plan, tmp_path / "out", workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_bad_sizes_and_seeds_are_refused(plan, tmp_path):
    with pytest.raises(ParameterError, match="memory must be a size such as 6GB"):
        protect(tmp_path, plan, tmp_path / "out", memory="much")
    with pytest.raises(ParameterError, match="seed must be an integer"):
        protect(tmp_path, plan, tmp_path / "out", seed=-1)


@pytest.mark.parametrize(("scale", "column"), crossed(["mad", "rank"], ["x", "*"]))
def test_a_scale_that_needs_all_values_has_them(table, plan, scale, column):
    columns = {name: role for name, role in plan["columns"].items() if name != "x"}
    plan["columns"] = columns | {column: {"role": "quasi-identifier", "scale": scale}}
    made = protect(table(300), {**plan, "exact": False}, seed=3, workers=1).to_frame()
    whole = protect(table(300), whole_plan(plan), seed=3).to_frame()
    usual = protect(table(300), whole_plan({**plan, "columns": ROLES}), seed=3).to_frame()
    ours, theirs, other = (frame.sort(frame.columns) for frame in (made, whole, usual))
    assert ours.equals(theirs) and not ours.equals(other)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "steps",
    [
        [{"partition": "mdav", "k": 5, "columns": ["age"]}, {"mask": "recode", "level": 1, "columns": ["zip"]}],
        [{"mask": "sample", "fraction": 0.5}, {"mask": "generalise", "k": 3, "columns": ["zip"]}],
        [{"mask": "rank-swap", "p": 0.1, "columns": ["age"]}, {"mask": "recode", "level": 1, "columns": ["born"]}],
    ],
    ids=["groups", "sample", "ranks"],
)
def test_a_hierarchy_made_of_values_knows_those_of_all_parts(steps):
    """Each part has postcodes of its own, and the first ones no date."""
    rng = np.random.default_rng(1)
    days = [None if row < 800 else f"19{20 + row % 60}-05-01" for row in range(3000)]
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, 3000),
            "zip": np.sort(rng.integers(100, 900, 3000)).astype(str),
            "born": pl.Series(days).str.to_date(),
        }
    )
    columns = {
        "age": "confidential",
        "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": [2, 1]}},
        "born": {"role": "other", "hierarchy": {"dates": ["year"]}},
    }
    made = protect(frame, {"columns": columns, "steps": steps, "exact": False}, workers=1).to_frame()
    whole = protect(frame, {"columns": columns, "steps": steps, "exact": True}).to_frame()
    changed = steps[-1]["columns"][0]
    assert set(made[changed].cast(pl.String)) <= {*whole[changed].cast(pl.String), "*"}
    assert made[changed].n_unique() > 1


def test_a_csv_file_may_hold_any_type_that_it_gives_back(tmp_path, plan):
    """Text of digits or days reads as another type, and truth values, times, decimals and narrow numbers do."""
    n = 120
    cells = {
        "digits": [str(100 + i) for i in range(n)],
        "day": [f"2020-01-{i % 28 + 1:02}" for i in range(n)],
        "truth": [i % 2 == 0 for i in range(n)],
        "time": [dt.time(i % 24, i % 60) for i in range(n)],
        "decimal": pl.Series([Decimal(i) / 4 for i in range(n)], dtype=pl.Decimal(10, 2)),
        "short": pl.Series(range(n), dtype=pl.Int16),
        "single": pl.Series([i / 3 for i in range(n)], dtype=pl.Float32),
    }
    frame = pl.DataFrame({"x": list(range(n // 3)) * 3, **cells})
    plan |= {"columns": {"x": "quasi-identifier", **dict.fromkeys(cells, "confidential")}, "output": {"format": "csv"}}
    plan["accept"] = list(cells)
    plan["steps"][0]["k"] = plan["requirements"][0]["k"] = 3
    protect(frame, plan, tmp_path / "parts", workers=1)
    protect(frame, whole_plan(plan), tmp_path / "whole")
    ours, theirs = (
        pl.read_csv(tmp_path / name / "release" / "data.csv", infer_schema=False).sort("digits")
        for name in ("parts", "whole")
    )
    assert ours.select("digits", "day", "truth", "time").equals(theirs.select("digits", "day", "truth", "time"))
    for name in ("decimal", "short", "single"):
        np.testing.assert_allclose(ours[name].cast(float), theirs[name].cast(float), rtol=1e-6)


@pytest.mark.parametrize("texts", [["1.50", "2"], ["+1", "2"], [" 1", "2"]])
def test_text_that_a_csv_file_gives_back_as_other_text_is_refused(tmp_path, plan, texts):
    plan |= {"columns": {"x": "quasi-identifier", "text": "confidential"}, "accept": [], "output": {"format": "csv"}}
    frame = pl.DataFrame({"x": list(range(40)) * 3, "text": texts * 60})
    with pytest.raises(FileError, match="does not keep 1 column as released: 'text'"):
        protect(frame, plan, tmp_path / "out", workers=1)


@pytest.mark.usefixtures("small_blocks")
def test_averages_are_rounded_as_in_memory(folder_of, tmp_path):
    rng = np.random.default_rng(11)
    frame = pl.DataFrame(
        {
            "pay": np.round(rng.lognormal(7, 1, 380), 2),
            "age": rng.integers(18, 90, 380),
            "score": rng.standard_normal(380),
        }
    )
    plan = {
        "columns": {
            "pay": "quasi-identifier",
            "age": {"role": "quasi-identifier", "decimals": 0},
            "score": {"role": "quasi-identifier", "decimals": 3},
        },
        "steps": [{"partition": "mdav", "k": 4, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 4}],
        "output": {"format": "parquet"},
    }
    protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED).table.frame.to_native()
    ours = released(tmp_path / "out")
    assert ours.schema == whole.schema
    assert ours.sort(ours.columns).equals(whole.sort(whole.columns))


def test_no_more_processes_than_blocks_that_fit_into_memory():
    assert workers_for(512 << 20, 8) == 1
    assert workers_for(4 << 30, 8) == 5
    assert workers_for(64 << 30, 2) == 2


@pytest.mark.parametrize(("level", "ending"), crossed(["continuous", "ordinal", "nominal"], ["csv", "parquet"]))
def test_decimals_of_a_dropped_record_do_not_show_in_the_type_of_a_column(tmp_path, ending, level):
    """Text has no types: one dropped 3.5 must not make the others 4.0, the codebook say Float64, a page differ."""
    folders = []
    for number, table in enumerate(dropped_decimal.TABLES):
        table.write_csv(tmp_path / f"{number}.csv")
        asked = dropped_decimal.plan(ending, level)
        protect(tmp_path / f"{number}.csv", asked, tmp_path / str(number), seed=SEED, workers=1)
        public = tmp_path / str(number) / "release"
        folders.append({p.relative_to(public): p.read_bytes() for p in public.rglob("*") if p.is_file()})
    assert folders[0] == folders[1]


def test_decimals_in_one_part_keep_a_column_of_floats(small_blocks, tmp_path, plan, table):
    """What is whole in all blocks but one has the type of that one in all of them."""
    frame = table(900).with_columns(note=pl.Series([0.5, *[2.0] * 899]))
    frame.write_csv(tmp_path / "t.csv")
    protect(tmp_path / "t.csv", plan, tmp_path / "out", seed=SEED, workers=1)
    parts = [pl.read_parquet_schema(path) for path in (tmp_path / "out" / "release" / "data").iterdir()]
    assert len(parts) > 1 and {part["note"] for part in parts} == {pl.Float64}


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_risk_of_classes_says_how_missing_cells_were_read(folder_of, tmp_path, lacking):
    frame = pl.DataFrame(
        {"sex": ["f", "m"] * 300 + [None if lacking else "m"] * 2, "pay": [1.0, 2.0, 3.0] * 200 + [4.0] * 2}
    )
    plan = {
        "columns": {"sex": {"role": "quasi-identifier", "missing": "keep"}, "pay": "confidential"},
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "measures": [{"risk": "prosecutor"}],
        "output": {"format": "parquet"},
    }
    release = protect(folder_of(frame), plan, tmp_path / "out", seed=1, workers=1)
    (risk,) = (finding for finding in release.evidence.findings if finding.measure == "prosecutor")
    assert ("missing cell is taken" in risk.sentence) == bool(lacking)
