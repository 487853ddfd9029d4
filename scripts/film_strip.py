"""Make the pictures of docs/howto/studio.md: `python scripts/film_strip.py`; needs Playwright and Chromium.

Three stories, each on a studio of its own, as a person would click through it.
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
from shoal.files.table import Table
from shoal.files.tables import write_table

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
        self.page.screenshot(path=PICTURES / f"{self.name}-{self.taken}.png")

    def go(self, screen: str) -> None:
        self.page.click(f"nav >> text={screen}")
        self.page.wait_for_selector(f"h1:has-text('{screen}')")
        self.page.evaluate("scrollTo(0, 0)")

    def role(self, role: str, *names: str) -> None:
        for name in names:
            self.page.select_option(f"[aria-label='Role of {name}']", role)

    def setting(self, section: str, value: str) -> None:
        """The first field of a section."""
        field = self.page.locator(f"section:has(> h2:text-is('{section}')) .card input").first
        field.fill(value)
        field.press("Tab")

    def run(self) -> None:
        self.page.click(".top >> text=Run")
        self.page.wait_for_selector(".verdict")
        self.page.wait_for_selector("main table.measures")
        self.page.evaluate("scrollTo(0, 0)")


@contextmanager
def story(browser: Any, name: str, *arguments: str, folder: Path) -> Iterator[Story]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "studio", "--no-browser", *arguments],
        stdout=subprocess.PIPE, text=True, cwd=folder, env=environment,
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
        screen.role("other", "los")
        screen.role("confidential", "charge", "payer")
        screen.page.wait_for_timeout(800)
        screen.picture()
        screen.go("Steps")
        screen.page.click("text=Add a step")
        screen.page.click("text=Make values coarser")
        screen.picture()
        screen.run()
        screen.picture()
        screen.go("Export")
        screen.page.fill("text=Folder to write >> xpath=following-sibling::input", "public-use-file")
        screen.page.click("text=Write the release")
        screen.page.wait_for_selector("text=Written and proved again")
        screen.picture()


def hospital(browser: Any, folder: Path) -> None:
    """A hospital's discharges to the least loss for the risk that is left."""
    with story(browser, "hospital", folder=folder) as screen:
        screen.page.wait_for_selector("text=Open a table")
        screen.picture()
        screen.page.click("text=Use the example")
        screen.page.wait_for_selector(".exposure .big")
        screen.role("other", "discharge", "payer", "los")
        screen.role("confidential", "diagnosis")
        screen.go("Frontier")
        screen.page.check("label:has-text('vmdav') >> input >> nth=0")
        screen.page.click("text=Try them")
        screen.page.wait_for_selector("svg.frontier")
        screen.page.evaluate("document.querySelector('svg.frontier').scrollIntoView({block: 'center'})")
        screen.picture()
        screen.page.click("tr:has-text('recommended') >> button")
        screen.run()
        screen.picture()
        screen.page.evaluate("document.querySelector('.spreads').scrollIntoView()")
        screen.picture()


def refused(browser: Any, folder: Path) -> None:
    """A plan refused, understood and mended."""
    with story(browser, "refused", folder=folder) as screen:
        screen.page.click("text=Use the example")
        screen.page.wait_for_selector(".exposure .big")
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
        screen.page.wait_for_selector("text=Everything required was proved")
        screen.picture()
        screen.go("Compare")
        screen.page.wait_for_selector("table.compare")
        screen.picture()


def main() -> None:
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for tell in (survey, hospital, refused):
            with TemporaryDirectory() as folder:
                tell(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
