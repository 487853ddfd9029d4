"""Labelled codes of SPSS and Stata stay codes with their labels, through every method and into either format."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table
from shoal.table.files.value_labels import Coding, codings, in_codes, in_words
from shoal.vocabulary.errors import ParameterError

N = 120
RNG = np.random.default_rng(1)
FRAME = pl.DataFrame(
    {
        "urban": RNG.integers(1, 3, N),
        "region": RNG.integers(1, 8, N),
        "share": RNG.choice([0.5, 1.5], N),
        "gap": [None if i % 5 == 0 else i % 4 for i in range(N)],
        "word": RNG.choice(["a", "b"], N),
        "pay": np.round(RNG.lognormal(7, 1, N), 2),
        "age": RNG.permutation(np.arange(N) % 60 + 20),
    }
)
LABELS: dict[str, dict[Any, str]] = {
    "urban": {1: "urban", 2: "rural"},
    "region": {code: f"region {code}" for code in range(1, 8)},
    "gap": {0: "none", 1: "one", 2: "two", 3: "three"},
}
STEPS: dict[str, list[dict[str, Any]]] = {
    "suppress": [{"mask": "suppress", "k": 5}],
    "pram": [{"mask": "pram", "columns": ["urban", "region"]}],
    "mdav": [{"partition": "mdav", "k": 5}],
    "top-code": [{"mask": "top-code", "columns": ["pay"], "k": 5}],
}
COLUMNS: dict[str, Any] = {
    "urban": {"role": "quasi-identifier", "level": "nominal"},
    "region": {"role": "quasi-identifier", "level": "nominal"},
    "share": "other",
    "gap": "other",
    "word": "other",
    "pay": "confidential",
    "age": "other",
}

OTHER = {"SPSS": "dta", "Stata": "sav"}
"""For a file as it was read, the ending of the other kind."""


@pytest.fixture(params=["sav", "dta"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    path = tmp_path / f"in.{request.param}"
    write_table(Table(frame=FRAME, labels={"pay": "monthly pay"}, value_labels=LABELS), path)
    return read_table(path)


@pytest.mark.parametrize(("method", "ending"), crossed(STEPS, ["sav", "dta"]))
def test_codes_and_labels_are_those_that_came_in(table: Table, ending: str, method: str, tmp_path: Path) -> None:
    plan = {"columns": COLUMNS, "steps": STEPS[method], "output": {"format": ending}}
    out = shoal.protect(table.frame, plan, seed=1).write(tmp_path / "out", labels=table, unproved=True)
    back = read_table(out / "release" / f"data.{ending}")
    assert back.labels["pay"] == "monthly pay"
    for name, labels in LABELS.items():
        present = set(back.frame[name].drop_nulls().to_list())
        assert back.frame[name].dtype == table.frame[name].dtype
        assert back.value_labels[name] == {code: label for code, label in labels.items() if code in present}


def test_codes_of_labels_are_of_the_type_of_their_column(table: Table) -> None:
    assert {name: {type(code) for code in codes} for name, codes in table.value_labels.items()} == {
        "urban": {int},
        "region": {int},
        "gap": {int},
    }


def test_labels_of_fractions_stay_in_spss_and_are_left_out_by_stata(tmp_path: Path) -> None:
    labelled = Table(frame=FRAME, value_labels={"share": {0.5: "half", 1.5: "more"}})
    write_table(labelled, tmp_path / "t.sav")
    assert read_table(tmp_path / "t.sav").value_labels == {"share": {0.5: "half", 1.5: "more"}}
    write_table(labelled, tmp_path / "t.dta")
    assert not read_table(tmp_path / "t.dta").value_labels


def test_labels_of_text_stay_in_spss_and_are_left_out_by_stata(tmp_path: Path) -> None:
    labelled = Table(frame=FRAME, value_labels={"word": {"a": "first", "b": "second"}})
    write_table(labelled, tmp_path / "t.sav")
    assert read_table(tmp_path / "t.sav").value_labels == {"word": {"a": "first", "b": "second"}}
    write_table(labelled, tmp_path / "t.dta")
    assert not read_table(tmp_path / "t.dta").value_labels


def released(table: Table, ending: str, out: Path, columns: dict[str, Any], **sections: Any) -> Table:
    plan = {"columns": {**COLUMNS, **columns}, "accept": list(COLUMNS), "output": {"format": ending}, **sections}
    folder = shoal.protect(table, plan, seed=1).write(out, labels=table, unproved=True)
    if "requirements" in plan:
        assert shoal.audit(folder / "release" / f"data.{ending}", plan).holds
    return read_table(folder / "release" / f"data.{ending}")


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_recoding_keeps_codes_and_labels_and_makes_new_ones(table: Table, ending: str, tmp_path: Path) -> None:
    """Regions 1 to 7, named by code or label: what is left keeps its code; new categories come from 10 on."""
    groups = {"coast": [1, 2], "alps": [6, "region 7"]}
    back = released(
        table, ending, tmp_path / "out", {}, steps=[{"mask": "recode", "columns": ["region"], "groups": groups}]
    )
    assert back.frame["region"].dtype == pl.Int64
    assert back.value_labels["region"] == {
        3: "region 3", 4: "region 4", 5: "region 5", 10: "alps", 11: "coast",
    }  # fmt: skip
    code = {1: 11, 2: 11, 6: 10, 7: 10}
    came = table.frame["region"].replace(code).value_counts().sort("region")
    assert back.frame["region"].value_counts().sort("region").equals(came)


def test_new_codes_of_an_ordinal_column_have_its_order(table: Table, tmp_path: Path) -> None:
    ending = OTHER[table.described]
    ordinal = {"region": {"role": "quasi-identifier", "level": "ordinal"}}
    step = {"mask": "recode", "columns": ["region"], "groups": {"low": [1, 2], "high": [6, 7]}}
    back = released(table, ending, tmp_path / "out", ordinal, steps=[step])
    assert back.value_labels["region"] == {
        10: "low", 11: "region 3", 12: "region 4", 13: "region 5", 14: "high",
    }  # fmt: skip
    step = {"mask": "recode", "columns": ["region"], "groups": {"high": [6, 7]}}
    back = released(table, ending, tmp_path / "top", ordinal, steps=[step])
    assert back.value_labels["region"] == {code: f"region {code}" for code in range(1, 6)} | {10: "high"}


@pytest.mark.parametrize("labels", ["nodes", "tight"])
def test_generalised_codes_are_judged_as_their_nodes(table: Table, labels: str, tmp_path: Path) -> None:
    ending = OTHER[table.described]
    tree = {"nested": {"coast": ["1", "2", "3"], "inland": ["4", "5", "6", "7"]}}
    column = {"region": {"role": "quasi-identifier", "level": "nominal", "hierarchy": tree}}
    step = {"mask": "generalise", "columns": ["region"], "k": 20, "recoding": "local", "labels": labels}
    rule = [{"privacy": "k-anonymity", "k": 20, "columns": ["region"]}]
    back = released(table, ending, tmp_path / "out", column, steps=[step], requirements=rule)
    assert back.frame["region"].dtype == pl.Int64
    new = {code: label for code, label in back.value_labels["region"].items() if code >= 10}
    assert new
    assert list(new) == list(range(10, 10 + len(new)))
    known = r"coast|inland|\*" if labels == "nodes" else r"\[\d, \d\]"
    assert all(re.fullmatch(known, label) for label in new.values())


RANGES: dict[str, tuple[Any, dict[str, Any], dict[int, str], int]] = {
    "cuts": ("quasi-identifier", {"mask": "recode", "cuts": [30, 60]}, {1: "< 30", 2: "[30, 60)", 3: ">= 60"}, 0),
    "hierarchy": (
        {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"intervals": [20, 40]}},
        {"mask": "generalise", "k": 10},
        {1: "[20, 40)", 2: "[40, 60)", 3: "[60, 80)"},
        0,
    ),
    "upper tail": ("confidential", {"mask": "top-code", "value": 70, "replace": "label"}, {100: "at least 70"}, 50),
    "lower tail": ("confidential", {"mask": "bottom-code", "value": 29, "replace": "label"}, {100: "at most 29"}, 50),
}
"""For each step: the column, the step, the labels that it leaves, and how many numbers stay as they are."""


@pytest.mark.parametrize("kind", RANGES)
def test_ranges_of_numbers_are_codes_with_labels(table: Table, kind: str, tmp_path: Path) -> None:
    """Numbers that are left keep their code; new codes come in the order of what they mean, beyond all of these."""
    ending = OTHER[table.described]
    column, step, labels, left = RANGES[kind]
    columns = {"age": column, "urban": "other", "region": "other"}
    proved = {} if left else {"requirements": [{"privacy": "k-anonymity", "k": 10}]}
    back = released(table, ending, tmp_path / "out", columns, steps=[{"columns": ["age"], **step}], **proved)
    assert back.frame["age"].dtype == pl.Int64
    assert back.value_labels["age"] == labels
    came, now = sorted(table.frame["age"]), set(back.frame["age"]) - set(labels)
    assert now == set(came) & now
    assert len(now) == left


def test_numbers_with_fractions_beside_a_range_stay_text(table: Table, tmp_path: Path) -> None:
    step = {"mask": "top-code", "columns": ["pay"], "k": 5, "replace": "label"}
    back = released(table, "sav", tmp_path / "out", {}, steps=[step])
    assert back.frame["pay"].dtype == pl.String
    assert "pay" not in back.value_labels


def test_codes_of_ranges_are_judged_as_ranges(tmp_path: Path) -> None:
    """Codes 1 to 3 of ages under 20, to 40 and beyond: a population knows ages, and no code."""
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(["15"] * 4 + ["30"] * 4 + ["50"] * 4))
    plan = {
        "columns": {"age": "quasi-identifier"},
        "requirements": [{"privacy": "k-map", "k": 4, "population": "people.csv"}],
    }
    labels = {1: "< 20", 2: "[20, 40)", 3: ">= 40"}
    frame = pl.DataFrame({"age": [1, 2, 3]})
    for ending in ("sav", "dta"):
        path = tmp_path / f"t.{ending}"
        write_table(Table(frame=frame, value_labels={"age": labels}), path)
        assert shoal.audit(path, plan, folder=tmp_path).holds
        write_table(Table(frame=frame, value_labels={"age": {**labels, 1: "young", 2: "[20, 40]"}}), path)
        assert not shoal.audit(path, plan, folder=tmp_path).holds
        write_table(Table(frame=frame, value_labels={"age": {**labels, 2: "< 20"}}), path)
        verdict = shoal.audit(path, plan, folder=tmp_path).verdicts[0]
        assert not verdict.holds  # one label of two codes says of neither what it is


def test_formats_without_labels_have_the_text(table: Table, tmp_path: Path) -> None:
    step = {"mask": "recode", "columns": ["region"], "groups": {"coast": [1, 2]}}
    back = released(table, "csv", tmp_path / "out", {}, steps=[step])
    assert set(back.frame["region"]) == {"coast", *"34567"}


def test_a_code_named_twice_is_told(table: Table) -> None:
    step = {"mask": "recode", "columns": ["region"], "groups": {"a": [1], "b": ["region 1"]}}
    with pytest.raises(
        ParameterError, match=r"column 'region' by its code and by its label, in two groups\. Name it on"
    ):
        shoal.protect(table, {"columns": COLUMNS, "steps": [step]}, seed=1)
    step["groups"] = {"a": ["region 1"]}
    with pytest.raises(ParameterError, match=r"has none of them\. Write them as they stand in the table\.$"):
        shoal.protect(table.frame, {"columns": COLUMNS, "steps": [step]}, seed=1)  # which knows no labels


def test_new_codes_come_after_all_that_are_known() -> None:
    declared = [97.0, {"lo": 900.0, "hi": 1.7e308}]
    coding = Coding.of(["a", "3", "b"], pl.Int64(), {1: "one", 3: "three"}, declared)
    assert coding.codes == {"3": 3, "a": 1000, "b": 1001}
    assert coding.labels == {3: "three", 1000: "a", 1001: "b"}
    assert Coding.of(["x", "y"], pl.Int64(), {}).codes == {"x": 1, "y": 2}
    halves = Coding.of(["0.5", "2.0", "2"], pl.Float64(), {2.0: "two"})
    assert halves.codes == {"2.0": 2, "0.5": 10, "2": 11}
    assert halves.labels == {2: "two", 10: "0.5", 11: "2"}


def test_copies_of_a_release_have_the_same_codes() -> None:
    """In the second copy no category was rare, so its column still is one of numbers."""
    came = Table(frame=pl.DataFrame({"x": [1, 2, 3, 4]}), value_labels={"x": {1: "one", 2: "two"}})
    first, second = pl.DataFrame({"x": ["1", "other", "other", "a"]}), pl.DataFrame({"x": [1, 2, 2, None]})
    coded = codings([first, second], came, {"x": None})
    assert coded["x"].codes == {"1": 1, "2": 2, "a": 10, "other": 11}
    assert codings([first, second], came, {}) == {} == codings([second], came, {"x": None})
    for frame, codes, labels in (
        (first, [1, 11, 11, 10], {1: "one", 10: "a", 11: "other"}),
        (second, [1, 2, 2, None], {1: "one", 2: "two"}),
    ):
        written = in_codes(Table(frame=frame), coded)
        assert (written.frame["x"].to_list(), written.value_labels["x"]) == (codes, labels)
        assert in_words(written, coded).frame["x"].to_list() == frame["x"].cast(pl.String).to_list()


def test_a_file_whose_labels_are_not_those_that_were_written_means_nothing() -> None:
    coding = Coding.of(["a", "b", "3"], pl.Int64(), {})
    codes = coding.written(pl.Series("x", ["a", "b", "3", None]))
    assert codes.to_list() == [10, 11, 3, None]
    assert coding.read(codes, {10: "a", 11: "b"}).to_list() == ["a", "b", "3", None]
    assert coding.read(codes, {10: "b", 11: "a", 3: "c"}).to_list() == [None] * 4


def test_codes_with_one_label_are_told_apart_in_an_audit(tmp_path: Path) -> None:
    """Codes 10 and 11 are both said to be the north: three records each in the file, six of one node of the tree."""
    town = {"role": "quasi-identifier", "hierarchy": {"nested": {"north": ["1", "2"], "south": ["3"]}}}
    plan = {"columns": {"town": town}, "requirements": [{"privacy": "k-anonymity", "k": 6}]}
    frame = pl.DataFrame({"town": [10] * 3 + [11] * 3 + [12] * 6})
    labels = {10: "north", 11: "north", 12: "south"}
    for ending in ("sav", "dta"):
        write_table(Table(frame=frame, value_labels={"town": labels}), tmp_path / f"t.{ending}")
        verdict = shoal.audit(tmp_path / f"t.{ending}", plan).verdicts[0]
        assert (verdict.holds, verdict.achieved) == (False, 3)
        alike = frame.with_columns(town=pl.col("town").replace(11, 10))
        write_table(Table(frame=alike, value_labels={"town": {10: "north", 12: "south"}}), tmp_path / f"t.{ending}")
        assert shoal.audit(tmp_path / f"t.{ending}", plan).holds


def test_a_code_whose_label_is_another_cell_is_told_apart_in_an_audit(tmp_path: Path) -> None:
    town = {"role": "quasi-identifier", "hierarchy": {"nested": {"north": ["1", "2"], "south": ["3"]}}}
    plan = {"columns": {"town": town}, "requirements": [{"privacy": "k-anonymity", "k": 6}]}
    frame = pl.DataFrame({"town": [3] * 3 + [10] * 3})
    write_table(Table(frame=frame, value_labels={"town": {10: "3"}}), tmp_path / "t.sav")
    verdict = shoal.audit(tmp_path / "t.sav", plan).verdicts[0]
    assert (verdict.holds, verdict.achieved) == (False, 3)
