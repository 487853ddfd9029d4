"""Nothing leaves with a release but its cells, and cells that count as equal are written alike."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, Refused

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
    release = protect(of_kind(kind), {"a": "quasi-identifier", "ill": "quasi-identifier"}, output={"format": ending},
                      steps=[{"mask": "suppress-records", "k": 4, "limit": 0.1}])
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
    out = protect(frame, columns).write(tmp_path / "out")
    assert b"nan" not in (out / "release" / "data.csv").read_bytes().lower()


def test_no_number_counts_as_missing() -> None:
    column = {"role": "quasi-identifier", "missing": "keep"}
    with pytest.raises(Refused):
        protect(pl.DataFrame({"a": [-5e-324, None, None, None]}), {"a": column})


FINE = pl.Series([10**18 + i for i in range(4)])


@pytest.mark.parametrize(("cells", "rule"), [
    (pl.Series([Decimal("1") + i * Decimal("1e-18") for i in range(4)]), "more digits"),
    (FINE.cast(pl.Datetime("ns")), "finer than a microsecond"),
    (FINE.cast(pl.Datetime("ns", "UTC")), "finer than a microsecond"),
    (FINE.cast(pl.Duration("ns")), "finer than a microsecond"),
    (pl.Series([10**12 + i for i in range(4)]).cast(pl.Time), "finer than a microsecond"),
    (pl.Series([250 * 10**15 + i for i in range(4)]).cast(pl.Datetime("us")), "285 years"),
], ids=["decimal", "datetime", "zone", "duration", "time", "far"])
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
