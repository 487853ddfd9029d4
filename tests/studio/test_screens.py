"""What the screens show, in a browser: no section is empty where there is data, and no picture hides a loss."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from by_night import NIGHT
from studio.pages import IN_A_BROWSER, OPEN_ALL, SCREENS, another, barriers, go, settled, show_plan, visit
from studio.running import LONGEST, Running, opened, planned, running

pytestmark = IN_A_BROWSER

TOWNS = [[f"{area}{i}", area, "*"] for area in ("north", "south") for i in range(4)]
PLAN = {
    "columns": {
        "town": {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"paths": TOWNS}},
        "sex": {"role": "quasi-identifier", "level": "nominal"},
        "age": {"role": "quasi-identifier", "level": "continuous"},
        "income": {"role": "confidential", "level": "continuous"},
    },
    "steps": [
        {"mask": "recode", "columns": ["age"], "width": 20},
        {"mask": "generalise", "columns": ["town"], "k": 250},
        {"mask": "noise", "columns": ["income"], "variance": 0.1},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


@pytest.fixture(scope="module")
def ran(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    """A table of which the towns became `*` and the ages bands."""
    folder = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "town": [TOWNS[i][0] for i in rng.choice(8, 400, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])],
            "sex": rng.choice(["f", "m"], 400),
            "age": rng.integers(18, 80, 400),
            "income": rng.normal(3000, 500, 400).round(),
        }
    )
    frame.write_csv(folder / "people.csv")
    return planned(shared, folder / "people.csv", PLAN)


@pytest.fixture(scope="module")
def page(browser: Any, ran: Running) -> Iterator[Any]:
    """One page of that studio for tests that leave nothing half done: to load it takes most of the time of a test."""
    with visit(browser, ran, another(ran)) as page:
        yield page


def article(page: Any, name: str) -> Any:
    return page.locator(f".spreads article:has(h3:text-is('{name}'))")


def test_a_column_that_lost_everything_looks_like_it(page: Any, ran: Running) -> None:
    """Peers, and the first edition: the original was drawn recoded too, so that all pictures looked perfect."""
    go(page, "Result")
    settled(page)
    town = article(page, "town")
    assert town.locator(".became.gone").inner_text() == "8 values → 1"
    assert "gone: one value for all" in town.inner_text()
    bars = town.locator(".bar-row")
    assert bars.count() == 8  # the original's own values by their names
    assert all("from labels of several values" in text for text in bars.locator("title").all_text_contents())
    released = {bar.locator("rect.after").get_attribute("width") for bar in bars.all()}
    original = {bar.locator("rect.before").get_attribute("width") for bar in bars.all()}
    assert len(released) == 1 < len(original)
    assert town.locator("rect[fill^='url(#']").count() == 8
    assert article(page, "sex").locator("rect[fill^='url(#']").count() == 0
    ages = ran.ask("extremes", {"run": 1})[1]["age"][0]
    page.wait_for_selector(f"text={ages['least']} to {ages['greatest']}")
    assert article(page, "age").locator("text >> text=40").count() == 1  # an axis


def test_a_column_is_looked_at_closely_and_with_another(page: Any) -> None:
    go(page, "Result")
    settled(page)
    article(page, "town").locator("text=Look closer").click()
    table = page.locator("dialog [aria-label='Values of town'] tbody tr")
    table.first.wait_for()
    assert table.first.inner_text().split("\t")[0] in ("*", "north0")
    page.select_option("dialog select", "age")
    page.wait_for_selector("dialog [aria-label^='Released: shares of the records by town and age']")
    page.select_option("dialog select", "income")
    page.wait_for_selector("dialog [aria-label='Original: income by town']")
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    article(page, "income").locator("text=Look closer").click()
    page.wait_for_selector("dialog >> text=median")
    page.keyboard.press("Escape")
    go(page, "Columns")
    page.click("button:has-text('Look closer at income')")
    page.select_option("dialog select", "age")
    page.wait_for_selector("dialog [aria-label^='The table: income against age']")
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


FULL = {
    "Columns": [".exposure dd", ".exposure tbody tr", ".columns-list li"],
    "Steps": ["section:has(> h2:text-is('Steps')) .card", "section:has(> h2:text-is('Requirements')) .card"],
    "Hierarchies": [".levels li"],
    "Result": [
        ".verdict .reasons dd",
        ".verdict .headlines .value",
        ".proofs li",
        "section:has(> h2:text-is('Risk')) tbody tr",
        "section:has(> h2:text-is('What was lost')) tbody tr",
        ".before-after .bar-row",
        ".risky li",
        "section:has(> h2:text-is('What each step did')) dd",
        "table.rows tbody td",
    ],
}
"""What each screen has to show of a table, a plan and a run."""


def test_no_section_is_empty_where_there_is_data(page: Any) -> None:
    for screen, parts in FULL.items():
        filled(page, screen, parts)
        if screen == "Result":  # the verdict says what leaves unchanged; nothing contradicts what was proved
            assert "Columns released unchanged" not in page.inner_text("main")


def filled(page: Any, screen: str, parts: list[str]) -> None:
    """Every part of a screen is there, and no section of it is empty."""
    go(page, screen)
    settled(page)
    page.evaluate("() => document.querySelectorAll('main details').forEach((e) => { e.open = true; })")
    settled(page)
    for part in parts:
        page.locator(f"main {part}").first.wait_for(state="attached")
    settled(page)
    sections = page.locator("main section:has(> h2)")
    for i in range(sections.count()):
        title, _, rest = sections.nth(i).inner_text().strip().partition("\n")
        assert rest.strip(), title


OF_SEVERAL = {
    "Frontier": [".tries li", "svg.frontier .point", ".wide tbody tr", "svg.lattice .cell-of", ".lattice-of dd"],
    "Risk": ["svg.spread .bar-row", ".side-of", ".riskiest tbody tr", ".sets tbody tr"],
    "Utility": [".analysis tbody tr", ".card select"],
    "Compare": ["table.compare tbody td", "pre.difference span"],
    "Export": [".card button", ".card input"],
}
"""What the screens of several runs and candidates have to show."""


@pytest.fixture(scope="module")
def several(ran: Running) -> Running:
    """Another run with another plan, candidates that were tried, and an analysis that is followed."""
    ran.act("put", changes=[{"place": ["steps", 1, "k"], "value": 300}], note="a larger k")
    ran.act("run")
    ran.idle()
    section = {"method": {"groups": [{"partition": "mdav", "k": [3, 6]}]}, "risk": "marketer"}
    section["utility"] = "information-kept"
    ran.act("put", changes=[{"place": ["explore"], "value": section}], note="what to explore")
    ran.act("explore")
    ran.idle()
    ran.act("analyses", analyses=[{"kind": "mean", "of": "income", "by": ["sex"]}])
    return ran


def test_no_section_of_several_runs_is_empty(page: Any, several: Running) -> None:
    for screen, parts in OF_SEVERAL.items():
        filled(page, screen, parts)


MOVING = """() => document.getAnimations().length
  + [...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_is_without_barriers(browser: Any, several: Running, scheme: str) -> None:
    """With all open that can be opened: the plan, help, settings, previews, what was done, and the second question.

    Of the dark scheme only the colours are looked at by day, of what is seen at once: all else it has from the light.
    """
    whole = NIGHT or scheme == "light"
    with visit(browser, several, another(several), color_scheme=scheme, reduced_motion="reduce") as page:
        page.wait_for_selector("nav")
        show_plan(page)
        page.click("text=Another table")
        for screen in SCREENS:
            go(page, screen)
            page.wait_for_selector("main :not(h1)")
            for _ in range(2 if whole else 0):  # what was opened may hold more
                page.evaluate(OPEN_ALL)
                settled(page)
            assert barriers(page, *(() if whole else ("color-contrast",))) == [], screen
        assert page.evaluate(MOVING) == 0


def test_screens_have_addresses(page: Any) -> None:
    """Back, forward, reload and a bookmark keep the screen; another tab is opened from the page."""
    for screen in ("Steps", "Result"):
        go(page, screen)
        assert page.evaluate("location.hash") == f"#/{screen.lower()}"
    page.go_back()
    page.wait_for_selector("h1:has-text('Steps')")
    page.go_forward()
    page.wait_for_selector("h1:has-text('Result')")
    page.reload()
    page.wait_for_selector("h1:has-text('Result')")
    assert page.title() == "Result · people.csv · shoal studio"
    page.evaluate("location.hash = '/frontier'")
    page.wait_for_selector("h1:has-text('Frontier')")
    with page.context.expect_page() as opened:
        page.click("button:text-is('New tab')")
    opened.value.wait_for_selector("h1:has-text('Columns')")
    opened.value.close()


def test_saved_work_is_opened_from_the_page(browser: Any, tmp_path: Path) -> None:
    pl.DataFrame({"sex": ["f", "m"] * 60, "age": [20 + i % 4 for i in range(120)]}).write_csv(tmp_path / "few.csv")
    with running(tmp_path, "few.csv") as studio, visit(browser, studio) as page:
        page.wait_for_selector(".exposure .big")
        page.select_option("[aria-label='Role of sex']", "other")
        page.wait_for_selector(".top >> text=sex: role other")
        end = time.monotonic() + LONGEST
        while not list((tmp_path / "state").rglob("*.json")):
            assert time.monotonic() < end
            time.sleep(0.1)
        page.click("text=Another table")
        page.click("text=Close this table")
        page.wait_for_selector("h2:text-is('Open recent')")
        assert barriers(page) == []
        page.click(".recent button:has-text('Open')")
        page.wait_for_selector(".top >> text=sex: role other")
        assert page.input_value("[aria-label='Role of sex']") == "other"
        page.click("text=Another table")
        page.click("text=Close this table")
        page.set_input_files(".drop input", tmp_path / "few.csv")  # dropped, it is another table
        page.wait_for_selector(".exposure .big")
        assert page.locator("text=Take it up").count() == 0


OF_LONG_NAMES = ("target-size", "scrollable-region-focusable", "label-content-name-mismatch", "aria-valid-attr-value")
"""What a long name can break of a screen that is without barriers; each night all of it is looked at again."""


def test_a_column_name_of_200_characters_breaks_no_screen(browser: Any, fresh: Running, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x" * 200: [i % 7 for i in range(210)], "sex": ["f", "m"] * 105})
    frame.write_csv(tmp_path / "long.csv")
    opened(fresh, tmp_path / "long.csv").act("run")
    fresh.idle()
    fresh.act("analyses", analyses=[{"kind": "table", "of": "x" * 200, "by": ["sex"]}])
    with visit(browser, fresh, another(fresh)) as page:
        for screen in SCREENS:
            go(page, screen)
            page.wait_for_selector("main :not(h1)")
            settled(page)
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == width, screen
            assert barriers(page, *(() if NIGHT else OF_LONG_NAMES)) == [], screen
