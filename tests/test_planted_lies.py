"""Files that lie to an audit: every one of them must be refuted or refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.table.files.tables import read_table
from shoal.vocabulary.errors import DataError, FileError

PLAN = {"columns": {"a": "quasi-identifier", "b": "other"}, "requirements": [{"privacy": "k-anonymity", "k": 4}]}
SAME = "1,1\n" * 4


@pytest.mark.parametrize(
    "cells",
    [
        ("34", "34.0", "34.00", "3.4e1"),
        ("0", "-0", "+0", "0"),
        ("0.1", ".1", "0.10000000000000001", "0.1"),
        ("", "NA", "NaN", "."),
        ("7", "7", "7", "7.0"),
    ],
    ids=["digits", "signs", "tails", "missing", "point"],
)
def test_cells_that_are_written_differently_are_different(cells: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text(f"a,b\n{SAME}" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8")
    assert read_table(path).frame["a"].dtype.is_numeric()
    assert not shoal.audit(path, PLAN).holds
    path.write_text(f"a,b\n{SAME}" + f"{cells[1] or 'NA'},1\n" * 4, encoding="utf-8")
    assert shoal.audit(path, PLAN).holds


def test_the_spelling_of_a_confidential_value_is_no_diversity(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("a,b\n1,7\n1,7.0\n1,7.00\n1,+7\n", encoding="utf-8")
    plan = {
        "columns": {"a": "quasi-identifier", "b": {"role": "confidential", "level": "nominal"}},
        "requirements": [{"privacy": "l-diversity", "l": 2}],
    }
    assert not shoal.audit(path, plan).holds


def workbook(path: Path, *sheets: list[tuple[Any, ...]]) -> Path:
    book = pytest.importorskip("xlsxwriter").Workbook(str(path))
    for rows in sheets:
        sheet = book.add_worksheet()
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return path


def test_a_second_sheet_is_not_overlooked(tmp_path: Path) -> None:
    table = [("a", "b"), *[(1, 1)] * 4]
    assert shoal.audit(workbook(tmp_path / "one.xlsx", table), PLAN).holds
    with pytest.raises(FileError, match="2 sheets"):
        shoal.audit(workbook(tmp_path / "two.xlsx", table, [("name",), ("ann",)]), PLAN)


def test_text_far_down_a_sheet_is_not_lost(tmp_path: Path) -> None:
    path = workbook(tmp_path / "long.xlsx", [("a", "b"), *[(1, 1)] * 1500, *[(f"t{i}", 1) for i in range(4)]])
    with pytest.warns(UserWarning, match="4 of 1,504 cells are no numbers"):
        assert shoal.read(path)["a"].null_count() == 0
    assert not shoal.audit(path, PLAN).holds


def spss(path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 1, 1, 1, 97, 98, 99, 97], "b": 1.0})
    pytest.importorskip("pyreadstat").write_sav(frame, str(path), missing_ranges={"a": [97, 98, 99]})


def stata(path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Series([1, 1, 1, 1, "a", "b", "c", "a"], dtype=object), "b": 1.0})
    pytest.importorskip("pyreadstat").write_dta(frame, str(path), missing_user_values={"a": ["a", "b", "c"]})


@pytest.mark.parametrize(("write", "ending"), [(spss, "sav"), (stata, "dta")])
def test_reasons_for_missing_are_different_cells(write: Callable[[Path], None], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"theirs.{ending}"
    write(path)
    assert read_table(path).frame["a"].null_count() == 4
    assert not shoal.audit(path, PLAN).holds


def test_nothing_is_proved_on_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no records, so nothing can be proved"):
        shoal.audit(pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Int64, "b": pl.Int64}), PLAN)
    assert not shoal.audit(pl.DataFrame({"a": [1], "b": [2]}), {"columns": PLAN["columns"]}).holds


def people(n: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame({"a": rng.integers(20, 80, n), "b": rng.permutation(n) * 1.5})


def protected(folder: Path, **output: Any) -> Path:
    plan = {
        **PLAN,
        "columns": {"a": "quasi-identifier", "b": "confidential"},
        "output": output,
        "steps": [{"partition": "mdav", "k": 4}],
    }
    return shoal.protect(people(), plan, seed=1).write(folder)


def test_the_order_of_the_records_is_not_released(tmp_path: Path) -> None:
    """Sweeney (2002), unsorted matching: whoever knows the original's order finds people by it."""
    out = protected(tmp_path / "out")
    released = shoal.read(out / "release" / "data.csv")
    assert released["b"].to_list() != people()["b"].to_list()
    rows = pl.read_parquet(out / "private" / "partition.parquet")["row"].to_list()
    assert released["b"].to_list() == people()["b"].gather(rows).to_list()
    kept = shoal.read(protected(tmp_path / "kept", shuffle=False) / "release" / "data.csv")
    assert kept["b"].to_list() == people()["b"].to_list()


def test_risk_is_not_measured_between_records_of_different_people(tmp_path: Path) -> None:
    columns = {"a": "quasi-identifier", "b": "confidential"}
    plan = {**PLAN, "columns": columns, "measures": [{"risk": "distance-linkage"}]}
    out = protected(tmp_path / "out")
    path = out / "release" / "data.csv"
    with pytest.raises(DataError, match="random order"):
        shoal.audit(path, plan, original=people())
    paired = shoal.audit(path, plan, original=people(), private=out / "private")
    kept = protected(tmp_path / "kept", shuffle=False) / "release" / "data.csv"
    ordered = shoal.audit(kept, {**plan, "output": {"shuffle": False}}, original=people())
    figures = [
        {f.measure: f.value for f in e.findings if f.measure in ("distance-linkage", "sse")} for e in (paired, ordered)
    ]
    assert figures[0] == pytest.approx(figures[1])
    with pytest.raises(FileError, match="does not belong"):
        shoal.audit(people().head(12), plan, original=people(), private=out / "private")


def test_the_private_folder_lets_a_requirement_on_groups_be_audited(tmp_path: Path) -> None:
    asked = [{"privacy": "probabilistic-k-anonymity", "k": 4}]
    plan = {
        **PLAN,
        "accept": ["b"],
        "requirements": asked,
        "steps": [{"partition": "mdav", "k": 4, "replace": "permutation"}],
    }
    out = shoal.protect(people(), plan, seed=1).write(tmp_path / "out")
    path = out / "release" / "data.csv"
    assert not shoal.audit(path, plan).holds
    assert shoal.audit(path, plan, original=people(), private=out / "private").holds


def wide(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.normal(size=n)})


def permuted(k: int, *columns: str) -> dict[str, Any]:
    groups = {"partition": "mdav", "k": k} if k < 300 else {"partition": "whole"}
    return {**groups, "columns": list(columns), "replace": "permutation"}


HIDDEN = [
    ([permuted(20, "a", "b")], 20),
    ([permuted(2, "a"), permuted(300, "b")], 2),  # the last step's group of everybody hides nobody's a
    ([permuted(300, "b"), permuted(2, "a")], 2),
    ([permuted(20, "a", "b"), permuted(300, "a", "b")], 20),
    ([permuted(20, "a"), permuted(20, "b")], None),  # hidden from who knows both: who shares both groups
    ([permuted(20, "a", "b"), permuted(2, "c")], 20),  # c is not known to the attacker
    ([permuted(300, "a"), {"mask": "noise", "columns": ["b"], "variance": 0.5}], 1),  # noise hides nobody
    ([permuted(300, "a", "b"), {"mask": "noise", "columns": ["b"], "variance": 0.5}], 300),
]
"""Steps, and how many share all groups of the columns a and b that the attacker knows; None: far fewer than 20."""


@pytest.mark.parametrize(("steps", "smallest"), HIDDEN)
def test_the_groups_that_count_are_those_of_every_column_the_attacker_knows(
    steps: list[dict[str, Any]], smallest: int | None, tmp_path: Path
) -> None:
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"},
        "steps": steps,
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 1}],
    }
    release = shoal.protect(wide(), plan, seed=1)
    out = release.write(tmp_path / "out", unproved=True)
    audited = shoal.audit(out / "release" / "data.csv", plan, original=wide(), private=out / "private")
    proved = [evidence.verdicts[0].details["proved"]["smallest group"] for evidence in (release.evidence, audited)]
    assert proved[0] == proved[1]
    assert proved[0] == smallest if smallest else proved[0] <= 3


def test_a_constant_column_tells_nothing_whatever_made_it_constant() -> None:
    frame = wide().with_columns(b=pl.Series(["u", "v"] * 150))
    plan = {
        "columns": {"a": "quasi-identifier", "b": "quasi-identifier", "c": "confidential"},
        "steps": [permuted(20, "a"), {"mask": "recode", "columns": ["b"], "groups": {"any": ["u", "v"]}}],
        "requirements": [{"privacy": "probabilistic-k-anonymity", "k": 20}],
    }
    assert shoal.protect(frame, plan, seed=1).evidence.verdicts[0].achieved == 20


def test_names_are_no_pseudonyms() -> None:
    frame = pl.DataFrame({"a": [1] * 4, "b": ["ann", "bob", "cat", "dan"]})
    plan = {**PLAN, "columns": {"a": "quasi-identifier", "b": "identifier"}}
    for step in ("pseudonymise", "remove-identifiers"):
        assert not shoal.audit(frame, {**plan, "steps": [{"mask": step}]}).holds
    coded = {**plan, "steps": [{"mask": "pseudonymise"}]}
    assert shoal.audit(shoal.protect(frame, coded, seed=1).data, coded).holds


def test_only_a_release_is_overwritten(tmp_path: Path) -> None:
    thesis = tmp_path / "home" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    release = shoal.protect(people(), {**PLAN, "columns": {"a": "other", "b": "other"}, "requirements": []}, seed=1)
    with pytest.raises(FileError, match="holds something that is not a release"):
        release.write(thesis.parent, overwrite=True, unproved=True)
    assert thesis.read_text() == "years of work"
    release.write(release.write(tmp_path / "out", unproved=True), overwrite=True, unproved=True)


def test_a_constraint_alone_promises_no_protection(tmp_path: Path) -> None:
    plan = {"columns": {"a": "other", "b": "other"}, "constraints": ["a >= 0"]}
    out = shoal.protect(people(), plan, seed=1).write(tmp_path / "out", unproved=True)
    text = (out / "release" / "report.html").read_text()
    assert "Nothing was promised" in text and "Every promise was proved" not in text
    assert "Unproved: nothing protects this table." in text and "✓ kept" not in text
