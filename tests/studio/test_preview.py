"""What a step would do, against counts by hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.plan import Plan
from shoal.run.carry_out import after_steps
from shoal.studio import preview as module
from shoal.studio.preview import MOST_VALUES, preview
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


@pytest.mark.parametrize(
    "step",
    [
        {"mask": "recode", "columns": ["age"], "bins": 2},
        {"mask": "noise", "columns": ["pay"], "variance": 0.5},
        {"mask": "suppress-records", "k": 2, "limit": 0.9},
        {"mask": "suppress", "k": 3},
        {"mask": "data-swap", "share": 0.5, "columns": ["town"]},
        {"partition": "mdav", "k": 2, "columns": ["pay"]},
    ],
)
def test_changed_cells_are_those_of_a_count_one_by_one(step: dict[str, Any]) -> None:
    """Cells are compared as they are written, whatever types the columns have before and after."""
    frame = pl.concat([FRAME] * 4).with_columns(pay=pl.int_range(24) % 7, town=pl.col("town").cast(pl.Categorical))
    columns = {**COLUMNS, "age": "quasi-identifier", "pay": {"role": "confidential", "level": "continuous"}}
    plan = Plan.of({"columns": columns, "steps": [step]}, Path())
    done = after_steps(Table(frame=frame), plan, module.SEED, None)
    both = [done.original.rebuild(records) for records in (done.before, done.course.results[0].records)]
    rows = done.course.results[0].records.rows
    seen = preview(Table(frame=frame), plan, 0)
    assert seen["columns"]
    for column in seen["columns"]:
        before, after = (of.native[column["name"]].to_list() for of in both)
        assert column["changed"] == sum(str(cell) != str(before[row]) for row, cell in zip(rows, after, strict=True))
        assert column["distinct"] == [len(set(cells) - {None}) for cells in (before, after)]
        counts = [Counter(cell for cell in cells if cell is not None) for cells in (before, after)]
        if len({type(cell) for count in counts for cell in count}) > 1:  # numbers beside labels, or beside fractions
            counts = [Counter({str(cell): n for cell, n in count.items()}) for count in counts]
        order = sorted(counts[0] | counts[1], key=lambda cell: (-max(count[cell] for count in counts), cell))
        assert column["values"] == [[str(cell), *(count[cell] for count in counts)] for cell in order[:MOST_VALUES]]


def test_a_long_search_is_cut_short_where_the_plan_states_none() -> None:
    frame = pl.DataFrame({"town": "Arles", "age": range(600), "name": "x"})
    columns = {**COLUMNS, "age": "quasi-identifier"}
    start = {"method": "mdav", "k": 3}
    for more, short in (({}, True), ({"moves": 0}, False)):
        step = {"partition": "refined", "start": start, "columns": ["age"], **more}
        seen = preview(Table(frame=frame), Plan.of({"columns": columns, "steps": [step]}, Path()), 0)
        assert (seen["records"], seen["of"], seen["short"]) == (module.SEARCHED, 600, short)
        assert seen["columns"][0]["changed"] > 0
