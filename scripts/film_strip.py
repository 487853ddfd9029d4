"""Make the pictures of docs/howto/studio.md: `python scripts/film_strip.py [STORY ...]`; needs Playwright and Chromium.

Stories, each on a studio of its own, as a person would click through it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import shoal
from shoal.table.files.table import Table
from shoal.table.files.tables import write_table

PICTURES = Path(__file__).parents[1] / "docs" / "studio"
PATIENCE = 120_000
"""Milliseconds."""

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


class Story:
    """A page that is photographed as it goes."""

    def __init__(self, page: Any, name: str) -> None:
        self.page = page
        self.name = name
        self.taken = 0

    def picture(self) -> None:
        self.taken += 1
        self.page.wait_for_timeout(500)
        for waiting in ("text=Reading the risk and the loss", "text=Trying stronger methods"):
            self.page.wait_for_selector(waiting, state="detached")
        self.page.screenshot(path=PICTURES / f"{self.name}-{self.taken}.png")

    def go(self, screen: str) -> None:
        self.page.click(f"nav >> text={screen}")
        self.page.wait_for_selector(f"h1:has-text('{screen}')")
        self.page.evaluate("scrollTo(0, 0)")

    def example(self) -> None:
        """Open the example, without the tour."""
        self.page.click("text=Use the example")
        self.page.click("text=Leave the tour")
        self.page.wait_for_selector(".exposure .big")

    def role(self, role: str, *names: str) -> None:
        for name in names:
            self.page.select_option(f"[aria-label='Role of {name}']", role)

    def setting(self, section: str, value: str) -> None:
        """The first field of a section."""
        field = self.page.locator(f"section:has(> h2:text-is('{section}')) .card input").first
        field.fill(value)
        field.press("Tab")

    def tried(self) -> None:
        """Wait until the methods that are offered were tried on some records."""
        for trying in ("text=Trying each method", "text='Trying …'"):
            self.page.wait_for_selector(trying, state="detached")
        self.page.evaluate("document.querySelector('.adding[open]').scrollIntoView()")

    def accept(self) -> None:
        """Run the plan until it is proved, answering for each column by which it stops."""
        self.page.click(".top >> text=Run")
        self.page.wait_for_selector(".verdict.fails .answers button")
        self.page.evaluate("scrollTo(0, 0)")
        self.picture()
        while self.page.locator(".answers button").count():
            self.page.locator(".answers button").first.click()
            self.page.wait_for_timeout(500)
        self.run()
        self.page.wait_for_selector("text=run 2 proved")
        self.page.wait_for_selector("main .verdict:not(.fails)")

    def run(self) -> None:
        self.page.click(".top >> text=Run")
        self.page.wait_for_selector("main .verdict")
        self.page.wait_for_selector("main table.measures")
        self.page.evaluate("scrollTo(0, 0)")


@contextmanager
def story(browser: Any, name: str, *arguments: str, folder: Path) -> Iterator[Story]:
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1", "XDG_STATE_HOME": str(folder / "state")}
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "studio", "--no-browser", *arguments],
        stdout=subprocess.PIPE, text=True, cwd=folder, env={**os.environ, **own},
    )  # fmt: skip
    try:
        address = re.findall(r"http://\S+", next(iter(process.stdout or ())))[0]
        context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        yield Story(page, name)
        context.close()
    finally:
        process.terminate()
        process.wait()


def survey(browser: Any, folder: Path) -> None:
    """A household survey from SPSS to a public-use file."""
    table = shoal.example(n=600, seed=4).select("household", "age", "sex", "area", "payer", "charge", "los")
    labels = {"age": "age in years", "area": "area of residence", "payer": "who pays", "charge": "whole charge"}
    write_table(Table(frame=table, labels=labels), folder / "survey.sav")
    with story(browser, "survey", "survey.sav", folder=folder) as screen:
        screen.page.wait_for_selector(".exposure .big")
        screen.picture()
        screen.role("other", "los", "charge")
        screen.role("confidential", "payer")
        screen.page.wait_for_timeout(800)
        screen.picture()
        screen.go("Steps")
        screen.page.click("text=Add a step")
        screen.page.click("text=Make values coarser")
        screen.tried()
        screen.picture()
        screen.accept()
        screen.picture()
        screen.go("Export")
        screen.page.fill("text=Folder to write >> xpath=following-sibling::input", "public-use-file")
        screen.page.click("text=Write the release")
        screen.page.wait_for_selector("text=Written and proved again")
        screen.page.evaluate("scrollTo(0, 0)")
        screen.picture()


def frontier(browser: Any, folder: Path) -> None:
    """Several methods and strengths at once, and one of them taken."""
    with story(browser, "frontier", folder=folder) as screen:
        screen.example()
        screen.role("other", "admission", "discharge", "payer", "los", "drugs", "procedures", "charge")
        screen.role("confidential", "diagnosis")
        screen.go("Frontier")
        screen.page.click("text=Try these")
        screen.page.wait_for_selector("svg.frontier")
        screen.page.evaluate("document.querySelector('svg.frontier').scrollIntoView({block: 'center'})")
        screen.picture()


def hospital(browser: Any, folder: Path) -> None:
    """A hospital's discharges to a synthetic file."""
    with story(browser, "hospital", folder=folder) as screen:
        page = screen.page
        page.wait_for_selector("text=Open a table")
        screen.picture()
        screen.example()
        screen.go("Steps")
        page.click("[aria-label^='Take out MDAV']")
        page.wait_for_selector("text=No step yet")
        page.click("text=Add a step")
        page.click("text=Make a synthetic table")
        screen.tried()
        screen.picture()
        page.click("[aria-label='Add The whole table as one group']")
        card = page.locator("section:has(> h2:text-is('Steps')) .card").first
        card.locator("label:text-is('replace') >> xpath=..//select").first.select_option("cart")
        page.wait_for_selector(".top >> text=replace")
        card.locator("details.columns summary").first.click()
        for name in EVERY:
            card.locator(".checks").first.get_by_label(name, exact=True).check()
            page.wait_for_timeout(150)
        card.locator("details.columns summary").first.click()
        page.click("[aria-label='Take out k-anonymity']")
        page.click("text=Add a requirement")
        page.fill("section:has(> h2:text-is('Requirements')) input[type=search]", "found again by distance")
        page.click("section:has(> h2:text-is('Requirements')) .offers button >> nth=0")
        page.wait_for_selector("section:has(> h2:text-is('Requirements')) .card h3:has-text('distance')")
        field = page.locator(
            "section:has(> h2:text-is('Requirements')) .card label:text-is('at most') >> xpath=..//input"
        )
        field.fill("0.05")
        field.press("Tab")
        page.wait_for_timeout(500)
        card.locator("text=What it would change").click()
        card.locator(".changed").first.wait_for()
        page.evaluate("document.querySelector('main .card').scrollIntoView()")
        screen.picture()
        screen.run()
        screen.picture()
        page.evaluate("document.querySelector('.spreads').parentElement.scrollIntoView()")
        screen.picture()
        screen.go("Export")
        page.fill("text=Folder to write >> xpath=following-sibling::input", "synthetic-file")
        page.click("text=Write the release")
        page.wait_for_selector("text=Written and proved again")
        page.evaluate("scrollTo(0, 0)")
        screen.picture()


EVERY = (
    *("age", "sex", "area", "diagnosis", "admission", "discharge", "los", "room", "drugs", "procedures"),
    *("charge", "payer", "haemoglobin", "creatinine", "glucose", "crp"),
)
"""Columns of the hospital that are made anew."""


def review(browser: Any, folder: Path) -> None:
    """A release in the hands of a second person."""
    release = shoal.protect(
        shoal.example("hospital", n=1000, seed=1).select("age", "sex", "area", "charge"),
        {
            "columns": {
                "age": "quasi-identifier", "sex": "quasi-identifier", "area": "quasi-identifier",
                "charge": "confidential",
            },
            "steps": [{"partition": "mdav", "k": 5}],
            "requirements": [{"privacy": "k-anonymity", "k": 5}],
            "release": {"title": "Discharges of a year"},
        },
        seed=1,
    )  # fmt: skip
    shoal.review(release, by="Ada").commented("Bo", "Does the charge include tax?").write(folder / "review.json")
    with story(browser, "review", "review.json", folder=folder) as screen:
        screen.page.wait_for_selector("h1:has-text('under review')")
        screen.page.fill("text=Your name >> xpath=following-sibling::input", "Bo")
        screen.page.click("text=Approve this release")
        screen.page.wait_for_selector("text=Approved by Bo")
        screen.picture()


def refused(browser: Any, folder: Path) -> None:
    """A plan refused, understood and mended."""
    with story(browser, "refused", folder=folder) as screen:
        screen.example()
        screen.go("Steps")
        screen.setting("Requirements", "20")
        screen.page.wait_for_selector(".top >> text=k-anonymity: k")
        screen.run()
        screen.picture()
        screen.go("Steps")
        screen.setting("Steps", "20")
        screen.page.wait_for_selector(".top >> text=MDAV: k")
        screen.picture()
        screen.run()
        screen.page.wait_for_selector("text=Proved as far as the plan asks")
        screen.picture()
        screen.go("Compare")
        screen.page.wait_for_selector("table.compare")
        screen.picture()


def main() -> None:
    stories = {one.__name__: one for one in (survey, frontier, hospital, refused, review)}
    chosen = [stories[name] for name in sys.argv[1:]] or list(stories.values())
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for tell in chosen:
            with TemporaryDirectory() as folder:
                tell(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
