"""From a file to a release that a second person approved, by keyboard alone in a browser: how many keys that takes.

    PYTHONPATH=src:tests python bench/journeys.py

Opens each file, leaves the guessed plan as it is, runs it, hands the run over for review, approves it in another
studio, takes the approval back and writes the release. Counted are presses (Tab, Enter, shortcuts) and characters of
names and paths. A screen is reached by Ctrl K and its name.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from studio.pages import ARGUMENTS, CHROMIUM
from studio.running import LONGEST, running
from studio.test_stories import FOCUS

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = {"a survey (4,580 x 14)": DATA / "testdata.csv", "Adult (30,162 x 9)": DATA / "adult" / "adult.csv"}


class Keyboard:
    """A person without a mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.presses = self.characters = 0

    def press(self, keys: str) -> None:
        self.page.keyboard.press(keys)
        self.presses += 1

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.characters += len(text)

    def reach(self, words: str, by: str = "Tab") -> None:
        """Go by Tab, or backwards, to what bears the words."""
        for _ in range(300):
            self.press(by)
            name, seen = self.page.evaluate(FOCUS)
            assert seen, name
            if name.startswith(words):
                return
        raise AssertionError(f"no way by keyboard to '{words}'")

    def go(self, screen: str) -> None:
        self.press("Control+k")
        self.write(screen)
        self.press("Enter")
        self.page.wait_for_selector(f"h1:has-text('{screen.title()}')")

    def saved(self, words: str, folder: Path) -> Path:
        """The file that a button saves."""
        self.reach(words)
        with self.page.expect_download() as download:
            self.press("Enter")
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path


def page_of(browser: Any, address: str) -> Keyboard:
    page = browser.new_page()
    page.set_default_timeout(LONGEST * 1000)
    page.goto(address)
    return Keyboard(page)


def approved(browser: Any, review: Path, folder: Path) -> tuple[Path, Keyboard]:
    """The file that a second person gives back."""
    with running(folder, str(review)) as studio:
        person = page_of(browser, studio.address)
        person.page.wait_for_selector("h2:text-is('Your review')")
        person.reach("Your name")
        person.write("Bo")
        person.reach("Approve this release")
        person.press("Enter")
        person.page.wait_for_selector("text=Approved by Bo")
        return person.saved("Save the file", folder), person


def journey(browser: Any, file: Path, folder: Path) -> tuple[Keyboard, Keyboard, str, float]:
    """The maker's keys, the reviewer's, what the verdict was, and the seconds that the maker's machine took."""
    (folder / "reviewer").mkdir()
    with running(folder) as studio:
        began = time.monotonic()
        maker = page_of(browser, studio.address)
        maker.page.wait_for_selector("h1:text-is('Open a table')")
        maker.reach("Or its path on this machine")
        maker.write(str(file))
        maker.press("Enter")
        maker.page.wait_for_selector(".exposure .big")
        maker.press("Control+Enter")
        maker.page.wait_for_selector(".top >> text=/run 1 (proved|refused)/")
        maker.go("result")
        verdict = maker.page.inner_text(".verdict strong >> nth=0")
        maker.go("export")
        maker.reach("Your name")
        maker.write("Ada")
        seconds = time.monotonic() - began
        back, reviewer = approved(browser, maker.saved("Save the file for review", folder), folder / "reviewer")
        began = time.monotonic()
        maker.reach("Take the reviewed file")
        with maker.page.expect_file_chooser() as chooser:
            maker.press("Enter")
        chooser.value.set_files(back)
        maker.page.wait_for_selector("text=It will say that Bo approved it")
        maker.reach("Write the release", "Shift+Tab")
        maker.press("Enter")
        maker.page.wait_for_selector("text=Written and proved again")
        return maker, reviewer, verdict, seconds + time.monotonic() - began


def main() -> None:
    if CHROMIUM is None:
        sys.exit("skipped: no Chromium on this machine (Debian: apt install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for title, file in FILES.items():
            if not file.exists():
                print(f"{title}: skipped, for its file does not lie beside the project")
                continue
            with tempfile.TemporaryDirectory() as folder:
                maker, reviewer, verdict, seconds = journey(browser, file, Path(folder))
            print(
                f"{title}: {maker.presses} presses and {maker.characters} characters, {reviewer.presses} and "
                f"{reviewer.characters} by the second person; {seconds:.0f} s of waiting: {verdict}"
            )
        browser.close()


if __name__ == "__main__":
    main()
