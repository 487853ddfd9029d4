"""The map of levels: nodes as the step sees them, one of them taken, and what it would change looked at."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.plan import Plan
from shoal.studio import lattices
from shoal.studio.lattices import lattice_of
from shoal.table.files.table import Table
from shoal.vocabulary.errors import InputError
from studio.pages import IN_A_BROWSER, another, barriers, go, settled, visit
from studio.running import Running, planned
from studio.test_standing import PLAN, people


def mapped(steps: list[Any], around: list[int] | None = None, step: int = 0) -> dict[str, Any]:
    return lattice_of(Table(frame=people(600)), Plan.of({**PLAN, "steps": steps}, None), step, around)


def test_the_map_has_the_node_that_the_step_takes() -> None:
    step = {"mask": "generalise", "columns": ["town", "school"], "k": 5}
    answer = mapped([step])
    assert (answer["of"], len(answer["nodes"]), answer["refusal"]) == (9, 9, "")
    allowed = [node for node in answer["nodes"] if node["small"] == 0]
    assert answer["taken"] == min(allowed, key=lambda node: node["loss"])["levels"]
    assert [column["labels"] for column in answer["columns"]] == [[8, 2, 1], [9, 3, 1]]
    pinned = mapped([{**step, "levels": {"town": [2, 2], "school": [2, 2]}}])
    assert pinned["taken"] == (2, 2)


def test_without_a_node_that_is_allowed_the_reason_stands_there() -> None:
    step = {"mask": "generalise", "columns": ["town", "school"], "k": 5, "levels": {"town": [0, 0], "school": [0, 0]}}
    answer = mapped([step])
    assert answer["taken"] is None
    assert "no combination of levels" in answer["refusal"]
    assert len(answer["nodes"]) == 9


def test_a_neighbourhood_is_drawn_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattices, "MOST_NODES", 3)
    step = {"mask": "generalise", "columns": ["town", "school"], "k": 5}
    answer = mapped([step], around=[0, 0])
    assert answer["of"] == 9
    assert [node["levels"] for node in answer["nodes"]] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(("around", "step"), [([0, 9], 0), ([0], 0), (None, 3)])
def test_what_is_no_node_is_refused(around: list[int] | None, step: int) -> None:
    with pytest.raises(InputError, match=r"no such node|no generalisation"):
        mapped([{"mask": "generalise", "columns": ["town", "school"], "k": 5}], around, step)


@pytest.fixture(scope="module")
def generalised(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder: Path = tmp_path_factory.mktemp("lattice")
    people(600).with_columns(pl.lit("x").alias("answer")).write_csv(folder / "people.csv")
    return planned(shared, folder / "people.csv", PLAN, run=False)


class TestInABrowser:
    pytestmark = IN_A_BROWSER

    def test_a_node_is_taken_and_looked_at(self, browser: Any, generalised: Running) -> None:
        with visit(browser, generalised, another(generalised)) as page:
            go(page, "Frontier")
            page.wait_for_selector("svg.lattice .cell-of")
            settled(page)
            assert page.locator("svg.lattice .cell-of").count() == 9
            assert page.locator("svg.lattice .rim.taken").count() == 1
            page.click(".chips >> text=records left out")
            assert "by records left out" in str(page.get_attribute("svg.lattice", "aria-label"))
            page.locator("svg.lattice .cell-of").last.click()  # the top of the map: everything is one label
            page.wait_for_selector("h3:text-is('Node 2 2')")
            assert barriers(page) == []
            page.click("[aria-label='school finer']")
            page.wait_for_selector("h3:text-is('Node 2 1')")
            page.click("text=/^Take (this node|it)/")
            page.wait_for_selector("text=The step takes this node.")
            assert generalised.ask("state")[1]["tree"]["steps"][0]["levels"] == {"town": [2, 2], "school": [1, 1]}
            page.click(".lattice-of >> text=What it would change")
            page.wait_for_selector(".lattice-of h4:text-is('school')")
            page.click("text=Let the step choose again")
            page.wait_for_selector("text=Let the step choose again", state="detached")
