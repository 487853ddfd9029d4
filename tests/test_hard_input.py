"""Input that tries to slip through: what is written must be what was proved, or one clear sentence comes back."""

import csv
import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table import packed
from shoal.table.bins import MOST_CATEGORIES, distribution
from shoal.table.files.atomic import atomic_file
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError, FileError, InputError, ParameterError, PlanError, SchemaError

N = 60
AGE = np.random.default_rng(0).integers(20, 80, N)
STEPS = [{"partition": "mdav", "k": 5, "replace": "centroid"}]
K5 = [{"privacy": "k-anonymity", "k": 5}]


def table(x: Any, **more: Any) -> pl.DataFrame:
    return pl.DataFrame({"age": AGE, "x": x, **more})


def protect(frame: Any, columns: dict[str, Any], **sections: Any) -> shoal.Release:
    plan = {"columns": {"age": "quasi-identifier", **columns}, "steps": STEPS, "requirements": K5, **sections}
    return shoal.protect(frame, plan, seed=1)


def written(release: shoal.Release, folder: Path) -> list[dict[str, str]]:
    path = release.write(folder / "out") / "release" / "data.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_zeros_of_both_signs_are_one_value_as_written(tmp_path: Path) -> None:
    release = protect(table([0.0, -0.0] * 30), {"x": {"role": "quasi-identifier", "level": "nominal"}})
    rows = written(release, tmp_path)
    assert min(Counter((row["age"], row["x"]) for row in rows).values()) >= 5


def test_an_audit_tells_negative_zero_from_zero() -> None:
    plan = {
        "columns": {"x": {"role": "quasi-identifier", "level": "nominal"}},
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    assert shoal.audit(pl.DataFrame({"x": [0.0, 0.0, 0.0]}), plan).holds
    assert not shoal.audit(pl.DataFrame({"x": [0.0, 0.0, -0.0]}), plan).holds


def test_k_anonymity_on_no_column_is_no_requirement() -> None:
    with pytest.raises(PlanError, match="columns must be a list of at least one column"):
        protect(table([1.0] * N), {"x": "other"}, requirements=[{"privacy": "k-anonymity", "k": 50, "columns": []}])


def test_a_missing_household_joins_no_other() -> None:
    homes = [None, None, None, *(i // 2 for i in range(57))]
    release = protect(table(homes), {"x": {"role": "household", "missing": "keep"}}, steps=[], requirements=[])
    assert release.data["x"].null_count() == 3
    assert max(Counter(release.data["x"].drop_nulls().to_list()).values()) == 2


def test_households_of_which_none_is_known() -> None:
    homes = pl.Series([None] * N, dtype=pl.Int64)
    release = protect(table(homes), {"x": {"role": "household", "missing": "keep"}}, steps=[], requirements=[])
    assert release.data["x"].null_count() == N


def test_a_hierarchy_of_a_column_without_any_value() -> None:
    column = {"role": "quasi-identifier", "missing": "keep", "hierarchy": {"prefix": [1]}}
    with pytest.raises(SchemaError, match="Column 'x' has no value of which its hierarchy could be made"):
        protect(table(pl.Series([None] * N, dtype=pl.String)), {"x": column}, steps=[])


@pytest.mark.parametrize("weight", [-1.0, 0.0])
def test_a_weight_that_stands_for_nobody_is_refused(weight: float) -> None:
    with pytest.raises(DataError, match="'x' has 1 weight of zero or less"):
        protect(table([weight, *[1.0] * (N - 1)]), {"x": "weight"})


@pytest.mark.parametrize("mask", ["permute", "pram"])
def test_only_a_pseudonym_keeps_an_identifier_in_the_table(mask: str) -> None:
    names = [f"name {i}" for i in range(N)]
    release = protect(table(names), {"x": "identifier"}, steps=[*STEPS, {"mask": mask, "columns": ["x"]}])
    assert release.data.columns == ["age"]
    keyed = protect(table(names), {"x": "identifier"}, steps=[*STEPS, {"mask": "pseudonymise"}])
    assert "x" in keyed.data.columns
    assert not set(keyed.data["x"]) & set(names)


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series([{"a": i} for i in range(N)]),
        pl.Series([[i] for i in range(N)]),
        pl.Series([b"a"] * N),
        pl.Series([object()] * N, dtype=pl.Object),
    ],
    ids=["struct", "list", "binary", "object"],
)
@pytest.mark.parametrize("role", ["quasi-identifier", "other", "identifier"])
def test_cells_that_are_no_values_are_named_with_their_column(cells: pl.Series, role: str) -> None:
    with pytest.raises(DataError, match=r"Column 'x' holds .* cells"):
        protect(table(cells), {"x": role})


def test_a_frame_of_mixed_objects_is_refused_and_one_of_one_kind_taken() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"x": {"role": "quasi-identifier", "missing": "keep"}}
    with pytest.raises(DataError, match="several types"):
        protect(pandas.DataFrame({"age": AGE, "x": pandas.Series([1, True, "a"] * 20, dtype=object)}), columns)
    frame = pandas.DataFrame({"age": AGE, "x": pandas.Series([True, None, False] * 20, dtype=object)})
    protect(frame, {"x": {"role": "other"}})
    with pytest.raises(DataError, match="Column names must be text; 2 names"):
        protect(pandas.DataFrame({0: AGE, 1: AGE}), columns)


DAYS = pl.Series([dt.datetime(2000, 1, 1) + dt.timedelta(days=int(i)) for i in AGE])


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        DAYS.dt.replace_time_zone("Europe/Madrid"),
        DAYS.cast(pl.Datetime("ns")),
        pl.Series([dt.time(int(i) % 24) for i in AGE]),
        pl.Series(AGE.tolist(), dtype=pl.Int128),
        pl.Series(AGE / 7, dtype=pl.Float32),
    ],
    ids=["datetime", "zone", "nanoseconds", "time", "int128", "float32"],
)
@pytest.mark.parametrize("level", [None, "nominal"])
def test_every_kind_of_value_can_be_released_as_csv(cells: pl.Series, level: str | None, tmp_path: Path) -> None:
    rows = written(protect(table(cells), {"x": {"role": "quasi-identifier", "level": level}}), tmp_path)
    assert min(Counter(tuple(row.values()) for row in rows).values()) >= 5


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_time_zone_and_a_duration_survive_a_centroid(kind: str) -> None:
    frame = table(DAYS.dt.replace_time_zone("Europe/Madrid"), y=DAYS - DAYS.min())
    given = frame if kind == "polars" else pytest.importorskip("pandas") and frame.to_pandas()
    data = protect(given, {"x": "quasi-identifier", "y": "quasi-identifier"}).data
    assert data["x"].dtype == given["x"].dtype
    assert data["y"].dtype == given["y"].dtype
    back = data if kind == "polars" else pl.from_pandas(data)
    assert abs(back["x"].dt.epoch("s").mean() - frame["x"].dt.epoch("s").mean()) < 1
    assert abs(back["y"].dt.total_seconds().mean() - frame["y"].dt.total_seconds().mean()) < 1


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "rds"])
def test_truth_values_can_be_released_in_statistical_formats(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    release = protect(table([True, False] * 30), {"x": "other"}, output={"format": ending, "shuffle": False})
    path = release.write(tmp_path / "out") / "release" / f"data.{ending}"
    assert shoal.read(path)["x"].cast(pl.Boolean).to_list() == [True, False] * 30


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_a_name_that_a_format_cannot_hold_is_one_sentence(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    frame = table([1.0] * N).rename({"x": "a long name with spaces"})
    release = protect(frame, {"a long name with spaces": "other"}, output={"format": ending})
    with pytest.raises(FileError, match="takes short names"):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_spreadsheet_that_cannot_hold_a_time_zone_says_so(tmp_path: Path) -> None:
    release = protect(
        table(DAYS.dt.replace_time_zone("Europe/Berlin")), {"x": "other"}, accept=["x"], output={"format": "xlsx"}
    )
    with pytest.raises(FileError, match="xlsx cannot hold"):
        release.write(tmp_path / "out")


def test_no_hash_decides_the_order_of_bars() -> None:
    def letters(codes: list[int], role: str) -> Variable:
        return Variable(
            name="x",
            role="quasi-identifier",
            level="nominal",
            values=np.array(codes, dtype=np.int32),
            categories=tuple(f"{role}{i}" for i in range(8)),
        )

    both = distribution({"original": letters(list(range(8)) * 5, "a"), "released": letters(list(range(8)) * 5, "b")})
    assert both is not None
    shown = [f"a{i}" for i in range(8)] + [f"b{i}" for i in range(MOST_CATEGORIES - 8)]
    assert [one["category"] for one in both["bins"]] == shown


def test_a_format_that_cannot_hold_a_column_says_so(tmp_path: Path) -> None:
    release = protect(table(DAYS - DAYS.min()), {"x": "other"}, accept=["x"])
    with pytest.raises(InputError, match=r"csv cannot hold a column .* Choose parquet"):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("unit", "rule"),
    [
        (5e-324, "has no number as large as 1e-60, and smaller ones are too small"),
        (1e300, "has 59 numbers beyond 1e\\+75, too large"),
    ],
)
def test_numbers_whose_powers_leave_the_range_are_refused(unit: float, rule: str) -> None:
    with pytest.raises(InputError, match=f"^Column 'x' {rule} to compute with. Count in a"):
        protect(table([unit * i for i in range(N)]), {"x": "other"})
    protect(table([unit * i for i in range(N)]), {"x": {"role": "other", "level": "nominal"}}, accept=["x"])


@pytest.mark.parametrize("unit", [2e-60, 1e75])
@pytest.mark.parametrize("role", ["quasi-identifier", "confidential"])
def test_numbers_within_the_range_are_judged_without_a_warning(unit: float, role: str) -> None:
    spread = unit * np.linspace(-1, 1, N)
    close = unit * (1 - 1e-15 * (np.arange(N) % 5))
    for x in (spread, close):
        frame = pl.DataFrame({"x": x, "y": np.arange(N) % 7})
        release = shoal.protect(frame, {"columns": {"x": role, "y": "quasi-identifier"}, "steps": STEPS}, seed=1)
        assert all(f.value is None or np.isfinite(f.value) for f in release.evidence.findings)


def test_a_column_of_too_many_categories_is_named_before_memory_is_taken() -> None:
    n = 20_000
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(n)], "age": np.arange(n) % 50})
    columns = {"code": "quasi-identifier", "age": "quasi-identifier"}
    with pytest.raises(InputError, match=r"^Column 'code' has 20,000 categories, .*: 400,020,000 numbers .* Recode"):
        steps = [{"partition": "refined", "start": {"method": "mdav", "k": 5}, "replace": "centroid"}]
        shoal.protect(frame, {"columns": columns, "steps": steps}, seed=1)


def test_a_column_of_categories_whose_means_would_take_hours_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`mdav` takes no memory for them, but time."""
    monkeypatch.setattr(packed, "MOST_STEPS", 10_000)
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(200)], "age": np.arange(200) % 50})
    columns = {"code": "quasi-identifier", "age": "quasi-identifier"}
    with pytest.raises(InputError, match=r"^Column 'code' has 200 categories, .* 200 records: 40,200 steps, .* Recode"):
        shoal.protect(frame, {"columns": columns, "steps": STEPS}, seed=1)


def test_a_measure_that_would_need_too_many_coordinates_gives_no_figure() -> None:
    n = 20_000
    frame = pl.DataFrame({"code": [f"c{i}" for i in range(n)], "age": np.arange(n) % 50})
    columns = {"code": "quasi-identifier", "age": "quasi-identifier"}
    steps = [{"mask": "recode", "columns": ["code"], "rare": 2, "other": "any"}, *STEPS]
    evidence = shoal.protect(
        frame, {"columns": columns, "steps": steps, "measures": [{"risk": "distance-linkage"}]}, seed=1
    ).evidence
    linkage = next(f for f in evidence.findings if f.measure == "distance-linkage")
    assert linkage.value is None
    assert "Column 'code' has 20,000 categories" in linkage.reason


def test_a_hierarchy_object_can_be_run_again_from_the_record() -> None:
    hierarchy = shoal.Hierarchy.from_nested({"all": ["m", "f"]})
    columns = {"x": {"role": "quasi-identifier", "hierarchy": hierarchy}}
    release = protect(table(["m", "f"] * 30), columns)
    again = shoal.protect(table(["m", "f"] * 30), release.record["plan"], seed=release.record["seed"])
    assert again.data.equals(release.data)
    assert again.record["plan"] == release.record["plan"]


@pytest.mark.parametrize(
    ("hierarchy", "rule"),
    [
        ({"nested": 3}, "mappings, with lists"),
        ({"nested": {"all": ["m"]}}, "lacks 1 value of the data"),
        ({"intervals": [5]}, "for numbers"),
        ({"paths": 3}, "list of paths"),
    ],
)
def test_a_hierarchy_that_does_not_fit_is_named_with_its_column(hierarchy: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        protect(table(["m", "f"] * 30), {"x": {"role": "quasi-identifier", "hierarchy": hierarchy}})
    assert "Column 'x'" in str(caught.value)


@pytest.mark.parametrize("widths", ["a", [0], [-5, 10], ["a"]])
def test_widths_of_intervals_are_numbers_above_zero(widths: Any) -> None:
    column = {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"intervals": widths}}
    with pytest.raises(SchemaError, match="list of numbers above 0"):
        protect(table(AGE), {"x": column})


@pytest.mark.parametrize("output", ["csv", [1]])
def test_an_output_that_is_no_mapping_is_a_mistake_of_the_plan(output: Any) -> None:
    with pytest.raises(PlanError, match="output must be a mapping"):
        protect(table([1.0] * N), {"x": "other"}, output=output)


def test_decimals_beyond_what_a_number_holds_are_refused() -> None:
    with pytest.raises(PlanError, match="decimals must be less than or equal to 15"):
        protect(table([1.0] * N), {"x": {"role": "other", "decimals": 400}})


def test_a_table_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(DataError, match="No record is left"):
        protect(table([None] * N), {"x": {"role": "quasi-identifier", "missing": "drop"}})


@pytest.mark.parametrize("seed", [-1, 1.5])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ParameterError, match="seed must be an integer"):
        shoal.protect(table([1.0] * N), {"columns": {"age": "quasi-identifier", "x": "other"}}, seed=seed)


def test_a_file_without_header_does_not_show_its_first_record(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    for text in ("48,30040.71\n50,20000.5\n", "1,2\n3,4\n", "ann,30040.71\nbob,1.5\n", "5.5,5.5\n1,2\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FileError, match="Put a header row first") as caught:
            shoal.read(path)
        message = str(caught.value).replace(str(path), "")
        assert not any(cell in message for cell in ("30040", "48", "5.5", "ann"))


def test_lines_may_end_as_on_old_machines(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(b"a,b\r1,x\r2,y\r")
    assert shoal.read(path).to_dicts() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_a_name_with_a_line_break_stays_on_the_line_of_its_message() -> None:
    with pytest.raises(SchemaError, match="'a b'") as caught:
        protect(table([1.0] * N).rename({"x": "a\nb"}), {})
    assert len(str(caught.value).splitlines()) == 1


def test_a_delimiter_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(FileError, match="one plain character"):
        shoal.read(path, delimiter=";;")


def test_an_audit_refutes_a_table_that_still_names_people() -> None:
    frame = pl.DataFrame({"a": [1, 1, 1], "name": ["ann", "bob", "cat"]})
    plan = {
        "columns": {"a": "quasi-identifier", "name": "identifier"},
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    assert not shoal.audit(frame, plan).holds
    assert shoal.audit(frame.drop("name"), plan).holds


def test_a_link_to_a_release_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    release = protect(table([1.0] * N), {"x": "other"})
    real, link, dangling = tmp_path / "real", tmp_path / "link", tmp_path / "dangling"
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "new")
    release.write(real)
    release.write(link, overwrite=True)
    release.write(dangling)
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dangling", "link", "new", "real"]


def test_the_working_directory_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="the directory you are in"):
        protect(table([1.0] * N), {"x": "other"}).write(".")


def test_a_file_that_cannot_be_put_in_its_place_says_so(tmp_path: Path) -> None:
    for path, rule in ((tmp_path, "is a directory"), (tmp_path / "none" / "x.html", "cannot be written")):
        with pytest.raises(FileError, match=rule), atomic_file(path):
            pass
