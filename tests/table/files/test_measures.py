"""What SPSS says of a table beside its cells: title, levels of measurement, and all codes that it takes for missing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.plan.draft import plan_text
from shoal.table.files.missing_codes import still_missing
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table

N = 60
MISSING: dict[str, Any] = {
    "age": [97, 98, 99],
    "income": [{"lo": 900, "hi": 1e308}, -1],
    "mood": [{"lo": 8, "hi": 9}],
    "region": ["NA", "DK"],
    "note": [{"lo": -1e308, "hi": -1}],
}
MEASURES = {"age": "scale", "income": "scale", "mood": "ordinal", "region": "nominal", "note": "nominal"}
ROLES: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "missing": "impute"},
    "income": {"role": "confidential", "missing": "keep"},
    "mood": {"role": "quasi-identifier", "level": "ordinal", "missing": "impute"},
    "region": {"role": "stratum", "missing": "category"},
    "note": "other",
}
TITLE = "Survey of 2024"


def survey(folder: Path) -> Table:
    i = np.arange(N)
    frame = pd.DataFrame(
        {
            "age": np.where(i % 15 == 0, 97.0, 20.0 + i % 7),
            "income": np.where(i % 10 == 0, -1.0, np.where(i % 10 == 1, 950.0, 100.0 + i)),
            "mood": np.where(i % 12 == 0, 8.0, 1.0 + i % 3),
            "region": np.where(i % 20 == 0, "NA", np.where(i % 2, "n", "s")),
            "note": np.where(i % 6 == 0, -3.0, 1.0 * (i % 5)),
        }
    )
    pyreadstat.write_sav(
        frame,
        str(folder / "in.sav"),
        file_label=TITLE,
        missing_ranges=MISSING,
        variable_measure=MEASURES,
        variable_value_labels={"mood": {1.0: "low", 2.0: "middle", 3.0: "high", 8.0: "refused"}},
    )
    return read_table(folder / "in.sav")


def released(table: Table, folder: Path, ending: str = "sav", **sections: Any) -> tuple[Path, dict[str, Any]]:
    plan = {"columns": ROLES, "output": {"format": ending}, **sections}
    out = shoal.protect(table.frame, plan, seed=1).write(folder / ending, labels=table, unproved=True)
    return out / "release" / f"data.{ending}", json.loads((out / "release" / "codebook.json").read_text())


def test_all_of_it_comes_back_whatever_the_role(tmp_path: Path) -> None:
    table = survey(tmp_path)
    path, book = released(table, tmp_path)
    _, meta = pyreadstat.read_sav(str(path))
    assert meta.file_label == TITLE
    assert meta.variable_measure == MEASURES
    back = read_table(path)
    assert back.missing_codes == table.missing_codes == MISSING
    assert set(back.reasons) == {"income", "note"}  # others were changed, or are compared by what is proved
    assert book["title"] == TITLE
    assert {c["name"]: c["measure"] for c in book["columns"]} == MEASURES
    assert {c["name"]: c["missing codes"] for c in book["columns"]} == MISSING
    assert {c["name"]: c["values"] for c in book["columns"]}["mood"] == {"1": "low", "2": "middle", "3": "high"}


@pytest.mark.parametrize("ending", ["dta", "xpt"])
def test_other_formats_have_the_title(tmp_path: Path, ending: str) -> None:
    path, _ = released(survey(tmp_path), tmp_path, ending)
    assert read_table(path).title == TITLE


def test_codes_that_a_step_made_real_values_are_declared_no_more(tmp_path: Path) -> None:
    """An average of 900 or more is a value; declared as missing, no reader would see it."""
    table = survey(tmp_path)
    frame = table.frame.with_columns(income=pl.col("income").replace(115, 950))
    assert "income" not in still_missing(frame, table.missing_codes)
    assert still_missing(table.frame, table.missing_codes) == MISSING
    assert still_missing(table.frame.cast({"age": pl.String}), {"age": [97]}) == {}
    columns = ROLES | {"income": {"role": "confidential", "missing": "impute"}}
    steps = [{"mask": "noise", "columns": ["income"], "variance": 1e9}]
    path, book = released(table, tmp_path, columns=columns, steps=steps)
    assert "income" not in read_table(path).missing_codes
    assert {c["name"]: c["missing codes"] for c in book["columns"]}["income"] is None


def test_numbers_in_ranges_are_ordinal_and_what_the_plan_says_is_written(tmp_path: Path) -> None:
    table = survey(tmp_path)
    steps = [{"mask": "recode", "columns": ["age"], "width": 5}]
    path, _ = released(table, tmp_path, steps=steps)
    assert read_table(path).measures == MEASURES | {"age": "ordinal"}
    plain = Table(frame=table.frame)
    path, _ = released(plain, tmp_path / "plain")
    assert read_table(path).measures["mood"] == "ordinal"


def test_a_guess_takes_ordinal_numbers_for_ordinal(tmp_path: Path) -> None:
    table = survey(tmp_path)
    text = plan_text(table, "in.sav")
    (tmp_path / "plan.yaml").write_text(text)
    levels = {name: column.level for name, column in shoal.Plan.read(tmp_path / "plan.yaml").schema.columns.items()}
    assert levels["mood"] == "ordinal"
    assert "ordinal in the file" in text
    assert levels["region"] == "nominal"
    assert shoal.protect(table.frame, tmp_path / "plan.yaml", seed=1).evidence.holds
