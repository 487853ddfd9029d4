"""No file holds a name that none of its cells has."""

from pathlib import Path

import polars as pl
import pytest

from shoal.table.files.residue import refuse_residue
from shoal.table.files.table import Table
from shoal.table.files.tables import write_table
from shoal.vocabulary.errors import Refused

TOWNS = ["Alphatown", "Betaburg", "Secretville"]


def towns(kind: pl.DataType) -> pl.DataFrame:
    """Two towns of which records are left, and one of which none is."""
    return pl.DataFrame({"town": pl.Series(TOWNS * 4, dtype=kind), "n": range(12)}).filter(pl.col("town") != TOWNS[2])


def test_a_category_that_belongs_to_the_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="'town'") as caught:
        write_table(Table(frame=towns(pl.Enum(TOWNS))), tmp_path / "t.parquet")
    assert "Secretville" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_categories_of_a_pool_are_not_written(tmp_path: Path) -> None:
    write_table(Table(frame=towns(pl.Categorical())), tmp_path / "t.parquet")
    assert b"Secretville" not in (tmp_path / "t.parquet").read_bytes()


@pytest.mark.parametrize("length", [1, 60, 9_000])
def test_a_writer_that_stores_the_whole_pool_is_found_out(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """As polars 1.33 and 1.34 do; here the writer is handed a record more, whose name is left in the dictionary."""
    frame = towns(pl.Categorical())
    whole = pl.DataFrame({"town": pl.Series([*TOWNS[:2], "x" * length], dtype=pl.Categorical())})
    refuse_residue(frame, {}, "parquet")
    write = pl.DataFrame.write_parquet
    monkeypatch.setattr(pl.DataFrame, "write_parquet", lambda _, file, **how: write(whole, file, **how))
    with pytest.raises(Refused, match="'town'"):
        refuse_residue(frame, {}, "parquet")


@pytest.mark.parametrize(
    "cells", [[], [None], [None, "a"], ["", "a"], ["ä" * 300, "b"], [str(i) for i in range(5_000)]]
)
def test_no_column_is_refused_whose_names_are_all_in_use(cells: list[str | None]) -> None:
    refuse_residue(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Categorical())}), {}, "parquet")
    names = sorted({cell for cell in cells if cell is not None})
    refuse_residue(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Enum(names))}), {}, "parquet")


def test_a_name_that_another_column_has_is_no_residue() -> None:
    frame = towns(pl.Categorical()).with_columns(home=pl.Series(["Secretville"] * 8, dtype=pl.Categorical()))
    refuse_residue(frame, {}, "parquet")


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_label_of_a_code_that_nobody_has_is_refused(tmp_path: Path, ending: str) -> None:
    table = Table(frame=pl.DataFrame({"ill": [1, 2, 1]}), value_labels={"ill": {1: "no", 2: "yes", 3: "a rare one"}})
    with pytest.raises(Refused, match="'ill'"):
        write_table(table, tmp_path / f"t.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_formats_of_cells_alone_take_every_kind(tmp_path: Path) -> None:
    write_table(Table(frame=towns(pl.Enum(TOWNS))), tmp_path / "t.csv")
    assert "Secretville" not in (tmp_path / "t.csv").read_text()
