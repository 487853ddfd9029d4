"""What screens show of a table, against counts by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.studio import profile
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError

TABLE = pl.DataFrame(
    {"age": [30, 30, 30, 41, 41, 52], "town": ["A", "A", "B", "B", "B", None], "income": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]}
)


def test_exposure_by_hand() -> None:
    """Classes of age and town: (30, A) 2, (30, B) 1, (41, B) 2, (52, missing) 1."""
    exposed = profile.KeyExposure(TABLE).of({"age": "nominal", "town": "nominal"})
    assert exposed["below"] == {"2": 2, "3": 6, "5": 6}
    assert exposed["expected"] == pytest.approx(4.0)
    assert exposed["columns"] == [{"name": "age", "fewer": 1, "alone": 1}, {"name": "town", "fewer": 1, "alone": 1}]


def test_nothing_known_exposes_nobody() -> None:
    assert profile.KeyExposure(TABLE).of({})["below"] == {}


def test_facts_of_a_column() -> None:
    facts = profile.facts(Table(frame=TABLE, labels={"town": "place of living"}), "people.csv")
    town = facts["columns"][1]
    assert (town["missing"], town["distinct"], town["label"]) == (1, 2, "place of living")
    assert {one["category"]: one["share"] for one in town["picture"]["bins"]} == {"A": 0.4, "B": 0.6}
    assert facts["rows"] == 6


def test_rows_are_paged_and_sorted_with_their_numbers() -> None:
    frame = pl.DataFrame({"x": list(range(120))})
    page = profile.rows(frame, profile.order_by(frame["x"], descending=True), 50)
    assert (page["rows"][0], page["numbers"][0], len(page["rows"])) == (["69"], 70, profile.PAGE)
    by_town = profile.order_by(TABLE["town"], descending=False)
    assert profile.rows(TABLE, by_town, 0)["rows"][-1] == ["52", None, "6.5"]
    assert profile.rows(TABLE, None, 0)["numbers"][:2] == [1, 2]


@pytest.mark.parametrize(
    ("column", "how", "sizes", "level"),
    [
        ("age", "intervals", [10], {"[30, 40)": 3, "[40, 50)": 2, "[50, 60)": 1}),
        ("code", "prefix", [1], {"1*": 2, "2*": 1}),
        ("size", "order", [2], {"large to medium": 2, "small": 1}),
        ("day", "dates", [], {"2025-01": 2, "2025-02": 1}),
    ],
)
def test_a_built_hierarchy_by_hand(column: str, how: str, sizes: list[float], level: dict[str, int]) -> None:
    days = pl.Series(["2025-01-03", "2025-01-04", "2025-02-01"]).str.to_date()
    frames = {
        "age": TABLE,
        "code": pl.DataFrame({"code": ["10", "11", "20"]}),
        "size": pl.DataFrame({"size": ["small", "medium", "large"]}),
        "day": pl.DataFrame({"day": days}),
    }
    frame = frames[column]
    shown = profile.levels(frame, column, profile.built(frame, column, how, sizes), Path())
    assert {one["label"]: one["records"] for one in shown["levels"][1]["labels"]} == level
    assert shown["lacking"] == 0


def test_values_that_a_hierarchy_lacks_are_counted() -> None:
    shown = profile.levels(TABLE, "town", {"nested": {"north": ["A"]}}, Path())
    assert (shown["lacking"], shown["values"]) == (1, 2)


def test_an_unknown_way_of_building_is_refused() -> None:
    with pytest.raises(InputError, match=r"^A hierarchy is built from intervals, prefix, order or dates\.$"):
        profile.built(TABLE, "age", "magic", [])


def test_an_order_never_merges_a_code_of_no_answer_with_its_neighbour() -> None:
    frame = pl.DataFrame({"grade": [1, 2, 3, 4, 8, 9]})
    labels = {"8": "Not applicable", "9": "Refused to answer", "4": "best"}
    paths = profile.built(frame, "grade", "order", [2, 4], labels)["paths"]
    assert {path[0]: path[1] for path in paths if path[0] in "89"} == {"8": "8", "9": "9"}
    together = [{p[0] for p in paths if p[1] == label} for label in {p[1] for p in paths}]
    assert sorted(map(sorted, together)) == [["1", "2"], ["3", "4"], ["8"], ["9"]]
    assert len({path[-1] for path in paths}) == 1


@pytest.mark.parametrize(
    "ask", [lambda f: profile.values_of(f, "nope"), lambda f: profile.levels(f, "nope", None, Path())]
)
def test_a_column_that_is_gone_is_said(ask) -> None:
    with pytest.raises(InputError, match="no such column"):
        ask(pl.DataFrame({"x": [1]}))


@pytest.mark.parametrize("descending", [False, True])
def test_rows_are_in_the_order_of_their_cells_missing_ones_last(descending: bool) -> None:
    """Against the sort of Python."""
    rng = np.random.default_rng(2)
    texts = [None if cell == "z" else cell for cell in rng.choice(list("äbB aZéz1"), 200).tolist()]
    frame = pl.DataFrame({"row": texts, "cell": rng.integers(0, 9, 200)})
    for name in frame.columns:
        cells = frame[name].to_list()
        order = profile.order_by(frame[name], descending=descending)
        assert sorted(order.tolist()) == list(range(200))
        present = sorted((cell for cell in cells if cell is not None), reverse=descending)
        assert [cells[row] for row in order] == present + [None] * cells.count(None)
