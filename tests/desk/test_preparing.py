"""A table prepared for work, held to a plain filter in Python."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from shoal.desk.column_types import TYPES
from shoal.desk.preparing import in_words, prepared, prepared_tables
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError

ROWS = [("a", 12, "f"), ("b", 30, "m"), ("c", None, "f"), ("d", 45, "f"), ("e", 17, None), ("f", 80, "m")]
TABLE = Table(frame=pl.DataFrame(ROWS, schema=["key", "age", "sex"], orient="row"))


def keys(*preparations: dict[str, object]) -> list[str]:
    return list(prepared(TABLE, preparations).frame["key"])


def test_records_that_meet_a_condition_are_kept() -> None:
    assert keys({"where": "age >= 18"}) == [k for k, age, _ in ROWS if age is not None and age >= 18]
    assert keys({"where": "age >= 18 and sex == 'f'"}) == ["d"]
    assert keys({"where": "sex in ('f')"}, {"where": "age < 18"}) == ["a"]


def test_cells_become_missing_by_a_rule_or_by_rows() -> None:
    frame = prepared(TABLE, [{"where": "age < 18", "columns": ["sex"]}]).frame
    assert list(frame["sex"]) == [None if age is not None and age < 18 else sex for _, age, sex in ROWS]
    assert frame["age"].equals(TABLE.frame["age"])
    frame = prepared(TABLE, [{"rows": [2, 6], "columns": ["age", "key"]}]).frame
    assert list(frame["age"]) == [12, None, None, 45, 17, None]
    assert list(frame["key"]) == ["a", None, "c", "d", "e", None]
    assert frame.schema == TABLE.frame.schema


def test_records_are_chosen_by_number_at_random_and_by_a_file(tmp_path: Path) -> None:
    assert keys({"rows": [1, 3]}) == ["a", "c"]
    some = keys({"sample": 3, "seed": 5})
    assert some == keys({"sample": 3, "seed": 5})
    assert len(some) == 3 and some == sorted(some)
    assert len({tuple(keys({"sample": 3, "seed": seed})) for seed in range(20)}) > 5
    pl.DataFrame({"key": ["f", "a", "z"]}).write_csv(tmp_path / "some.csv")
    assert keys({"file": str(tmp_path / "some.csv"), "key": "key"}) == ["a", "f"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"where": "age > 900"}, "No record would be left"),
        ({"where": "height > 1"}, "column 'height'|'height'"),
        ({"where": "age >"}, "expected a number"),
        ({"rows": [0]}, "numbers from 1 to 6"),
        ({"rows": []}, "numbers from 1 to 6"),
        ({"sample": 0}, "at least 1"),
        ({"sample": 2, "where": "age > 1"}, "exactly one"),
        ({"columns": ["age"]}, "exactly one"),
        ({"rows": [1], "columns": ["height"]}, "height"),
        ({"rows": [1], "columns": []}, "Name the columns"),
    ],
)
def test_what_cannot_be_prepared_is_refused_in_words(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"(?i){message}"):
        prepared(TABLE, [wrong])


def test_a_preparation_is_told_in_words() -> None:
    assert in_words({"where": "age < 18", "columns": ["sex"]}) == "'sex' set to missing in records where age < 18."
    assert in_words({"sample": 3}) == "Worked on: 3 records drawn at random."


@pytest.mark.parametrize(
    "wrong",
    [{"rows": 5}, {"sample": "3"}, {"sample": 2, "seed": "x"}, {"sample": 2, "seed": -1}, {"rows": [1], "columns": 5}],
)
def test_preparations_of_other_types_are_refused_in_a_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        in_words(wrong) and prepared(TABLE, [wrong])
    assert prepared(TABLE, [{"rows": [1], "columns": ["age", "age"]}]).frame["age"][0] is None


ODD = Table(
    frame=pl.DataFrame(
        {"a": ["1", " 2", "x", None], "b": [1, -9, 3, 98], "c": [1.0, 2.0, -9.0, 4.5], "d": ["01.02.2020", "-"] * 2}
    ),
    notes={"d": "may be dates", "": "of the file"},
)


def taken(**columns: dict[str, object]) -> pl.DataFrame:
    return prepared(ODD, [{"taken as": columns}]).frame


def test_columns_are_taken_as_other_types_and_codes_as_missing() -> None:
    frame = taken(a={"type": "whole number", "missing": ["x"]}, b={"missing": ["-9", "98"]}, c={"missing": ["-9"]})
    assert frame["a"].to_list() == [1, 2, None, None]
    assert frame["b"].to_list() == [1, None, 3, None]
    assert frame["c"].to_list() == [1.0, 2.0, None, 4.5]
    assert taken(d={"type": "date", "missing": ["-"]})["d"].to_list() == [date(2020, 2, 1), None] * 2
    assert taken(b={"type": "text"})["b"].to_list() == ["1", "-9", "3", "98"]
    assert taken(b={"type": "number"}).equals(ODD.frame)
    assert prepared(ODD, [{"taken as": {"d": {"type": "text"}}}]).notes == {"": "of the file"}
    words = in_words({"taken as": {"a": {"type": "number", "missing": ["x"]}, "b": {"missing": ["-9", "98"]}}})
    assert words == "Read otherwise: 'a' as number, 1 code missing; 'b' as it was, 2 codes missing."


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"z": {"type": "text"}}, "'z'"),
        ({"a": {"type": "number"}}, "1 cell that cannot be taken as a number. Name their codes as missing"),
        ({"c": {"type": "whole number"}}, "1 cell that cannot"),
        ({"d": {"type": "date"}}, "2 cells that cannot"),
        ({"a": {"type": "word"}}, f"'word'.*{next(iter(TYPES))}"),
        ({"a": {"missing": "x"}}, "a list of texts"),
        ({"a": {"missing": [9]}}, "a list of texts"),
        ({"a": {"role": "x"}}, "Give nothing else"),
        ({"a": 5}, "Give nothing else"),
    ],
)
def test_cells_of_another_type_are_refused_without_being_shown(columns: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        in_words({"taken as": columns}) and prepared(ODD, [{"taken as": columns}])


def test_weights_of_a_sample_still_stand_for_the_population() -> None:
    frame = pl.DataFrame({"w": [2.0] * 6, "key": list("abcdef")})
    sample = prepared(Table(frame=frame), [{"sample": 4, "seed": 1, "weights": ["w"]}]).frame
    assert len(sample) == 4
    assert sample["w"].sum() == pytest.approx(12.0)
    assert "weights in 'w' made larger" in in_words({"sample": 4, "weights": ["w"]})
    for weights, message in ((["z"], "'z'"), (["key"], "Weights are numbers")):
        with pytest.raises(InputError, match=message):
            prepared(Table(frame=frame), [{"sample": 4, "weights": weights}])
    with pytest.raises(InputError, match="for a sample"):
        prepared(Table(frame=frame), [{"rows": [1], "weights": ["w"]}])


def test_true_is_no_row_and_a_condition_is_no_rule() -> None:
    for wrong in ({"rows": [True]}, {"sample": True}):
        with pytest.raises(InputError, match=r"numbers from 1 to 6|a whole number"):
            prepared(TABLE, [wrong])
    with pytest.raises(InputError, match=r"^The condition \('age >'\)"):
        prepared(TABLE, [{"where": "age >"}])


def test_linked_tables_are_prepared_each_by_its_name() -> None:
    tables = {"people": TABLE, "others": TABLE}
    asked: list[dict[str, object]] = [
        {"table": "others", "rows": [1]},
        {"table": "others", "taken as": {"age": {"type": "text"}}},
    ]
    after = prepared_tables(tables, asked)
    assert after["people"] is TABLE
    assert after["others"].frame.equals(prepared(TABLE, [{"rows": [1]}, {"taken as": {"age": {"type": "text"}}}]).frame)
    assert in_words(asked[1]) == "In 'others': Read otherwise: 'age' as text."
    for wrong in ("visits", ["people"], None):
        with pytest.raises(InputError, match="Unknown table"):
            prepared_tables(tables, [{"table": wrong, "rows": [1]}])
    with pytest.raises(InputError, match="Give exactly one"):
        prepared(TABLE, [{"table": "people", "rows": [1]}])
