"""What a step would do, against counts by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.plan import Plan
from shoal.studio import preview as module
from shoal.studio.preview import preview
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError

FRAME = pl.DataFrame(
    {
        "town": ["Arles", "Arles", "Bonn", "Bonn", "Evora", None],
        "age": [30.0, 31.0, 30.0, 31.0, 52.0, 52.0],
        "name": list("abcdef"),
    }
)
COLUMNS = {
    "town": {"role": "quasi-identifier", "missing": "keep"},
    "age": {"role": "quasi-identifier", "level": "nominal"},
    "name": "identifier",
}


def of(steps: list[dict[str, Any]], step: int, frame: pl.DataFrame = FRAME) -> dict[str, Any]:
    return preview(Table(frame=frame), Plan.of({"columns": COLUMNS, "steps": steps}, Path()), step)


RECODE = {"mask": "recode", "columns": ["town"], "groups": {"south": ["Arles", "Evora"]}}


def test_a_recode_by_hand() -> None:
    seen = of([RECODE], 0)
    [town] = seen["columns"]
    assert town["values"] == [["south", 0, 3], ["Arles", 2, 0], ["Bonn", 2, 2], ["Evora", 1, 0]]
    assert (town["changed"], town["distinct"], town["missing"]) == (3, [3, 2], [1, 1])
    assert seen["below"]["2"] == [6, 6]
    assert (seen["records"], seen["of"], seen["left"]) == (6, 6, 6)


def test_a_step_is_seen_after_those_before_it() -> None:
    more = {"mask": "recode", "columns": ["town"], "groups": {"Europe": ["south", "Bonn"]}}
    [town] = of([RECODE, more], 1)["columns"]
    assert town["values"] == [["Europe", 0, 5], ["south", 3, 0], ["Bonn", 2, 0]]


def test_records_that_are_left_out_are_counted() -> None:
    frame = pl.concat([FRAME, FRAME.head(2)])
    seen = of([{"mask": "suppress-records", "k": 2, "limit": 0.9}], 0, frame)
    assert seen["left"] == 4
    assert [column["changed"] for column in seen["columns"]] == [0, 0]
    assert seen["below"]["2"] == [4, 0]


def test_records_made_anew_stand_for_nobody() -> None:
    frame = pl.concat([FRAME.drop_nulls()] * 8)
    assert of([{"partition": "whole", "replace": "cart", "columns": ["town", "age"]}], 0, frame)["below"] == {}


def test_a_large_table_is_counted_on_some_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RECORDS", 40)
    frame = pl.concat([FRAME] * 20)
    seen = of([RECODE], 0, frame)
    assert (seen["records"], seen["of"]) == (40, 120)


@pytest.mark.parametrize("step", [-1, 1])
def test_there_is_no_other_step(step: int) -> None:
    with pytest.raises(InputError, match=r"^The plan has no such step\.$"):
        of([RECODE], step)
