"""Several linked tables in a browser: opened at once, their links drawn and changed, run, looked at and written."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.release.review import Review
from studio.pages import IN_A_BROWSER, SCREENS, another, barriers, go, run, settled, visit
from studio.running import Running

pytestmark = IN_A_BROWSER


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Twelve persons, their visits, and the tests of these."""
    people = pl.DataFrame({"person": [f"p{i}" for i in range(12)], "sex": ["f", "m"] * 6})
    visits = pl.DataFrame({"visit": range(18), "person": [f"p{i % 12}" for i in range(18)], "ward": ["a", "b"] * 9})
    tests = pl.DataFrame({"visit": [i // 2 for i in range(36)], "result": ["low", "high"] * 18})
    tables = {"people": people, "visits": visits, "tests": tests}
    for name, frame in tables.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    return [tmp_path / f"{name}.csv" for name in tables]


def box(page: Any, name: str) -> Any:
    return page.locator(f".box:has(> strong:text-is('{name}'))")


def test_several_files_become_a_release_of_linked_tables(
    browser: Any, fresh: Running, files: list[Path], tmp_path: Path
) -> None:
    with visit(browser, fresh, another(fresh)) as page:
        page.set_input_files(".drop input", files)
        box(page, "tests").locator("text=36 rows of 12 persons").wait_for()
        assert "12 rows, one a person" in box(page, "people").inner_text()
        assert "hangs on people by person" in box(page, "visits").inner_text()
        assert "all 18 values of 'visit' are 'visit' of 'visits'" in box(page, "tests").inner_text()
        page.click("text=Change what links them")
        page.select_option("[aria-label='Table above of tests']", "people")
        page.wait_for_selector("section.links > .mistakes:has-text(\"is no 'person' of 'people'\")")
        page.click("button:has-text('Undo')")
        box(page, "tests").locator("text=36 rows of 12 persons").wait_for()
        page.click(".tables-choice >> text=visits")
        page.wait_for_selector("[aria-label='Role of ward']")
        page.wait_for_selector(".column:has-text('person') .key-column")
        assert barriers(page) == []
        go(page, "Steps")
        page.click("text=What it would change")
        page.wait_for_selector("text=Information kept, over the columns of all tables: 77.8 %")
        page.click("text=Add a measure >> nth=0")
        assert "Individual risk" not in page.locator(".adding[open]").inner_text()  # it is of single records
        run(page, 1)
        go(page, "Result")
        page.click(".tables-choice >> text=tests")
        page.wait_for_selector(".spreads h3:text-is('result')")
        page.click("text=Look at the released rows")
        page.wait_for_selector("table.rows tbody td")
        assert barriers(page) == []
        go(page, "Risk")
        page.wait_for_selector("text=unique by all of their rows")
        page.click(".tables-choice >> text=visits")
        page.wait_for_selector(".chips >> text=Persons or households")
        assert page.locator("section.riskiest").count() == 2  # of the original and of what was released
        page.click(".tables-choice >> text=tests")
        page.wait_for_selector(".sets tbody th:text-is('result')")
        go(page, "Export")
        page.fill("text=Folder to write >> xpath=following-sibling::input", str(tmp_path / "out"))
        page.click("text=Write the release")
        page.wait_for_selector("text=Written and proved again")
    written = {file.stem: pl.read_csv(tmp_path / "out" / "release" / file.name) for file in files}
    assert set(written["visits"]["person"]) <= set(written["people"]["person"])
    assert set(written["tests"]["visit"]) <= set(written["visits"]["visit"])


def test_what_is_not_for_several_tables_says_why(browser: Any, fresh: Running, files: list[Path]) -> None:
    fresh.act("open", path=str(files[0].parent))
    assert fresh.idle()["tables"] == ["people", "visits", "tests"]
    with visit(browser, fresh, another(fresh), viewport={"width": 390, "height": 800}) as page:
        page.wait_for_selector(".box")
        for screen in SCREENS:
            go(page, screen)
            settled(page)
            assert page.locator(".mistakes:not(:empty)").count() == 0, screen
            assert page.evaluate("document.documentElement.scrollWidth") == 390, screen
            if screen in ("Columns", "Steps", "Risk"):
                assert barriers(page) == [], screen
        go(page, "Utility")
        assert "Analyses are followed on one table" in page.inner_text("main")


def test_a_linked_plan_is_refused_with_the_verdict(fresh: Running, files: list[Path]) -> None:
    fresh.act("open", path=[str(file) for file in files])
    fresh.idle()
    fresh.act("put", changes=[{"place": ["steps"], "value": []}], note="nothing is done")
    fresh.act("run")
    assert [run["released"] for run in fresh.idle()["runs"]] == [False]
    result = fresh.ask("result", {"run": 1})[1]
    assert [v["holds"] for v in result["requirements"]][:1] == [False]
    assert "persons" in result["requirements"][0]["sentence"]


def test_plans_for_several_tables_are_weighed_and_reviewed_in_the_page(
    browser: Any, fresh: Running, files: list[Path], tmp_path: Path
) -> None:
    """How exposed persons are, plans tried on all tables, one taken, and a second person's approval."""
    fresh.act("open", path=[str(file) for file in files[:2]])
    fresh.idle()
    with visit(browser, fresh, another(fresh)) as page:
        page.wait_for_selector(".exposure:has-text('of the 12 persons would be unique by all of their rows')")
        go(page, "Frontier")
        page.uncheck("label:has-text('few records') >> input")
        page.click("text=Try these")
        page.wait_for_selector("svg.frontier .point")
        assert barriers(page) == []
        page.click("[aria-label='Take profiles k=5']")
        page.wait_for_selector(".top [title='take profiles k=5']", state="attached")
        run(page, 1)
        go(page, "Export")
        page.fill("text=Your name >> xpath=following-sibling::input", "Ada")
        with page.expect_download() as handed:
            page.click("text=Save the file for review")
        handed.value.save_as(tmp_path / "review.json")
        Review.read(tmp_path / "review.json").approved("Bo").write(tmp_path / "review.json")
        page.set_input_files("text=Take the reviewed file >> input", tmp_path / "review.json")
        page.wait_for_selector("text=Approved by Bo")
        page.fill("text=Folder to write >> xpath=following-sibling::input", str(tmp_path / "out"))
        page.click("text=Write the release")
        page.wait_for_selector("text=Written and proved again")
        assert json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())["approval"]["by"] == "Bo"
        page.click("text=Another table")
        page.click("text=Close this table")
        page.set_input_files(".drop input", tmp_path / "review.json")
        page.wait_for_selector("h2:text-is('The tables') + ul >> text=12 rows of 12 persons")
        assert barriers(page) == []
        page.click("text=Leave the review")


def test_several_files_are_looked_at_before_they_are_opened(browser: Any, fresh: Running, files: list[Path]) -> None:
    with visit(browser, fresh, another(fresh)) as page:
        page.check("text=Look at it before it is opened")
        page.set_input_files(".drop input", files[:2])
        page.wait_for_selector("h1:text-is('2 linked tables')")
        visits = page.locator("section:has(> h2:has-text('visits'))")
        assert "18 rows and 3 columns" in visits.inner_text()
        assert "hangs on people by person" in visits.inner_text()
        assert "Its rows are persons" in page.locator("section:has(> h2:has-text('people'))").inner_text()
        assert visits.locator("tbody tr:has-text('row 2') td").all_inner_texts() == ["1", "p1", "b"]
        assert barriers(page) == []
        page.click("summary:has-text('How the files are read')")
        page.fill("#look-delimiter", ";")
        page.press("#look-delimiter", "Tab")
        visits.locator("text=18 rows and 1 column").wait_for()
        assert page.locator(".note").count() == 1  # no links are seen
        page.fill("#look-delimiter", "")
        page.press("#look-delimiter", "Tab")
        visits.locator("text=18 rows and 3 columns").wait_for()
        page.click("text=Other files")
        page.check("text=Look at it before it is opened")
        page.fill("text=Or its path on this machine >> xpath=following-sibling::div//textarea", str(files[0].parent))
        page.click("button.strong:text-is('Open')")
        page.locator("section:has(> h2:has-text('tests'))").locator("text=36 rows and 2 columns").wait_for()
        assert fresh.ask("state")[1]["source"] is None
        page.click("text=Open these tables")
        box(page, "tests").locator("text=36 rows of 12 persons").wait_for()


def test_columns_of_several_tables_are_taken_otherwise_before_they_are_opened(
    browser: Any, fresh: Running, files: list[Path]
) -> None:
    """A type and a code for missing in one table; both stand over the columns, and are taken back there."""
    with visit(browser, fresh, another(fresh)) as page:
        page.check("text=Look at it before it is opened")
        page.set_input_files(".drop input", files)
        page.select_option("[aria-label='tests, visit: taken as']", "text")
        page.fill("[aria-label='visits, ward: codes for missing']", "a")
        page.press("[aria-label='visits, ward: codes for missing']", "Tab")
        page.click("text=Open these tables")
        words = page.locator(".prepared li > span")
        words.nth(1).wait_for()
        assert sorted(words.all_inner_texts()) == [
            "In 'tests': Read otherwise: 'visit' as text.",
            "In 'visits': Read otherwise: 'ward' as it was, 1 code missing.",
        ]
        page.locator(".prepared li:has-text('visits') >> text=Take back").click()
        words.nth(1).wait_for(state="detached")
    state = fresh.idle()
    assert state["prepared"] == [{"table": "tests", "taken as": {"visit": {"type": "text"}}}]
