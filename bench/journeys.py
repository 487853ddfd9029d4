"""From a file to a release that a second person approved, by keyboard alone and by mouse: presses, clicks, time.

    PYTHONPATH=src:tests python bench/journeys.py

Opens each file, leaves the guessed plan as it is, runs it, hands the run over for review, approves it in another
studio, takes the approval back and writes the release; nothing is known beforehand but the page: by mouse the screens
are those that its button for the next step opens, where it has one. By keyboard a screen is reached by Ctrl K and its
name, everything else by Tab. Counted are presses, clicks and characters of names and paths. A person's time is that of
the keystroke-level model (Card, Moran & Newell 1980): .28 s a press or character, 1.3 s to point and click, and
1.35 s to think before each of what is done; what the machine takes is measured and added.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from studio.pages import ARGUMENTS, CHROMIUM
from studio.running import LONGEST, running
from studio.test_stories import FOCUS

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = {"a survey (4,580 x 14)": DATA / "testdata.csv", "Adult (30,162 x 9)": DATA / "adult" / "adult.csv"}
KEY, CLICK, THOUGHT = 0.28, 1.3, 1.35


class Person:
    """Somebody at a page, and what is counted of it."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page()
        self.page.set_default_timeout(LONGEST * 1000)
        self.page.goto(address)
        self.presses = self.clicks = self.characters = self.acts = 0

    @property
    def seconds(self) -> float:
        return KEY * (self.presses + self.characters) + CLICK * self.clicks + THOUGHT * self.acts

    def write(self, label: str, text: str) -> None:
        self.to(label)
        self.page.keyboard.type(text)
        self.characters += len(text)
        self.acts += 1

    def saved(self, words: str, folder: Path) -> Path:
        """The file that a button saves."""
        with self.page.expect_download() as download:
            self.push(words)
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def take(self, words: str, file: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.push(words)
        chooser.value.set_files(file)

    def to(self, words: str) -> None:
        """Go to what bears the words."""
        raise NotImplementedError

    def push(self, words: str) -> None:
        """Push a button."""
        raise NotImplementedError

    def go(self, screen: str) -> None:
        raise NotImplementedError


class Keyboard(Person):
    """Without a mouse."""

    def press(self, keys: str) -> None:
        self.page.keyboard.press(keys)
        self.presses += 1

    def to(self, words: str) -> None:
        for _ in range(300):
            self.press("Tab" if words != "Write the release" else "Shift+Tab")
            name, seen = self.page.evaluate(FOCUS)
            assert seen, name
            if name.startswith(words):
                return
        raise AssertionError(f"no way by keyboard to '{words}'")

    def push(self, words: str) -> None:
        if words == "Run":
            self.press("Control+Enter")
        elif words == "Open":
            self.press("Enter")
        else:
            self.to(words)
            self.press("Enter")
        self.acts += 1

    def go(self, screen: str) -> None:
        self.press("Control+k")
        self.page.keyboard.type(screen)
        self.characters += len(screen)
        self.press("Enter")
        self.acts += 1
        self.page.wait_for_selector(f"h1:has-text('{screen}')")


class Mouse(Person):
    """By clicks on what can be read."""

    def click(self, place: Any) -> None:
        place.click()
        self.clicks += 1

    def to(self, words: str) -> None:
        self.click(self.page.get_by_label(words))

    def push(self, words: str) -> None:
        named = self.page.locator(f"label.file:has-text('{words}')") if words.startswith("Take") else None
        self.click(named or self.page.get_by_role("button", name=words, exact=True))
        self.acts += 1

    def go(self, screen: str) -> None:
        step = {"Result": "See what is left to decide", "Export": "Hand it over"}[screen]
        if not self.page.locator(f"h1:has-text('{screen}')").count():
            self.push(step)
        self.page.wait_for_selector(f"h1:has-text('{screen}')")


@contextmanager
def person(kind: type[Person], browser: Any, address: str) -> Iterator[Person]:
    somebody = kind(browser, address)
    yield somebody
    somebody.page.close()


def approved(kind: type[Person], browser: Any, review: Path, folder: Path) -> tuple[Path, Person]:
    """The file that a second person gives back."""
    with running(folder, str(review)) as studio, person(kind, browser, studio.address) as reviewer:
        reviewer.page.wait_for_selector("h2:text-is('Your review')")
        reviewer.write("Your name", "Bo")
        reviewer.push("Approve this release")
        reviewer.page.wait_for_selector("text=Approved by Bo")
        return reviewer.saved("Save the file", folder), reviewer


def journey(kind: type[Person], browser: Any, file: Path, folder: Path) -> tuple[Person, Person, str, float]:
    """The maker, the reviewer, what the verdict was, and the seconds that the maker's machine took."""
    (folder / "reviewer").mkdir()
    with running(folder) as studio, person(kind, browser, studio.address) as maker:
        began = time.monotonic()
        maker.page.wait_for_selector("h1:text-is('Open a table')")
        maker.write("Or its path on this machine", str(file))
        maker.push("Open")
        maker.page.wait_for_selector(".exposure .big")
        maker.push("Run")
        maker.page.wait_for_selector(".top >> text=/run 1 (proved|refused)/")
        maker.page.wait_for_selector(".standing strong")
        maker.go("Result")
        verdict = maker.page.inner_text(".verdict strong >> nth=0")
        maker.go("Export")
        maker.write("Your name", "Ada")
        seconds = time.monotonic() - began
        back, reviewer = approved(kind, browser, maker.saved("Save the file for review", folder), folder / "reviewer")
        began = time.monotonic()
        maker.take("Take the reviewed file", back)
        maker.page.wait_for_selector("text=It will say that Bo approved it")
        maker.push("Write the release")
        maker.page.wait_for_selector("text=Written and proved again")
        return maker, reviewer, verdict, seconds + time.monotonic() - began


def counted(who: Person) -> str:
    return f"{who.presses} presses, {who.clicks} clicks, {who.characters} characters"


def main() -> None:
    if CHROMIUM is None:
        sys.exit("skipped: no Chromium on this machine (Debian: apt install chromium)")
    with sync_playwright() as driver:
        for title, file in FILES.items():
            if not file.exists():
                print(f"{title}: skipped, for its file does not lie beside the project")
                continue
            for kind in (Keyboard, Mouse):
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
                with tempfile.TemporaryDirectory() as folder:
                    maker, reviewer, verdict, seconds = journey(kind, browser, file, Path(folder))
                browser.close()
                print(
                    f"{title}, {kind.__name__.lower()}: {counted(maker)}; by the second person {counted(reviewer)}; "
                    f"{(maker.seconds + reviewer.seconds) / 60:.1f} minutes of both and {seconds:.0f} s of the "
                    f"machine: {verdict}"
                )


if __name__ == "__main__":
    main()
