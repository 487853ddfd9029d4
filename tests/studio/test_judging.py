"""Risk, utility and hierarchies on the page: thresholds dragged, analyses followed, trees edited by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.table.files.table import Table
from shoal.table.files.tables import write_table
from studio.pages import IN_A_BROWSER, another, barriers, go, settled, visit
from studio.running import Running, planned

pytestmark = IN_A_BROWSER

PLAN: dict[str, Any] = {
    "columns": {
        "town": {"role": "quasi-identifier", "level": "nominal"},
        "sex": {"role": "quasi-identifier", "level": "nominal"},
        "age": {"role": "quasi-identifier", "level": "continuous"},
        "income": {"role": "confidential", "level": "continuous"},
    },
    "steps": [{"mask": "recode", "columns": ["age"], "width": 20}, {"mask": "suppress", "k": 3}],
    "requirements": [{"privacy": "k-anonymity", "k": 3, "missing": "wildcard"}],
    "accept": ["income"],
}


@pytest.fixture(scope="module")
def ran(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder: Path = tmp_path_factory.mktemp("judging")
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "town": rng.choice(["Arles", "Bonn", "Evora", "Ghent"], 300),
            "sex": rng.integers(1, 3, 300),
            "age": rng.integers(18, 80, 300),
            "income": rng.normal(3000, 500, 300).round(),
        }
    )
    table = Table(frame=frame, value_labels={"sex": {1: "male", 2: "female"}})
    write_table(table, folder / "people.sav")
    return planned(shared, folder / "people.sav", PLAN)


def test_the_threshold_of_risk_is_moved(browser: Any, ran: Running) -> None:
    with visit(browser, ran, another(ran)) as page:
        go(page, "Risk")
        page.wait_for_selector(".riskiest tbody tr")
        settled(page)
        sizes = [dict(map(tuple, side["sizes"])) for side in ran.ask("risks", {"run": 1})[1]["sides"]]
        for risk in (0.2, 0.5):
            page.locator("input[type=range]").fill(str(risk))
            above = [sum(n for size, n in of.items() if 1 / size >= risk) for of in sizes]
            for title, of, n in zip(("original", "released"), sizes, above):
                line = page.locator(f".side-of:has-text('{title}')").inner_text()
                assert f"{n:,} record" in line, (line, n, sum(of.values()))
        box = page.locator("svg.curve").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 60)
        page.mouse.up()
        assert float(page.locator("input[type=range]").input_value()) > 0.6
        assert page.locator(".riskiest").count() == 2
        page.click("text=Look at a set of your own")
        page.check(".sets label:has-text('town') input")
        page.check(".sets label:has-text('sex') input")
        page.wait_for_selector(".sets tbody tr >> nth=0 >> text=town + sex")
        settled(page)
        assert barriers(page) == []


def test_an_analysis_is_stated_once_and_followed(browser: Any, ran: Running) -> None:
    with visit(browser, ran, another(ran)) as page:
        go(page, "Utility")
        card = page.locator(".card:has(h2:text-is('State an analysis'))")
        card.get_by_label("column", exact=True).select_option("income")
        card.get_by_label("by", exact=True).select_option("sex")
        card.locator("text=Follow it").click()
        page.wait_for_selector(".analysis h2:text-is('Mean of income by sex')")
        page.wait_for_selector(".analysis th:text-is('1 male')")
        assert page.locator(".analysis thead th").all_inner_texts() == ["sex", "original", "run 1"]
        card.get_by_label("what", exact=True).select_option("model")
        card.get_by_label("column", exact=True).select_option("income")
        card.get_by_label("age", exact=True).check()
        card.locator("text=Follow it").click()
        page.wait_for_selector(".analysis h2:text-is('income explained by age')")
        settled(page)
        assert barriers(page) == []
        page.reload()
        page.wait_for_selector(".analysis h2:text-is('income explained by age')")
        page.click("button:has-text('Take out') >> nth=0")
        page.wait_for_selector(".analysis h2:text-is('Mean of income by sex')", state="detached")


def test_a_tree_comes_from_files_and_is_edited_by_hand(browser: Any, ran: Running, tmp_path: Path) -> None:
    south, north = ("Arles", "Evora"), ("Bonn", "Ghent")
    rows = [f"{t};{t[0]};{area};*" for area, towns in (("south", south), ("north", north)) for t in towns]
    (tmp_path / "survey_town.csv").write_text("\n".join(rows))
    (tmp_path / "gender.csv").write_text("1;*\n2;*\n")
    with visit(browser, ran, another(ran)) as page:
        go(page, "Hierarchies")
        page.set_input_files(".files input[type=file]", [tmp_path / "survey_town.csv", tmp_path / "gender.csv"])
        page.wait_for_selector(".files li:has-text('survey_town.csv: town, 3 levels')")
        page.wait_for_selector(".files li:has-text('gender.csv: sex, 1 level')")
        page.select_option("main select >> nth=0", "sex")
        page.wait_for_selector(".levels li:has-text('1 male')")  # value labels wherever codes stand
        page.click("text=Edit its labels")
        page.wait_for_selector(".levels .cell:has-text('1 male')")
        page.select_option("main select >> nth=0", "town")
        page.wait_for_selector("h2:text-is('Level 3')")
        page.click("text=Edit its labels")
        level = page.locator(".levels section:has(h2:text-is('Level 1'))")
        level.locator("summary").click()
        level.get_by_role("checkbox", name="A", exact=True).check()
        level.get_by_role("checkbox", name="E", exact=True).check()
        level.locator(".merging input:not([type])").fill("coast")
        level.locator("text=/^Merge$/").click()
        page.wait_for_selector("[aria-label='Name of coast']")
        page.click("button:has-text('Split coast')")
        page.wait_for_selector("[aria-label='Name of coast']", state="detached")
        page.drag_and_drop(
            ".levels section:nth-child(2) li:has([aria-label='Name of B'])", ".levels section:nth-child(3) li >> nth=0"
        )
        assert barriers(page) == []
    paths = ran.idle()["tree"]["columns"]["town"]["hierarchy"]["paths"]
    above = {row[0]: row[2] for row in paths}
    assert len({row[1] for row in paths}) == 4
    assert set(above) == {*south, *north}
