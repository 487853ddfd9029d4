"""The ledger in the studio: a wave is entered, the next one proved beside it, and one that never left withdrawn."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from studio.pages import IN_A_BROWSER, another, barriers, go, settled, visit
from studio.running import Running, opened

pytestmark = IN_A_BROWSER

PLAN = """
columns: {person: identifier, age: {role: quasi-identifier, level: continuous}, sex: quasi-identifier}
steps: [{partition: mdav, k: 3, columns: [age, sex]}]
requirements: [{privacy: k-anonymity, k: 3}]
"""


@pytest.fixture(scope="module")
def waves(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder = tmp_path_factory.mktemp("waves")
    frame = pl.DataFrame(
        {"person": range(100, 160), "age": [20 + i % 30 for i in range(60)], "sex": [i % 2 for i in range(60)]}
    )
    frame.write_csv(folder / "people.csv")
    opened(shared, folder / "people.csv").act("edit", text=PLAN)
    return shared


def written(studio: Running, directory: Path) -> None:
    studio.act("run")
    number = studio.idle()["runs"][-1]["number"]
    assert studio.idle()["runs"][-1]["released"], studio.ask("result", {"run": number})
    studio.act("export", run=number, directory=str(directory))
    notice = studio.idle()["notice"]
    assert notice[0] == "done", notice


def test_a_further_wave_is_proved_beside_the_first(browser: Any, waves: Running, tmp_path: Path) -> None:
    with visit(browser, waves, another(waves), viewport={"width": 390, "height": 800}) as page:
        page.wait_for_selector("nav")
        go(page, "Ledger")
        page.click("text=Keep a ledger")
        page.wait_for_selector("text=None: this is the first wave")
        assert waves.idle()["tree"]["ledger"] == {"key": "person"}
        written(waves, tmp_path / "first")
        page.fill("label:has-text('Folder of the release') + textarea", str(tmp_path / "first"))
        page.click("button:text-is('Change')")
        page.wait_for_selector(".waves tbody tr:has-text('60')")
        assert page.locator(".waves tbody tr").count() == 1
        settled(page)
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        written(waves, tmp_path / "second")
        sentences = [v["sentence"] for v in waves.ask("result", {"run": 2})[1]["requirements"]]
        assert any("this release and 1 earlier one" in sentence for sentence in sentences)
        assert ", after=" in waves.ask("document", {"what": "script", "run": 2})[1]["text"]
        page.fill("label:has-text('Folder of the release') + textarea", str(tmp_path / "second"))
        page.click("button:text-is('Change')")
        page.locator(".waves tbody tr").nth(1).wait_for()
        page.click("text=Withdraw release 2")
        page.fill("label:has-text('Why does nobody') + .row input", "never sent")
        page.click("text=Withdraw it")
        page.wait_for_selector(".waves >> text=never sent")
        page.wait_for_selector("text=1 release counts")


def test_a_folder_without_a_ledger_is_refused_and_a_wave_that_tells_persons_apart_too(
    waves: Running, tmp_path: Path
) -> None:
    waves.act("edit", text=PLAN)
    status, answer = waves.ask("do", {"do": "keep", "with": {"address": str(tmp_path), "key": "person"}})
    assert status == 422 and "has no private/releases.ledger" in answer["error"]
    waves.act("keep", address="other.ledger", key="person")
    written(waves, tmp_path / "third")
    assert waves.ask("ledger")[1]["releases"][0]["persons"] == 60
    waves.act("put", changes=[{"place": ["steps", 0, "columns"], "value": ["age"]}], note="other groups")
    waves.act("put", changes=[{"place": ["steps", 0, "k"], "value": 10}], note="other groups")
    waves.act("run")
    last = waves.idle()["runs"][-1]
    result = waves.ask("result", {"run": last["number"]})[1]
    assert not last["released"]
    assert [v["holds"] for v in result["requirements"] if "over releases" in v["requirement"]] == [False]


def test_releases_that_do_not_know_of_each_other_are_carried_on_together(waves: Running, tmp_path: Path) -> None:
    """Two waves after the same first one; the next is proved beside both, and enters a ledger of all."""
    waves.act("edit", text=PLAN)
    waves.act("keep", address="", key="person")
    written(waves, tmp_path / "root")
    waves.act("keep", address=str(tmp_path / "root"), key="person")
    for name in ("left", "right"):
        written(waves, tmp_path / name)
    waves.act("keep", address=f"{tmp_path / 'left'}\n{tmp_path / 'right'}", key="person")
    assert [Path(folder).name for folder in waves.idle()["after"]] == ["left", "right"]
    assert [release["persons"] for release in waves.ask("ledger")[1]["releases"]] == [60] * 3
    status, answer = waves.ask("do", {"do": "withdraw", "with": {"number": 1, "because": "never sent"}})
    assert status == 422 and "Name the one alone" in answer["error"]
    status, answer = waves.ask(
        "do", {"do": "keep", "with": {"address": f"{tmp_path / 'left'}\nother.ledger", "key": "person"}}
    )
    assert status == 422 and "Name the file alone" in answer["error"]
    written(waves, tmp_path / "both")
    waves.act("keep", address=str(tmp_path / "both"), key="person")
    assert len(waves.ask("ledger")[1]["releases"]) == 4
