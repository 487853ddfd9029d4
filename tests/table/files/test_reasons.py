"""Codes that say why a cell is missing: missing cells to every method, given back to the files that know them."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import shoal
from by_night import by_turns
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table

N = 40
PAY = [None if i % 10 == 0 else 97.0 if i % 10 == 1 else 98.0 if i % 10 == 2 else 100.0 + i for i in range(N)]
AGE = [97.0 if i % 8 == 0 else 20.0 + 10 * (i % 3) for i in range(N)]
LETTER = {97.0: "a", 98.0: "b"}
PLAN: dict[str, Any] = {
    "columns": {"pay": "other", "age": {"role": "quasi-identifier", "missing": "keep"}, "n": "other"},
    "accept": ["pay", "n"],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
}
LABELS = {97.0: "refused", 98.0: "does not know"}


def survey(folder: Path, ending: str) -> Table:
    path = folder / f"in.{ending}"
    frame = pd.DataFrame({"pay": PAY, "age": AGE, "n": np.arange(N, dtype=float)})
    if ending == "sav":
        ranges: dict[str, Any] = {"pay": [97, 98], "age": [{"lo": 97, "hi": 99}]}
        pyreadstat.write_sav(frame, str(path), missing_ranges=ranges, variable_value_labels={"pay": LABELS})
        return read_table(path)
    letters = {name: pd.Series([LETTER.get(x, x) for x in frame[name]], dtype=object) for name in ("pay", "age")}
    if ending == "dta":
        pyreadstat.write_dta(
            frame.assign(**letters),
            str(path),
            missing_user_values={"pay": ["a", "b"], "age": ["a"]},
            variable_value_labels={"pay": {LETTER[code]: label for code, label in LABELS.items()}},
        )
        return read_table(path)
    pyreadstat.write_xport(frame.replace([97.0, 98.0], np.nan), str(path))
    raw = bytearray(path.read_bytes())
    start = raw.index(b"HEADER RECORD*******OBS") + 80
    for row, (pay, age) in enumerate(zip(PAY, AGE)):
        for at, cell in ((start + 24 * row, pay), (start + 24 * row + 8, age)):
            if cell in LETTER:
                raw[at : at + 8] = LETTER[cell].upper().encode() + bytes(7)
    path.write_bytes(raw)
    return read_table(path)


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_to_every_method_they_are_missing(ending: str, tmp_path: Path) -> None:
    table = survey(tmp_path, ending)
    assert table.frame["pay"].null_count() == sum(pay in (None, 97, 98) for pay in PAY)
    assert table.frame["pay"].drop_nulls().to_list() == [pay for pay in PAY if pay not in (None, 97, 98)]
    assert table.reasons["pay"].null_count() == N - sum(pay in (97, 98) for pay in PAY)


@pytest.mark.parametrize(("ending", "out"), by_turns(product(["sav", "dta", "xpt"], repeat=2), 0, 2))
def test_they_come_back_where_the_format_has_them(ending: str, out: str, tmp_path: Path) -> None:
    """Record by record, in whatever order; those of a quasi-identifier are one missing cell, as was proved."""
    table = survey(tmp_path, ending)
    plan = {**PLAN, "output": {"format": out}}
    release = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table)
    path = release / "release" / f"data.{out}"
    back = read_table(path)
    assert "age" not in back.reasons
    assert back.frame["age"].null_count() == sum(age == 97 for age in AGE)
    known = ending == out or out != "sav"  # of letters SPSS knows nothing
    assert ("pay" in back.reasons) == known
    if not known:
        return
    came = back.reasons["pay"].gather(back.frame["n"].arg_sort()).to_list()
    codes = {"sav": {97.0: "97", 98.0: "98"}, "dta": LETTER, "xpt": {97.0: "A", 98.0: "B"}}[out]
    assert came == [codes.get(pay) for pay in PAY]
    if ending != "xpt" and out != "xpt":
        written = {97: "refused", 98: "does not know"} if out == "sav" else {"a": "refused", "b": "does not know"}
        assert back.value_labels["pay"] == written
    assert shoal.audit(path, plan).holds


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_as_the_library_reads_them(ending: str, tmp_path: Path) -> None:
    """Without any reader of ours: SPSS and Stata take the codes for missing."""
    table = survey(tmp_path, ending)
    plan = {**PLAN, "output": {"format": ending, "shuffle": False}}
    release = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table)
    path = str(release / "release" / f"data.{ending}")
    read = getattr(pyreadstat, f"read_{ending}")
    data, _ = read(path, output_format="dict", user_missing=True)
    expected = PAY if ending == "sav" else [LETTER.get(pay, pay) for pay in PAY]
    assert [None if x != x else x for x in data["pay"]] == expected
    plain, _ = read(path, output_format="dict")
    assert [x is None or x != x for x in plain["pay"]] == [pay in (None, 97.0, 98.0) for pay in PAY]


@pytest.mark.parametrize(
    "mask", [{"mask": "noise", "variance": 0.1}, {"mask": "shuffle"}, {"mask": "rank-swap", "p": 0.5}]
)
def test_a_column_that_was_changed_in_known_cells_only_says_why_the_others_are_missing(
    mask: dict[str, Any], tmp_path: Path
) -> None:
    table = survey(tmp_path, "sav")
    confidential = {**PLAN["columns"], "pay": {"role": "confidential", "missing": "keep"}}
    plan = {**PLAN, "columns": confidential, "steps": [{**mask, "columns": ["pay"]}], "output": {"format": "sav"}}
    release = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table)
    back = read_table(release / "release" / "data.sav")
    came = back.reasons["pay"].gather(back.frame["n"].arg_sort()).to_list()
    assert came == [{97.0: "97", 98.0: "98"}.get(pay) for pay in PAY]
    assert back.frame["pay"].null_count() == sum(pay in (None, 97.0, 98.0) for pay in PAY)


def test_a_column_that_a_step_changed_says_no_more_why_it_is_missing(tmp_path: Path) -> None:
    table = survey(tmp_path, "sav")
    plan = {**PLAN, "steps": [{"mask": "permute", "columns": ["pay"]}], "output": {"format": "sav"}}
    release = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table)
    assert "pay" not in read_table(release / "release" / "data.sav").reasons
