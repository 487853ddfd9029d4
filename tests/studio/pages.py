"""What tests do with the page of a studio in a browser."""

import asyncio
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.running import LONGEST, Running, cleared, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
IN_A_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)"),
]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = Path(__file__).parent / "vendor" / "axe.js"
SCREENS = ["Columns", "Hierarchies", "Steps", "Frontier", "Result", "Risk", "Utility", "Compare", "Ledger", "Export"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Any, Any]]:
    """A browser for all tests of a process, and the event loop that its calls run."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield started, loop
        asyncio._set_running_loop(loop)
        started.close()


@pytest.fixture(scope="module")
def browser(chromium: tuple[Any, Any]) -> Iterator[Any]:
    """The browser, with its event loop; without one after the tests of a module, for others may want their own."""
    started, loop = chromium
    asyncio._set_running_loop(loop)
    yield started
    asyncio._set_running_loop(None)


CUT_OFF = """() => [...document.querySelectorAll('#studio *')].filter((e) => {
  const style = getComputedStyle(e);
  const hides = ['hidden', 'clip'].includes(style.overflowX) && style.textOverflow !== 'ellipsis';
  return hides && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && !e.closest('svg, .cm-editor');
}).map((e) => e.outerHTML.slice(0, 120))"""
"""What hides a part of itself that nobody can scroll to."""


@contextmanager
def visit(browser: Any, studio: Running, address: str | None = None, **how: Any) -> Iterator[Any]:
    """A page of the studio; nothing may be asked of another host, and nothing stand in the console."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **how})
    context.set_default_timeout(LONGEST * 1000)
    page = context.new_page()
    messages: list[str] = []
    asked: set[str] = set()
    page.on("console", lambda message: messages.append(f"{message.text} {message.location['url']}"))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: asked.add(re.sub(r"^(\w+://[^/]*|blob:).*", r"\1", request.url)))
    page.goto(address or studio.address)
    yield page
    context.close()
    assert messages == [], messages
    assert asked <= {f"http://127.0.0.1:{studio.port}", "blob:", "data:,"}


def another(studio: Running) -> str:
    """The address of another tab of a studio that a test has the key of."""
    token = studio.ask("another-tab")[1]["token"]
    return f"http://127.0.0.1:{studio.port}/#{token}"


def go(page: Any, screen: str) -> None:
    page.click(f"nav >> text={screen}")
    page.wait_for_selector(f"h1:has-text('{screen}')")


def show_plan(page: Any) -> None:
    """Open the drawer with the text of the plan, whose editor is loaded then."""
    page.click("text=Show the plan")
    page.wait_for_selector(".cm-content")


def right(page: Any) -> None:
    """Wait until the plan has no mistakes."""
    page.wait_for_selector(".standing .mistakes:empty", state="attached")


def settled(page: Any) -> None:
    """Wait until nothing on the screen is still being counted or read (a page's own policy forbids waiting in it)."""
    end = time.monotonic() + LONGEST
    while any("…" in text for text in page.locator("main .hint").all_inner_texts()):
        assert time.monotonic() < end
        time.sleep(0.05)


def run(page: Any, number: int, outcome: str = "proved") -> None:
    page.click(".top >> text=Run")
    page.wait_for_selector(f"text=run {number} {outcome}")


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A studio for all tests of a process; to start one takes seconds."""
    with running(tmp_path_factory.mktemp("fresh")) as started:
        started.enter()
        started.act("tour")  # which stands over what is tested
        yield started


@pytest.fixture
def fresh(empty: Running) -> Running:
    """A studio without a table, as it was started."""
    return cleared(empty)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Another studio, in which a module opens its table for all its tests."""
    with running(tmp_path_factory.mktemp("shared")) as started:
        started.enter()
        started.act("tour")
        yield started


TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

VIOLATIONS = """async (how) => {
  const audit = await axe.run(document, { ...how, resultTypes: ['violations'] });
  return audit.violations.map((v) => [v.id, v.nodes[0].html.slice(0, 200)]);
}"""
"""To hand over all that holds, too, takes longer than the audit."""


OPEN_ALL = "() => document.querySelectorAll('main details, .plan details').forEach((e) => { e.open = true; })"


def barriers(page: Any, *rules: str) -> list[list[str]]:
    """What axe finds on the page as it is, by all its rules if none are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")  # colours on their way
    every = {"runOnly": TAGS, "rules": {"label-content-name-mismatch": {"enabled": True}}}
    return list(page.evaluate(VIOLATIONS, {"runOnly": list(rules)} if rules else every))
