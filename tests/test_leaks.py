"""Nothing leaves with a release but its cells, and cells that count as equal are written alike."""

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ruamel.yaml import YAML

import shoal
from shoal.plan.draft import plan_text
from shoal.table.files.atomic import atomic_directory
from shoal.table.files.checksums import unchanging
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table
from shoal.vocabulary.errors import DataError, FileError, Refused

K4 = [{"privacy": "k-anonymity", "k": 4}]
RARE = "a rare disease"
ILL = [*["cold", "flu"] * 10, RARE]


def protect(frame: Any, columns: dict[str, Any], **sections: Any) -> shoal.Release:
    return shoal.protect(frame, {"columns": columns, "requirements": K4, **sections}, seed=1)


def of_kind(kind: str) -> Any:
    frame = pl.DataFrame({"a": [1] * len(ILL), "ill": ILL})
    match kind:
        case "enum":
            return frame.with_columns(pl.col("ill").cast(pl.Enum(["flu", RARE, "cold"])))
        case "categorical":
            return frame.with_columns(pl.col("ill").cast(pl.Categorical))
        case "pandas":
            return frame.to_pandas().astype({"ill": "category"})
        case _:
            return pa.table({"a": [1] * len(ILL), "ill": pa.array(ILL).dictionary_encode()})


@pytest.mark.parametrize("kind", ["enum", "categorical", "pandas", "pyarrow"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_category_of_which_no_cell_is_left_is_nowhere_in_the_release(kind: str, ending: str, tmp_path: Path) -> None:
    release = protect(
        of_kind(kind),
        {"a": "quasi-identifier", "ill": "quasi-identifier"},
        output={"format": ending},
        steps=[{"mask": "suppress-records", "k": 4, "limit": 0.1}],
    )
    assert len(release.data) == 20
    for path in (release.write(tmp_path / "out") / "release").iterdir():
        assert RARE.encode() not in path.read_bytes(), path.name
    if kind == "pandas":
        assert RARE not in release.data["ill"].cat.categories
    elif kind == "pyarrow":
        assert RARE not in release.data["ill"].combine_chunks().dictionary.to_pylist()
    elif kind == "enum":
        assert RARE not in release.data["ill"].dtype.categories


def test_an_index_is_not_released() -> None:
    frame = pd.DataFrame({"a": [1] * 4}, index=pd.Index(["ann", "bob", "cat", "dan"], name="who"))
    frame.attrs["source"] = "ward 7"
    data = protect(frame, {"a": "quasi-identifier"}).data
    assert data.index.tolist() == [0, 1, 2, 3]
    assert data.index.name is None
    assert data.attrs == {}
    assert frame.index.tolist() == ["ann", "bob", "cat", "dan"]


def test_metadata_of_an_arrow_table_are_not_released() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"of": "ward 7"})], metadata={"source": "ward 7"})
    data = protect(pa.table({"a": [1] * 4}, schema=schema), {"a": "quasi-identifier"}).data
    assert data.schema.metadata is None
    assert data.schema.field("a").metadata is None


@pytest.mark.parametrize("level", ["continuous", "nominal"])
def test_there_is_one_way_to_be_missing(level: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [float("nan"), None, float("nan"), None, 1.0, 1.0, 1.0, 1.0], "b": range(8)})
    columns = {"a": {"role": "quasi-identifier", "level": level, "missing": "keep"}, "b": "other"}
    out = protect(frame, columns, accept=["b"]).write(tmp_path / "out")
    assert b"nan" not in (out / "release" / "data.csv").read_bytes().lower()


@pytest.mark.parametrize("values", [[-5e-324, None, None, None], [-5e-324, None, None, 1.0]])
def test_no_number_counts_as_missing(values: list[float | None]) -> None:
    """The bits of -5e-324 were those that stood for missing."""
    column = {"role": "quasi-identifier", "missing": "keep"}
    with pytest.raises((Refused, DataError)):
        protect(pl.DataFrame({"a": values * 4}), {"a": column}, requirements=[{"privacy": "k-anonymity", "k": 12}])


FINE = pl.Series([10**18 + i for i in range(4)])


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (pl.Series([Decimal("1") + i * Decimal("1e-18") for i in range(4)]), "more digits"),
        (FINE.cast(pl.Datetime("ns")), "finer than a microsecond"),
        (FINE.cast(pl.Datetime("ns", "UTC")), "finer than a microsecond"),
        (FINE.cast(pl.Duration("ns")), "finer than a microsecond"),
        (pl.Series([10**12 + i for i in range(4)]).cast(pl.Time), "finer than a microsecond"),
        (pl.Series([250 * 10**15 + i for i in range(4)]).cast(pl.Datetime("us")), "285 years"),
    ],
    ids=["decimal", "datetime", "zone", "duration", "time", "far"],
)
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_cells_that_differ_beyond_what_is_compared_are_refused(cells: pl.Series, rule: str, kind: str) -> None:
    """Every one of these four records has a cell of its own; in float64 or microseconds they are all equal."""
    frame = pl.DataFrame({"a": cells})
    assert frame["a"].n_unique() == 4
    if kind == "pandas" and cells.dtype in (pl.Decimal, pl.Time):
        pytest.skip("pandas has no column of these")
    given = {"polars": pl.DataFrame, "pandas": pl.DataFrame.to_pandas, "pyarrow": pl.DataFrame.to_arrow}[kind](frame)
    with pytest.raises(DataError, match=rule):
        protect(given, {"a": "quasi-identifier"})


def test_decimals_that_a_number_holds_and_times_of_a_day_pass(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [Decimal("0.10")] * 4, "b": [dt.time(1, 2)] * 4, "c": [dt.timedelta(hours=1)] * 4})
    release = protect(frame, dict.fromkeys("abc", "quasi-identifier"), output={"format": "parquet"})
    back = pl.read_parquet(release.write(tmp_path / "out") / "release" / "data.parquet")
    assert back["b"].to_list() == [dt.time(1, 2)] * 4
    assert back["c"].to_list() == [dt.timedelta(hours=1)] * 4


def test_few_records_are_not_told_by_their_share_either(tmp_path: Path) -> None:
    columns = {"a": "quasi-identifier", "ill": "quasi-identifier"}
    release = protect(of_kind("polars"), columns, steps=[{"mask": "suppress-records", "k": 4, "limit": 0.1}])
    out = release.write(tmp_path / "out")
    assert "<dt>records dropped</dt><dd>1</dd>" in (out / "private" / "report.html").read_text()
    for name in ("report.html", "evidence.json"):
        assert not re.search(r"records dropped\W+1\b", (out / "release" / name).read_text())


def test_quantiles_in_thin_tails_are_not_told_by_column(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0 * i for i in range(60)], "b": [2.0**i for i in range(60)]})
    release = protect(frame, {"a": "quasi-identifier", "b": "confidential"}, steps=[{"partition": "mdav", "k": 5}])
    shown = next(f for f in release.evidence.findings if f.measure == "quantiles").by_column
    # 59 * 0.05 = 2.95: between the third and the fourth smallest; 59 * 0.1 = 5.9: the sixth and the seventh
    assert list(shown.private()["a"]) == ["0.1", "0.25", "0.5", "0.75", "0.9"]
    out = release.write(tmp_path / "out")
    public, private = (json.loads((out / f / "evidence.json").read_text())["measures"] for f in ("release", "private"))
    shown, exact = (next(m for m in of if m["measure"] == "sse")["value"] for of in (public, private))
    assert not isinstance(shown, float)  # a band, or nothing
    assert exact == next(f for f in release.evidence.findings if f.measure == "sse").value


def test_a_weight_released_as_it_was_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1] * 8, "w": [1.5 * i + 1 for i in range(8)], "region": ["n", "s"] * 4})
    release = protect(frame, {"a": "quasi-identifier", "w": "weight", "region": "stratum"}, accept=["w"])
    out = release.write(tmp_path / "out") / "release"
    assert json.loads((out / "evidence.json").read_text())["left as they came"] == ["a", "w", "region"]


EVIL = "<script>alert(1)</script>\x1b[2J\u202e"


def test_names_and_labels_run_nowhere(tmp_path: Path) -> None:
    frame = pl.DataFrame({EVIL: ["<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>'] * 10, "a": [1] * 20})
    columns = {EVIL: {"role": "quasi-identifier", "label": EVIL}, "a": "quasi-identifier"}
    out = protect(frame, columns, steps=[{"mask": "pram", "columns": [EVIL]}]).write(tmp_path / "out")
    for page in out.rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        assert "<img" not in text
        assert "<svg onload" not in text
        assert "default-src 'none'" in text


def test_a_terminal_obeys_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from shoal import cli

    (tmp_path / "in.csv").write_text(f"a,{EVIL}\n" + "1,2\n" * 4, encoding="utf-8")
    spelt = json.dumps(EVIL)
    for plan in (
        "columns: {a: quasi-identifier}\n",
        f"columns: {{a: quasi-identifier, {spelt}: quasi-identifier}}\n"
        f"requirements: [{{privacy: k-anonymity, k: 4, columns: [{spelt}]}}]\n",
    ):
        (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
        monkeypatch.setattr(
            "sys.argv",
            [
                "shoal",
                "protect",
                str(tmp_path / "in.csv"),
                "--plan",
                str(tmp_path / "plan.yaml"),
                "--out",
                str(tmp_path / "out"),
            ],
        )
        with pytest.raises(SystemExit):
            cli.main()
        shown = "".join(capsys.readouterr())
        assert "alert" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_a_guessed_plan_holds_what_the_names_say() -> None:
    names = ["a\nb: identifier", 'c"d', "e\\f", EVIL, "#g", "h: i"]
    frame = pl.DataFrame({name: [1, 2] for name in names})
    text = plan_text(Table(frame=frame), "x\nsteps: [{mask: nothing}]\n.csv")
    assert list(YAML().load(text)["columns"]) == names


def test_a_formula_in_a_categorical_column_is_guarded(tmp_path: Path) -> None:
    cells = pl.Series(["=1+1", "@x", "plain"] * 4)
    frame = pl.DataFrame({"a": [1] * 12, "b": cells.cast(pl.Categorical), "c": cells.cast(pl.Enum(cells.unique()))})
    release = protect(frame, {"a": "quasi-identifier", "b": "other", "c": "other"}, output={"guard_formulas": True})
    text = (release.write(tmp_path / "out") / "release" / "data.csv").read_text()
    assert ",=" not in text
    assert ",@" not in text
    assert ",'=1+1" in text
    with pytest.raises(DataError, match="would run the names '=a'"):
        protect(
            frame.rename({"b": "=a"}),
            {"a": "quasi-identifier", "=a": "other", "c": "other"},
            output={"guard_formulas": True},
        ).write(tmp_path / "other")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n1\n")
    assert unchanging(path, path.read_text)[0] == "a\n1\n"
    with pytest.raises(FileError, match="was changed while it was read"):
        unchanging(path, lambda: path.write_text("a\n2\n"))


def test_a_label_of_a_code_that_nobody_has_any_more_is_not_released(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    labels = {1: "one", 2: "two", 3: RARE}
    pyreadstat.write_sav(
        pd.DataFrame({"a": [1.0] * 4 + [2.0] * 4 + [3.0]}),
        str(tmp_path / "in.sav"),
        variable_value_labels={"a": labels},
    )
    table = read_table(tmp_path / "in.sav")
    release = protect(
        table.frame,
        {"a": {"role": "quasi-identifier", "level": "nominal"}},
        output={"format": "sav"},
        steps=[{"mask": "suppress-records", "k": 4, "limit": 0.5}],
    )
    out = release.write(tmp_path / "out", labels=table) / "release"
    assert read_table(out / "data.sav").value_labels == {"a": {1.0: "one", 2.0: "two"}}
    assert all(RARE.encode() not in path.read_bytes() for path in out.iterdir())


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_numbers_beyond_their_type_do_not_come_round(kind: str) -> None:
    """Noise takes 8-bit integers beyond 127; cast back, they would return as negative numbers."""
    frame = pl.DataFrame({"a": [1] * 40, "x": pl.Series([100 + i % 25 for i in range(40)], dtype=pl.Int8)})
    given = {"polars": pl.DataFrame, "pandas": pl.DataFrame.to_pandas, "pyarrow": pl.DataFrame.to_arrow}[kind](frame)
    release = protect(
        given,
        {"a": "quasi-identifier", "x": {"role": "confidential", "decimals": 0}},
        steps=[{"mask": "noise", "columns": ["x"], "variance": 50}],
    )
    cells = release.data["x"].to_pylist() if kind == "pyarrow" else release.data["x"].to_list()
    assert max(cells) > 127
    assert abs(np.mean(cells) - frame["x"].mean()) < 60


def test_an_exploration_is_for_its_owner_only(tmp_path: Path) -> None:
    from shoal.desk.frontier import explore
    from shoal.release.publish import publish_frontier

    frame = pl.DataFrame({"a": [float(i) for i in range(20)]})
    plan = {"columns": {"a": "quasi-identifier"}, "requirements": K4, "explore": {"method": ["mdav"], "k": [4, 5]}}
    folder = publish_frontier(explore(frame, plan, tmp_path / "new" / "exploration"), tmp_path / "new" / "exploration")
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "change",
    [lambda data: data.insert(0, "name", ["ann", "bob", "cat", "dan"]), lambda data: data.update({"b": [9, 8, 7, 6]})],
    ids=["a name put back", "cells"],
)
def test_a_table_that_was_changed_after_its_proof_is_not_written(change: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": ["ann", "bob", "cat", "dan"], "a": [1] * 4, "b": [1, 2, 3, 4]})
    release = protect(frame, {"name": "identifier", "a": "quasi-identifier", "b": "confidential"})
    change(release.data)
    with pytest.raises(DataError, match="changed after it was proved"):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_of_two_runs_into_one_directory_the_second_does_not_replace_the_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(FileError, match="by another run meanwhile"), atomic_directory(out) as one:
        (one / "second").touch()
        with atomic_directory(out) as other:
            (other / "first").touch()
    assert [path.name for path in out.iterdir()] == ["first"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
