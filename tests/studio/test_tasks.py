"""What sdcApp and ARX do by their own dialogues, here by form: settings of several parts, rows side by side, a file."""

import json
from typing import Any

import polars as pl
import pytest

from studio.pages import IN_A_BROWSER, another, barriers, go, settled, visit
from studio.running import Running, planned

pytestmark = IN_A_BROWSER

PLAN = {
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi-identifier", "level": "ordinal"},
        "sex": {"role": "quasi-identifier", "missing": "keep"},
        "town": "quasi-identifier",
        "ill": "confidential",
    },
    "steps": [{"mask": "suppress"}, {"mask": "pram", "columns": ["ill"]}],
    "requirements": [{"privacy": "k-map", "k": 2}],
    "accept": ["sex", "town", "age"],
}


@pytest.fixture(scope="module")
def people(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder = tmp_path_factory.mktemp("tasks")
    frame = pl.DataFrame(
        {
            "name": [f"Ann{i} Lee" for i in range(48)],
            "age": [20 + 10 * (i % 4) if i else 95 for i in range(48)],
            "sex": ["f", "m"] * 24,
            "town": ["a", "b", "c"] * 16,
            "ill": ["no", "yes", "no"] * 16,
        }
    )
    frame.write_csv(folder / "people.csv")
    pl.concat([frame, frame]).write_csv(folder / "population.csv")
    return planned(shared, folder / "people.csv", PLAN, run=False)


def steps(studio: Running) -> list[dict[str, Any]]:
    return list(studio.idle()["tree"]["steps"])


def test_settings_of_several_parts_have_their_forms(browser: Any, people: Running) -> None:
    """Subsets of keys, thresholds of risk, a matrix of PRAM, and the file of a population."""
    with visit(browser, people, another(people)) as page:
        page.wait_for_selector("nav")
        go(page, "Steps")
        cards = page.locator("section:has(> h2:text-is('Steps')) .card")
        cards.nth(0).locator("summary:has-text('more settings')").click()
        cards.nth(0).locator("button:has-text('Add one of subsets')").click()
        page.wait_for_selector(".rows-of")
        assert steps(people)[0]["subsets"] == [{"columns": ["age", "sex"], "k": 3}]
        page.fill(".rows-of input[inputmode=numeric]", "2")
        page.keyboard.press("Tab")
        page.wait_for_selector(".top >> text=subsets")
        cards.nth(0).locator("select[aria-label='requirements: another one']").select_option("marketer")
        page.wait_for_selector(".rows-of >> text=The threshold")
        assert steps(people)[0]["requirements"] == [{"risk": "marketer", "at most": 0.1}]
        cards.nth(1).locator("summary:has-text('more settings')").click()
        page.select_option("[aria-label='matrix: another column']", "ill")
        page.click("text=Begin with .8")
        page.fill("[aria-label='ill: no becomes yes']", "0.1")
        page.fill("[aria-label='ill: no becomes no']", "0.9")
        page.keyboard.press("Tab")
        page.wait_for_selector("[aria-label='Matrix of ill'] td:text-is('1')")
        file = page.locator("section:has(> h2:text-is('Requirements')) .card")
        file.locator("summary:has-text('more settings')").click()
        file.locator(".field:has(label:text-is('population')) input").fill("population.csv")
        page.keyboard.press("Tab")
        page.wait_for_selector(".top >> text=population")
        assert barriers(page) == []
    state = people.idle()
    assert state["mistakes"] == []
    assert state["tree"]["steps"][0]["subsets"][0]["k"] == 2
    assert state["tree"]["steps"][1]["matrix"] == {"ill": [[0.9, 0.1], [0.2, 0.8]]}
    assert state["tree"]["requirements"][0]["population"] == "population.csv"


def test_original_and_released_rows_stand_side_by_side(browser: Any, people: Running) -> None:
    people.act("edit", text=json.dumps({**PLAN, "steps": [{"mask": "suppress", "k": 3}], "requirements": []}))
    people.act("run")
    number = people.idle()["runs"][-1]["number"]
    pairs = people.ask("pairs", {"run": number})[1]
    sizes = [row["size"] for row in pairs["rows"]]
    assert sizes == sorted(sizes)
    assert any(before == "95" and after is None for row in pairs["rows"] for before, after in row["cells"])
    with visit(browser, people, another(people), viewport={"width": 390, "height": 800}) as page:
        page.wait_for_selector("nav")
        go(page, "Result")
        page.click("text=Original and released rows side by side")
        page.wait_for_selector(".pairs ins")
        assert page.locator(".pairs tbody tr").count() == 48
        assert barriers(page) == []
        go(page, "Risk")
        page.wait_for_selector(".hipaa tr:has-text('it has ages above 89')")
        settled(page)
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_some_records_are_worked_on_and_cells_set_to_missing(browser: Any, people: Running) -> None:
    """By a condition, and back again; the script of a run repeats what was prepared."""
    people.act("edit", text=json.dumps({**PLAN, "steps": [{"mask": "suppress", "k": 3}], "requirements": []}))
    with visit(browser, people, another(people), viewport={"width": 390, "height": 800}) as page:
        page.wait_for_selector(".exposure .big")
        page.click("text=Work on some of the records")
        page.fill(".preparing form input", "age <= 40")
        page.click("text=Work on them")
        page.wait_for_selector("text=Worked on: records where age <= 40.")
        page.select_option(".preparing select >> nth=0", "blank")
        page.select_option(".preparing select >> nth=1", "rows")
        page.fill(".preparing form input:not([type=checkbox])", "1, 2")
        page.click(".preparing .columns summary")
        page.check(".preparing .checks label:has-text('sex') input")
        page.click("button:has-text('Set to missing')")
        page.wait_for_selector("text='sex' set to missing in 2 rows by number.")
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        kept = people.idle()["rows"]
        assert kept == sum(20 + 10 * (i % 4) <= 40 for i in range(1, 48))
        assert next(c for c in people.ask("facts")[1]["columns"] if c["name"] == "sex")["missing"] == 2
        people.act("run")
        number = people.idle()["runs"][-1]["number"]
        text = people.ask("document", {"what": "script", "run": number})[1]["text"]
        assert (
            "prepared(read_table('people.csv'), [{'where': 'age <= 40'}, {'rows': [1, 2], 'columns': ['sex']}])" in text
        )
        for left in (1, 0):
            page.locator("button:has-text('Take back')").first.click()
            page.locator("button:has-text('Take back')").nth(left).wait_for(state="detached")
        page.wait_for_selector(".top >> text=48 rows")
        assert people.idle()["runs"][-1]["reopened"]  # its table was of other rows
        assert people.ask("rows", {"run": number})[0] == 422
