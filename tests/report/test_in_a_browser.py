"""The pages in a real browser: no request, no error, no sideways scrolling, readable in both colour schemes."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.desk.frontier import explore
from shoal.release import NotProved
from shoal.release.publish import publish_frontier
from shoal.report.comparison_page import comparison_page
from shoal.table.examples import PLAN
from shoal.table.files.table import Table
from studio.pages import IN_A_BROWSER

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    table = shoal.example(n=200, seed=1)
    out = shoal.protect(table, PLAN, seed=1).write(folder / "out")
    ranges = {"columns": PLAN["columns"], "explore": {"method": ["mdav"], "k": [3, 6, 9]}}
    publish_frontier(explore(table, ranges, folder / "explored"), folder / "explored")
    wide = {f"{'unbroken' * 6}{j}": np.random.default_rng(j).normal(size=60) for j in range(20)}
    roles = dict.fromkeys(wide, "confidential") | {next(iter(wide)): "quasi-identifier"}
    wider = shoal.protect(pl.DataFrame(wide), {"columns": roles}, seed=1).write(folder / "wide", unproved=True)
    compared = {
        f"a release with a long name {i}": json.loads((out / "release" / "evidence.json").read_text()) for i in range(4)
    }
    (folder / "comparison.html").write_text(comparison_page(compared))
    with pytest.raises(NotProved) as refusal:
        shoal.protect(table, {**PLAN, "requirements": [{"privacy": "k-anonymity", "k": 9}]}, seed=1)
    (folder / "refusal.html").write_text(refusal.value.page())
    survey = shoal.protect(SURVEY, SURVEY_PLAN, seed=1).write(folder / "survey", labels=LABELLED)
    return {
        "report": out / "release" / "report.html",
        "private": out / "private" / "report.html",
        "frontier": folder / "explored" / "frontier.html",
        "wide": wider / "release" / "report.html",
        "survey": survey / "private" / "report.html",
        "comparison": folder / "comparison.html",
        "refusal": folder / "refusal.html",
        "dossier": shoal.dossier(out).write(folder / "dossier.html"),
    }


LABELS = {1: "employed", 2: "unemployed, or looking for a first job since the end of school", 3: "neither"}
SURVEY = pl.DataFrame({"status": [1, 1, 2, 3] * 15, "sex": ["f", "m", "f", "f", "m"] * 12, "pay": range(60)})
LABELLED = Table(frame=SURVEY, value_labels={"status": LABELS})
KEY = {"role": "quasi-identifier", "level": "nominal"}
SURVEY_PLAN = {
    "columns": {"status": KEY, "sex": KEY, "pay": "confidential"},
    "accept": ["pay"],
    "steps": [{"mask": "suppress", "k": 9}],
    "requirements": [{"privacy": "k-anonymity", "k": 9, "missing": "wildcard"}],
}
PAGES = ("report", "private", "frontier", "wide", "survey", "comparison", "refusal", "dossier")


@pytest.mark.parametrize("name", PAGES)
def test_page(browser: Any, pages: dict[str, Path], name: str) -> None:
    """At every width of a window, and in both colour schemes: it is opened once, and the window changed."""
    page = browser.new_page()
    messages: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name].as_uri())
    for scheme, width in (("light", 360), ("light", 1200), ("light", 500), ("dark", 500)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("window.innerWidth") == width
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (scheme, width)
        assert page.evaluate(UNSEEN_CELLS) == 0, (scheme, width)
        assert page.evaluate(NOTHING_CUT) == [], (scheme, width)
    papers = {assert_colours_can_be_read(page, scheme) for scheme in ("light", "dark")}
    assert len(papers) == 2
    assert messages == []
    assert asked == [pages[name].as_uri()]
    page.close()


def assert_colours_can_be_read(page: Any, scheme: str) -> str:
    """The colour of the paper, against which text and marks are seen."""
    page.emulate_media(color_scheme=scheme)
    paper = str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert contrast([page.evaluate("getComputedStyle(document.body).color"), paper]) >= 4.5
    for colour in ("before", "after", "soft"):  # those of marks
        page.evaluate(f"document.body.style.color = 'var(--{colour})'")
        assert contrast([page.evaluate("getComputedStyle(document.body).color"), paper]) >= 3
    page.evaluate("document.body.style.color = ''")
    return paper


UNSEEN_CELLS = "[...document.querySelectorAll('th, td')].filter(c => c.scrollWidth > c.clientWidth + 1).length"

NOTHING_CUT = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  const spare = r => Math.min(r.left - box.left, box.right - r.right, r.top - box.top, box.bottom - r.bottom);
  const texts = [...svg.querySelectorAll('text')].filter(text => spare(text.getBoundingClientRect()) < -1);
  return texts.map(text => text.textContent);
})"""
"""The texts of pictures that reach beyond them."""

AUDIT = "async (how) => (await axe.run(document, how)).violations"

AXE = Path(__file__).parents[1] / "studio" / "vendor" / "axe.js"


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(browser: Any, pages: dict[str, Path], name: str) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 900}, bypass_csp=True)
    page.goto(pages[name].as_uri())
    page.add_script_tag(path=AXE)
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):  # all else is the same
        page.emulate_media(color_scheme=scheme)
        violations = page.evaluate(AUDIT, {**rules, "resultTypes": ["violations"]})
        described = [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:200]}" for one in violations]
        assert described == [], scheme
    page.close()


def test_on_paper_every_bar_differs_without_colour(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    """Original and released differ in lightness: WCAG asks 3 to 1 of neighbouring parts of a picture."""
    page = browser.new_page()
    page.goto(pages["private"].as_uri())
    page.emulate_media(media="print")
    colours = []
    for name in ("pale", "after"):
        page.evaluate(f"document.body.style.color = 'var(--{name})'")
        colours.append(page.evaluate("getComputedStyle(document.body).color"))
    assert contrast(colours) >= 3
    assert len(page.pdf(format="A4")) > 10_000
    page.close()


def test_a_notebooks_outputs_load_nothing(browser: Any, tmp_path: Path) -> None:
    """What the cells show, as a page: every picture is drawn, and the page alone was asked for."""
    release = shoal.protect(shoal.example(n=200, seed=1), PLAN, seed=1)
    pictures = (release.plot(), release.plot("age"), release.evidence.plot())
    outputs = [release._repr_html_(), *(form for one in pictures for form in _forms(one))]
    (tmp_path / "notebook.html").write_text("\n".join(["<!doctype html>", *outputs]))
    asked, page = _opened(browser, tmp_path / "notebook.html")
    assert asked == {"file"}
    assert page.locator("svg").count() >= len(pictures)
    page.close()


def _forms(value: Any) -> list[str]:
    """The forms of a value that a notebook shows, as IPython finds them."""
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(value)
    return [text for kind, text in data.items() if kind in ("text/html", "image/svg+xml")]


def test_formulas_of_the_documentation_load_nothing(browser: Any, project: Path, tmp_path: Path) -> None:
    """Its pages as `make docs` makes them: formulas are drawn, wide and high as formulas are."""
    pytest.importorskip("furo", reason="the documentation is built with the extra docs")
    from sphinx.cmd.build import build_main

    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("conf.py", "explanation/differential-privacy.md"):
        shutil.copy(project / "docs" / name, pages)
    (pages / "index.md").write_text("# shoal\n\n```{toctree}\ndifferential-privacy\n```\n")
    assert build_main(["-q", "-b", "html", "-D", "suppress_warnings=myst", str(pages), str(tmp_path / "built")]) == 0
    asked, page = _opened(browser, tmp_path / "built" / "differential-privacy.html")
    assert asked == {"file"}
    sizes = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().toJSON())")
    assert len(sizes) > 50
    assert all(size["width"] > 3 and size["height"] > 5 for size in sizes)
    page.close()


def _opened(browser: Any, path: Path) -> tuple[set[str], Any]:
    """A page in the browser, and by which schemes anything was asked for."""
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    return {url.partition(":")[0] for url in asked} - {"data"}, page


def contrast(colours: list[str]) -> float:
    """Contrast ratio of two CSS colours (WCAG 2.1, section 1.4.3)."""
    light = []
    for colour in colours:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)
