"""The studio in a browser, on a real server: a path through every screen, and what users of its peers suffer from."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from by_night import by_night
from studio.pages import (
    CUT_OFF,
    IN_A_BROWSER,
    OPEN_ALL,
    SCREENS,
    another,
    barriers,
    go,
    right,
    run,
    settled,
    show_plan,
    visit,
)
from studio.running import LONGEST, Running, cleared, opened, running

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def studio(shared: Running) -> Running:
    """With the example, two runs and a frontier."""
    cleared(shared).act("example")
    shared.idle()
    shared.act("run")
    shared.idle()
    shared.act("put", changes=[{"place": ["explore"], "value": {"method": ["mdav"], "k": [3, 8]}}], note="explore")
    shared.act("explore")
    shared.idle()
    shared.act("put", changes=[{"place": ["steps", 0, "k"], "value": 8}], note="k")
    shared.act("run")
    shared.idle()
    return shared


@pytest.fixture(scope="module")
def page(browser: Any, studio: Running) -> Iterator[Any]:
    """One page of that studio for tests that leave nothing half done: to load it takes most of the time of a test."""
    with visit(browser, studio, another(studio)) as page:
        page.wait_for_selector("nav")
        yield page


def test_columns_that_single_people_out_are_answered_for_with_one_click_each(
    browser: Any, fresh: Running, tmp_path: Path
) -> None:
    """The answer is an entry of the plan, one column a click, and can be undone."""
    rows = [f"{'fm'[i % 2]},{i},{2 * i + 1},{i // 20}" for i in range(400)]
    (tmp_path / "wards.csv").write_text("\n".join(["sex,weight,bed,ward", *rows]))
    plan = {
        "columns": {"sex": "quasi-identifier", "weight": "other", "bed": "identifier", "ward": "other"},
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    with visit(browser, fresh, another(fresh)) as page:
        page.set_input_files(".drop input", tmp_path / "wards.csv")
        page.wait_for_selector(".exposure .big")
        page.set_input_files(".plan input[type=file]", tmp_path / "plan.yaml")
        run(page, 1, "refused")
        go(page, "Result")
        page.click("button:has-text('Accept weight, which singles out 100.0 % of the records')")
        page.wait_for_selector("text=The plan now answers for these columns")
        assert fresh.idle()["tree"]["accept"] == ["weight"]
        run(page, 2, "proved")
        page.click("button:has-text('Undo')")
        page.wait_for_selector("text=plan changed since")
        assert "accept" not in fresh.idle()["tree"]


EVERYTHING = "() => [...document.querySelectorAll('main .card h3 code')].map((e) => e.textContent)"


def test_every_method_has_its_form(page: Any, studio: Running) -> None:
    """All that are registered at once, as the page itself would add them; none needs code of its own."""
    methods = studio.ask("methods")[1]["methods"]
    kinds = {"steps": ("partition", "mask"), "requirements": ("privacy",), "measures": ("risk", "utility")}
    at = studio.ask("state")[1]["at"]
    lists = {place: [{m["kind"]: m["name"]} for m in methods if m["kind"] in kinds[place]] for place in kinds}
    studio.act("put", changes=[{"place": [place], "value": specs} for place, specs in lists.items()], note="everything")
    go(page, "Steps")
    page.wait_for_selector(".top >> text=everything")
    shown = page.evaluate(EVERYTHING)
    assert shown == [name for specs in lists.values() for spec in specs for name in spec.values()]
    assert page.locator("text=This method is not known").count() == 0
    cards = page.locator("main .card")
    wrong = [m["place"] for m in studio.ask("state")[1]["mistakes"] if m["place"][:1] == ["steps"]]
    assert wrong
    for place in wrong:  # each stands beside its step
        assert cards.nth(place[1]).locator(".mistakes").count(), place
    studio.act("go", at=at)


def test_no_screen_scrolls_sideways(browser: Any, studio: Running) -> None:
    """320 px is what is left of 1,280 px at 400 %; nothing may be cut off there."""
    with visit(browser, studio, another(studio), viewport={"width": 800, "height": 800}) as page:
        page.wait_for_selector("nav")
        for screen in SCREENS:
            go(page, screen)
            settled(page)
            for width in (800, 320, 360)[: by_night(2, 3)]:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (screen, width)
                assert page.evaluate(CUT_OFF) == [], (screen, width)


def test_from_a_file_to_a_release_on_the_disk(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """The whole path, by mouse: open, roles, a step, a requirement, run, look, hand over."""
    import shoal

    shoal.example(n=300, seed=2).write_csv(tmp_path / "people.csv")
    opened(fresh, tmp_path / "people.csv")
    with visit(browser, fresh, another(fresh)) as page:
        page.wait_for_selector(".exposure .big")
        page.select_option("[aria-label='Role of diagnosis']", "confidential")
        page.wait_for_selector(".top >> text=diagnosis: role confidential")
        for name in ("discharge", "payer", "admission"):
            page.select_option(f"[aria-label='Role of {name}']", "identifier")
        go(page, "Steps")
        page.click("text=Add a requirement")
        page.click("[aria-label='Add l-diversity']")
        page.wait_for_selector("h3:has-text('l-diversity')")
        run(page, 1, "")
        page.wait_for_selector(".verdict")
        page.wait_for_selector("text=Records found again by distance")
        go(page, "Export")
        page.fill("text=Folder to write >> xpath=following-sibling::input", str(tmp_path / "out"))
        if page.locator("text=Write the release").count():
            page.click("text=Write the release")
            page.wait_for_selector("text=Written and proved again")
            assert (tmp_path / "out" / "release" / "report.html").is_file()


def test_what_is_exported_is_what_ran(page: Any, studio: Running, tmp_path: Path) -> None:
    """Peers: the exported script differs from what was done."""
    go(page, "Export")
    page.select_option("main select", "1")
    page.wait_for_selector("text=Save the script")
    with page.expect_download() as script:
        page.click("text=Save the script")
    with page.expect_download() as plan:
        page.click("text=Save the plan")
    script.value.save_as(tmp_path / "protect.py")
    plan.value.save_as(tmp_path / "plan.yaml")
    ran = studio.ask("result", {"run": 1})[1]
    assert (tmp_path / "plan.yaml").read_text() == ran["text"]
    namespace: dict[str, Any] = {}
    program = (tmp_path / "protect.py").read_text().replace('release.write("release")', "")
    exec(program.replace('"plan.yaml"', repr(str(tmp_path / "again.yaml"))), namespace)
    again = [v.achieved for v in namespace["release"].evidence.verdicts]
    assert again == [v["achieved"] for v in ran["requirements"]]
    figures = {f.title: f.value for f in namespace["release"].evidence.findings}
    assert figures == pytest.approx({m["title"]: m["value"] for m in ran["measures"]}, nan_ok=True, abs=1e-9)


def test_a_refused_plan_is_understood_and_mended(browser: Any, fresh: Running) -> None:
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        go(page, "Steps")
        field = page.locator("section:has(> h2:text-is('Requirements')) input").first
        field.fill("20")
        field.press("Tab")
        page.wait_for_selector(".top >> text=k-anonymity: k")
        run(page, 1, "refused")
        page.wait_for_selector("text=Refused: nothing is released")
        assert "20-anonymity does not hold" in page.inner_text(".verdict")
        go(page, "Steps")
        field = page.locator("section:has(> h2:text-is('Steps')) input").first
        field.fill("20")
        field.press("Tab")
        page.wait_for_selector(".top >> text=MDAV: k")
        run(page, 2)
        page.wait_for_selector("text=Proved as far as the plan asks")


def test_what_stops_a_release_that_is_proved_is_said(browser: Any, fresh: Running) -> None:
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        page.select_option("[aria-label='Role of charge']", "other")
        page.wait_for_selector(".top >> text=charge: role")
        run(page, 1, "refused")
        assert "'charge' singles out" in page.inner_text(".verdict")


def test_forms_and_text_are_one(browser: Any, fresh: Running) -> None:
    """Typing in the plan changes the forms; a mistake stands beside the field and at its line; undo is undo."""
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        show_plan(page)
        go(page, "Steps")
        field = page.locator("section:has(> h2:text-is('Steps')) input").first
        field.fill("0")
        field.press("Tab")
        page.wait_for_selector(".field.wrong >> text=k must be")
        page.wait_for_selector(".plan .mistakes >> text=k must be")
        assert page.get_attribute(".top button.strong", "aria-disabled") == "true"
        page.click(".top >> text=Undo")
        right(page)
        assert field.input_value() == "5"
        page.click(".cm-content")
        page.keyboard.press("Control+End")
        page.keyboard.type("measures: [{risk: suda2}]")
        page.wait_for_selector("h3:has-text('SUDA2')")
        page.keyboard.press("Control+z")
        page.wait_for_selector("h3:has-text('SUDA2')", state="detached")


def test_a_file_is_dropped_with_how_it_is_written(browser: Any, fresh: Running) -> None:
    """Semicolons and decimal commas; the file is never written to the disk by the studio."""
    text = "alter;einkommen\n" + "".join(f"{20 + i % 40};{i},5\n" for i in range(60))
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=If the file is read wrongly")
        page.fill("#how-delimiter", ";")
        page.fill("#how-decimal", ",")
        given = {"name": "leute.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.set_input_files(".drop input", given)
        page.wait_for_selector(".column >> text=einkommen")
        assert "number · 60 values" in page.inner_text(".columns-list")
        page.wait_for_selector(".top >> text=leute.csv")


def test_a_plan_is_saved_and_opened_again(browser: Any, fresh: Running, tmp_path: Path) -> None:
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        show_plan(page)
        with page.expect_download() as saved:
            page.click("text=Save this plan")
        saved.value.save_as(tmp_path / "plan.yaml")
        plan = (tmp_path / "plan.yaml").read_text()
        (tmp_path / "plan.yaml").write_text(plan.replace("k: 5", "k: 7"))
        page.set_input_files(".plan input[type=file]", tmp_path / "plan.yaml")
        page.wait_for_selector(".top >> text=open plan.yaml")
        go(page, "Steps")
        assert page.locator("section:has(> h2:text-is('Steps')) .card input").first.input_value() == "7"


def test_many_columns_are_changed_at_once(browser: Any, fresh: Running) -> None:
    """Peers: columns are edited one by one. One undo takes all of it back."""
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        page.check("label:has-text('all') >> input")
        page.select_option("label:has-text('Role of the') >> select", "other")
        page.wait_for_selector("text=No column has the role quasi-identifier")
        page.click(".top >> text=Undo")
        page.wait_for_selector(".exposure .big")


def test_work_is_cancelled_and_nothing_is_lost(browser: Any, fresh: Running) -> None:
    """Peers: the window greys out. Here other screens answer while it works, and cancelling keeps the table."""
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        go(page, "Frontier")
        page.click("text=Choose methods and measures yourself")
        for name in ("gaussian-mixture", "latent-class", "vmdav"):
            page.check(f"label:has-text('{name}') >> input")
        page.get_by_label("group sizes k").fill(", ".join(map(str, range(3, 200))))  # more than is done before the end
        page.click("text=Try them")
        page.wait_for_selector(".status progress")
        go(page, "Columns")
        page.click("text=Look at the rows")
        page.wait_for_selector("table.rows tbody tr")
        go(page, "Steps")
        field = page.locator("section:has(> h2:text-is('Steps')) input").first
        field.fill("17")
        for _ in range(8):  # while the work reports, what is typed stays
            assert field.input_value() == "17"
            assert page.locator(".status progress").count() == 1
            page.wait_for_timeout(100)
        field.press("Escape")
        field.fill("5")
        page.click(".top >> text=Cancel")
        page.wait_for_selector("text=Cancelled. The table and all earlier results are still here.")
        run(page, 1)


def test_what_is_typed_stays_whatever_arrives(browser: Any, studio: Running) -> None:
    """News from another tab draw the screen again while a field is being filled in."""
    fields = {"Export": "Folder to write", "Frontier": "group sizes k"}
    with visit(browser, studio, another(studio)) as page:
        page.wait_for_selector("nav")
        for screen, label in fields.items():
            go(page, screen)
            if screen == "Frontier":
                page.click("text=Choose methods and measures yourself")
            field = page.get_by_label(label)
            field.press("Control+a")
            field.press_sequentially("3, ")
            studio.act("put", changes=[{"place": ["columns", "payer", "role"], "value": "other"}], note=f"for {screen}")
            page.wait_for_selector(f".top [title='for {screen}']", state="attached")
            field.press_sequentially("4")
            assert field.input_value() == "3, 4"
            studio.act("undo")


def test_a_run_that_ends_leaves_whoever_types_where_they_are(page: Any, studio: Running) -> None:
    go(page, "Export")
    field = page.get_by_label("Folder to write")
    field.press("Control+a")
    field.press_sequentially("rel")
    number = studio.act("run")["runs"][-1]["number"] + 1
    page.wait_for_selector(f"text=Run {number} has ended: proved.")
    field.press_sequentially("ease")
    assert field.input_value() == "release"
    page.click("text=Look")
    page.wait_for_selector("h1:has-text('Result')")
    assert page.locator(f"text=Run {number} has ended").count() == 0


def test_an_action_is_followed_by_a_look_at_once(browser: Any, studio: Running) -> None:
    at = studio.ask("state")[1]["at"]
    studio.act("put", changes=[{"place": ["release", "title"], "value": "Ours"}], note="a title")
    with visit(browser, studio, another(studio)) as page:
        page.wait_for_selector("nav")
        page.clock.install()
        page.reload()
        page.wait_for_selector(".top >> text=Undo: a title")
        page.clock.pause_at(time.time() + 60)
        looks: list[str] = []
        page.on("response", lambda response: looks.append(response.url) if "/api/state" in response.url else None)
        while not looks:  # one may be under way already
            page.clock.run_for(2600)  # then the next one is as far away as it can be
            page.wait_for_timeout(50)
        page.click(".top >> text=Undo")
        page.wait_for_selector(".top >> text=Redo: a title")  # the page has heard of it
        with page.expect_response("**/api/state"):
            page.clock.run_for(200)
    studio.act("go", at=at)


def test_the_verdict_is_that_of_the_report(browser: Any, fresh: Running) -> None:
    """What nobody limited stands beside the proof, and the riskiest records are listed."""
    fresh.act("example")
    fresh.idle()
    text = fresh.ask("state")[1]["text"]
    plan = f"{text}\nmeasures: [{{risk: individual-risk}}, {{utility: sse}}]\n"
    fresh.act("edit", text=plan if "measures:" not in text else text)
    fresh.act("run")
    fresh.idle()
    with visit(browser, fresh, another(fresh)) as page:
        page.wait_for_selector("nav")
        go(page, "Result")
        page.wait_for_selector(".verdict")
        verdict = page.inner_text(".verdict")
        assert "Proved as far as the plan asks; to decide:" in verdict
        assert "The plan states no limit on measured risk" in verdict
        assert "Smallest class" in verdict
        assert page.locator(".verdict.holds").count() == 0
        page.evaluate(OPEN_ALL)
        assert re.match(r"row [\d,]+: risk ", page.locator(".risky li").first.inner_text())


def test_a_reload_comes_back_to_the_same_place(page: Any, studio: Running) -> None:
    go(page, "Compare")
    page.reload()
    page.wait_for_selector("h1:has-text('Compare')")
    page.wait_for_selector("text=How the plans differ")


def test_a_plan_is_taken_from_the_frontier(page: Any, studio: Running) -> None:
    before = studio.ask("state")[1]["text"]
    go(page, "Frontier")
    page.click("[aria-label='Take mdav k=3']")
    page.wait_for_selector(".top >> text=take mdav k=3")
    text = studio.ask("state")[1]["text"]
    assert "- {partition: mdav, k: 3, replace: centroid}" in text
    studio.act("undo")
    assert studio.ask("state")[1]["text"] == before


def test_a_second_person_approves(browser: Any, page: Any, fresh: Running, tmp_path: Path) -> None:
    """One hands over a file without data, the other looks, comments and approves; the release says so."""
    go(page, "Export")
    page.select_option("main select", "1")
    page.fill("text=Your name >> xpath=following-sibling::input", "Ada")
    with page.expect_download() as handed:
        page.click("text=Save the file for review")
    handed.value.save_as(tmp_path / "review.json")
    with visit(browser, fresh, another(fresh)) as reviewed:
        reviewed.set_input_files(".drop input", tmp_path / "review.json")
        reviewed.wait_for_selector("h1:has-text('under review')")
        reviewed.wait_for_selector("text=5-anonymity")
        assert barriers(reviewed) == []
        assert reviewed.get_attribute("text=Approve this release", "aria-disabled") == "true"
        reviewed.fill("text=Your name >> xpath=following-sibling::input", "Bo")
        reviewed.fill("text=Comment >> xpath=following-sibling::textarea", "The board agrees.")
        reviewed.click("text=Add the comment")
        reviewed.wait_for_selector(".comments >> text=The board agrees.")
        reviewed.click("text=Approve this release")
        reviewed.wait_for_selector("text=Approved by Bo")
        with reviewed.expect_download() as given_back:
            reviewed.click("button:text-is('Save the file')")
        given_back.value.save_as(tmp_path / "review.json")
    go(page, "Export")
    page.select_option("main select", "1")
    page.set_input_files("main input[type=file]", tmp_path / "review.json")
    page.wait_for_selector("text=Approved by Bo")
    page.fill("text=Folder to write >> xpath=following-sibling::input", str(tmp_path / "out"))
    page.click("text=Write the release")
    page.wait_for_selector("text=Written and proved again")
    assert "Approved by Bo" in (tmp_path / "out" / "release" / "report.html").read_text()


def test_a_step_is_seen_before_it_is_run(page: Any, studio: Running) -> None:
    """Peers: what a recoding does is seen only when it is done. Here its counts move with its settings."""
    before = studio.ask("state")[1]["at"]
    go(page, "Steps")
    card = page.locator("section:has(> h2:text-is('Steps')) .card").first
    card.locator("text=What it would change").click()
    card.locator("h4:text-is('age')").wait_for()
    first = card.locator(".preview").inner_text()
    field = card.locator("input").first
    field.fill("40")
    field.press("Tab")
    end = time.monotonic() + LONGEST
    while card.locator(".preview").inner_text() in (first, "What it would change\n\nCounting …"):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert re.search(r"values [\d,]+ → [\d,]+", card.locator(".preview").inner_text())
    studio.act("go", at=before)


def test_everything_done_is_listed_and_can_be_gone_back_to(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """Peers: one undo, none for larger tables. The plan is kept with its history, too, where the person chooses."""
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        show_plan(page)
        for name in ("sex", "age", "area"):
            page.select_option(f"[aria-label='Role of {name}']", "other")
            page.wait_for_selector(f".top >> text={name}: role other")
        page.click("text=What was done (4)")
        page.fill("text=Name this point >> xpath=..//input", "three less")
        page.click("button:text-is('Name')")
        page.wait_for_selector(".points >> text=three less")
        page.click("[aria-label='Go to 2: sex: role other']")
        page.wait_for_selector(".points >> text=three less area")
        page.wait_for_selector("li:has-text('area: role other (undone)')")
        with page.expect_download() as saved:
            page.click("text=Save the plan with its history")
        saved.value.save_as(tmp_path / "work.json")
        page.select_option("[aria-label='Role of payer']", "other")  # which forgets what could be redone
        page.wait_for_selector("text=What was done (3)")
        page.set_input_files(".plan input[type=file]", tmp_path / "work.json")
        page.wait_for_selector("text=What was done (5)")
        page.click("[aria-label='Go to 5: three less']")
        page.wait_for_selector(".top >> text=area: role other")


def test_cells_of_a_hierarchy_are_edited(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """Peers: a hierarchy that was imported or built cannot be reviewed or changed."""
    rows = "".join(f"{town},{i}\n" for i, town in enumerate(["Arles", "Bonn", "Evora", "Ghent"] * 9))
    (tmp_path / "towns.csv").write_text(f"town,n\n{rows}")
    opened(fresh, tmp_path / "towns.csv")
    with visit(browser, fresh, another(fresh)) as page:
        page.wait_for_selector("nav")
        show_plan(page)
        page.select_option("[aria-label='Role of town']", "quasi-identifier")
        go(page, "Hierarchies")
        page.select_option("text=Column >> xpath=..//select", "town")
        page.select_option("text=from >> xpath=..//select", "prefix")
        page.fill("text=how many characters are kept >> xpath=..//input", "1")
        page.click("button:text-is('Build')")
        page.wait_for_selector("h2:text-is('Level 1')")
        page.click("text=Edit its labels")
        edits = (("Arles is under", "south"), ("Evora is under", "south"), ("Name of B", "Bonn and around"))
        for label, to in edits:  # one after another, as fast as one types
            field = page.locator(f"[aria-label^='{label}']").first
            field.fill(to)
            field.press("Tab")
        page.wait_for_selector(".top >> text=Bonn and around")
        page.wait_for_selector("[aria-label='Name of south']")
        assert barriers(page) == []
        studio_text = page.inner_text(".cm-content")
        assert "[Arles, south" in studio_text
        assert "[Bonn, Bonn and around" in studio_text
        right(page)


VIEWPORTS = {
    "zoom": {"viewport": {"width": 320, "height": 256}, "device_scale_factor": 4},
    "desk": {"viewport": {"width": 1400, "height": 900}},
}
"""What is left of a screen of 1280 x 1024 at 400 %; and a desk's."""


@pytest.mark.parametrize("how", list(VIEWPORTS)[: by_night(1, 2)])
def test_by_keyboard_alone(browser: Any, fresh: Running, how: str) -> None:
    """From the first screen to a release on the disk without a mouse, at every step with the focus in sight."""
    with visit(browser, fresh, another(fresh), **VIEWPORTS[how]) as page:
        page.wait_for_selector("text=Open a table")
        press(page, "Use the example")
        page.wait_for_selector(".exposure .big")
        reach(page, "Role of payer")
        page.keyboard.type("conf")
        page.wait_for_selector(".top [title='payer: role confidential']", state="attached")
        press(page, "Steps")
        press(page, "Add a measure")
        reach(page, "Find a method")
        page.keyboard.type("suda")
        press(page, "Add Special uniques (SUDA2)")
        page.wait_for_selector("h3:has-text('SUDA2')")
        press(page, "Undo: add Special uniques (SUDA2)")
        page.wait_for_selector("h3:has-text('SUDA2')", state="detached")
        press(page, "Run")
        page.wait_for_selector(".verdict:not(.fails)")
        press(page, "Export")
        reach(page, "Folder to write")
        page.keyboard.press("Control+a")
        page.keyboard.type(f"by-hand-{how}")
        press(page, "Write the release")
        page.wait_for_selector("text=Written and proved again")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert (fresh.log.parent / f"by-hand-{how}" / "release" / "report.html").is_file()


FOCUS = """() => {
  const e = document.activeElement;
  if (e === document.body) return ['', true];
  const box = e.getBoundingClientRect();
  const shown = getComputedStyle(e).outlineStyle !== 'none' || e.className.includes('cm-')
    || (e.type === 'file' && getComputedStyle(e.closest('.file')).outlineStyle !== 'none');
  const seen = shown && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0;
  const label = e.labels?.length ? e.labels[0].textContent : '';
  return [(e.ariaLabel || label || e.textContent).trim(), seen];
}"""
"""What has the focus is called, and whether it can be seen to have it."""


def reach(page: Any, words: str) -> None:
    """Go by Tab to what bears the words."""
    for _ in range(400):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(FOCUS)
        assert seen, name
        if name.startswith(words):
            return
    raise AssertionError(f"no way by keyboard to '{words}'")


def press(page: Any, words: str) -> None:
    """Go by Tab to what bears the words, and press it."""
    reach(page, words)
    page.keyboard.press("Enter")


def test_a_dead_server_is_said(browser: Any, tmp_path: Path) -> None:
    with running(tmp_path) as studio:
        context = browser.new_context()
        page = context.new_page()
        page.goto(studio.address)
        page.wait_for_selector("text=Open a table")
        studio.process.kill()
        page.wait_for_selector("text=The studio has ended", timeout=LONGEST * 1000)
        context.close()


def test_hostile_names_are_shown_as_they_are(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """Names and cells that a page, a plan or a terminal could obey."""
    name = '"><img src=x onerror=alert(1)>'
    rows = "\n".join(f'"<b>{i % 4}</b>",{i % 9},{i},{i % 3},"{{{{x}}}}"' for i in range(90))
    quoted = name.replace('"', '""')
    header = f'"{quoted}",{{a: b}},"# x: [y",__proto__,constructor'
    (tmp_path / "people.csv").write_text(f"{header}\n{rows}\n")
    opened(fresh, tmp_path / "people.csv")
    with visit(browser, fresh, another(fresh)) as page:
        page.wait_for_selector(".exposure")
        show_plan(page)
        assert page.locator(".column .name strong").first.inner_text() == name
        assert page.locator(".column .name strong").all_inner_texts()[3:] == ["__proto__", "constructor"]
        for strange in ("__proto__", "constructor"):
            page.select_option(f"[aria-label='Role of {strange}']", "confidential")
            page.wait_for_selector(f".top [title='{strange}: role confidential']", state="attached")
        page.click("text=Look at the rows")
        page.wait_for_selector("table.rows >> text=<b>0</b>")
        assert page.locator("main img, main table b").count() == 0
        right(page)
        page.locator(".column select").first.select_option("other")
        right(page)
        assert json.dumps(name)[1:5] in page.inner_text(".cm-content")


def add(page: Any, section: str, title: str) -> Any:
    """Add a method by its title; its card."""
    part = page.locator(f"section:has(> h2:text-is('{section}'))")
    part.locator(".adding > summary").click()
    part.locator(".adding input[type=search]").fill(title)
    part.locator(f'[aria-label="Add {title}"]').click()
    page.wait_for_selector(f'.top [title="add {title}"]', state="attached")
    card = part.locator(f'.card:has(h3:has-text("{title}"))').last
    if card.locator("summary:has-text('more setting')").count():
        card.locator("summary:has-text('more setting')").click()
    return card


def fill(page: Any, card: Any, label: str, value: str) -> None:
    """Type a setting, and wait until the plan has it."""
    before = page.locator(".cm-content").inner_text()
    field = card.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Tab")
    changed(page, before)


def tick(page: Any, card: Any, *columns: str) -> None:
    """Choose the columns of a step, as fast as one can click."""
    choice = card.locator(".field:has(> .label:text-is('columns'))")
    choice.locator("summary").click()
    for name in choice.locator("label").all_inner_texts():  # some are chosen from the beginning
        choice.get_by_role("checkbox", name=name.strip(), exact=True).set_checked(name.strip() in columns)
    choice.locator(f"summary:text-is('{', '.join(columns)}')").wait_for()


def changed(page: Any, before: str) -> None:
    end = time.monotonic() + LONGEST
    while page.locator(".cm-content").inner_text() == before:
        assert time.monotonic() < end, before
        time.sleep(0.05)


def test_what_sdcapp_does_is_done_here(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """From SPSS with labels, by forms alone: roles, recoding, suppression with importance, PRAM, noise, swapping,
    microaggregation, SUDA2, k, l and t, undo, result, script."""
    import shoal
    from shoal.table.files.table import Table
    from shoal.table.files.tables import write_table

    table = shoal.example(n=300, seed=4).select("household", "age", "sex", "payer", "charge", "los", "drugs", "glucose")
    write_table(Table(frame=table, labels={"payer": "who pays"}), tmp_path / "survey.sav")
    with visit(browser, fresh, another(fresh), viewport={"width": 1600, "height": 2400}) as page:
        page.set_input_files(".drop input", tmp_path / "survey.sav")
        page.wait_for_selector(".column >> text=who pays")
        show_plan(page)
        roles = {"household": "other", "payer": "confidential", "drugs": "other", "glucose": "other", "los": "other"}
        for name, role in roles.items():
            page.select_option(f"[aria-label='Role of {name}']", role)
        page.wait_for_selector(".top >> text=los: role other")
        go(page, "Steps")
        page.click("[aria-label='Take out MDAV']")
        page.wait_for_selector("text=No step yet")
        recode = add(page, "Steps", "Global recoding")
        tick(page, recode, "age")
        fill(page, recode, "bins", "")  # with which it begins
        fill(page, recode, "width", "20")
        recode.locator("text=What it would change").click()
        recode.locator("h4:text-is('age')").wait_for()
        recode.locator("text=What it would change").click()
        suppress = add(page, "Steps", "Local suppression")
        fill(page, suppress, "k", "3")
        suppress.get_by_label("importance: another name", exact=True).fill("sex")
        fill(page, suppress, "importance of the other name", "5")
        tick(page, add(page, "Steps", "PRAM, post-randomisation"), "payer")
        tick(page, add(page, "Steps", "Noise addition"), "los", "drugs", "glucose")
        tick(page, add(page, "Steps", "Rank swapping"), "glucose")
        tick(page, add(page, "Steps", "MDAV"), "los")
        fill(page, page.locator(".card:has(h3 > code:text-is('k-anonymity'))"), "k needed", "3")
        add(page, "Requirements", "l-diversity")
        add(page, "Requirements", "t-closeness")
        add(page, "More measures", "Special uniques (SUDA2)")
        page.click(".top >> text=Undo")
        page.wait_for_selector("h3:has-text('SUDA2')", state="detached")
        page.click(".top >> text=Redo")
        page.wait_for_selector("h3:has-text('SUDA2')")
        right(page)
        run(page, 1, "")
        page.wait_for_selector("main >> text=SUDA2")
    state = fresh.ask("state")[1]
    assert [next(iter(step.values())) for step in state["tree"]["steps"]] == [
        "recode", "suppress", "pram", "noise", "rank-swap", "mdav"
    ]  # fmt: skip
    assert state["tree"]["steps"][1]["importance"] == {"sex": 5}
    assert state["tree"]["steps"][3]["columns"] == ["los", "drugs", "glucose"]
    titles = {m["title"] for m in fresh.ask("result", {"run": 1})[1]["measures"]}
    assert {"Individual risk of re-identification", "Special uniques (SUDA2)"} <= titles


def test_the_example_opens_with_a_tour_once(browser: Any, fresh: Running) -> None:
    """It points at real controls, goes on by what is done or by Next, is left at any point, and stays away then."""
    (fresh.log.parent / "state" / "shoal" / "studio" / "tour").unlink()
    with visit(browser, fresh, another(fresh)) as page:
        page.click("text=Use the example")
        page.wait_for_selector(".tour >> text=1 of 9")
        page.wait_for_selector(".exposure[data-pointed]")
        assert page.evaluate("document.activeElement.className") == "tour"
        assert barriers(page) == []
        press(page, "Next")
        page.wait_for_selector("[aria-label='Role of diagnosis'][data-pointed]")
        page.click(".tour >> text=Go there")
        page.wait_for_selector("[aria-label='Role of diagnosis']:focus")
        page.select_option("[aria-label='Role of diagnosis']", "confidential")
        page.wait_for_selector("nav [data-title=Steps][data-pointed]")
        go(page, "Steps")
        page.wait_for_selector(".card input[data-pointed]")
        page.click(".tour >> text=Next")
        page.wait_for_selector(".top .strong[data-pointed]")
        page.click(".tour >> text=Next")  # which runs the plan
        page.wait_for_selector(".verdict[data-pointed]")
        page.keyboard.press("Escape")
        page.wait_for_selector(".tour", state="detached")
        assert page.locator("[data-pointed]").count() == 0
        page.click("text=Another table")
        page.click("text=Close this table")
        page.click("text=Use the example")
        page.wait_for_selector(".exposure .big")
        assert page.locator(".tour").count() == 0
        page.keyboard.press("Control+k")
        page.keyboard.type("tour")
        page.keyboard.press("Enter")
        page.click(".tour >> text=Leave the tour")
        page.wait_for_selector(".tour", state="detached")


def test_terms_say_what_they_mean(browser: Any, fresh: Running) -> None:
    """By pointer and by key; one stop a term, and never in the name of a control."""
    fresh.act("example")
    fresh.idle()
    with visit(browser, fresh, another(fresh)) as page:
        go(page, "Ledger")
        page.hover("main .term:text-is('ledger')")
        page.wait_for_selector("#meaning:has-text('What all releases of the same people have given away')")
        page.keyboard.press("Escape")
        page.wait_for_selector("#meaning", state="hidden")
        go(page, "Hierarchies")
        term = page.locator("main .term[tabindex='0']:text-is('hierarchy')")
        term.focus()
        page.wait_for_selector("#meaning:has-text('How the values of a column become coarser')")
        assert term.get_attribute("aria-describedby") == "meaning"
        assert barriers(page) == []
        assert page.locator("main .term:text-is('hierarchy')").count() > term.count() == 1
        assert page.locator(":is(button, label, summary, h1, h2, h3, select) .term").count() == 0


def test_a_table_is_looked_at_before_it_is_opened(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """Its options, types and codes for missing are set before; what is set can be taken back."""
    text = "alter;tag;lohn\n" + "".join(
        f"{20 + i % 9 if i % 5 else -9};0{1 + i % 9}.03.2020;{i},5\n" for i in range(60)
    )
    (tmp_path / "leute.csv").write_text(text)
    with visit(browser, fresh, another(fresh)) as page:
        page.check("text=Look at it before it is opened")
        page.set_input_files(".drop input", tmp_path / "leute.csv")
        page.wait_for_selector("text=60 rows and 3 columns, read as semicolon-separated")
        page.wait_for_selector("[aria-label='lohn: taken as'] option:text-is('text, as read')", state="attached")
        page.fill("#look-decimal", ",")
        page.press("#look-decimal", "Tab")
        page.wait_for_selector("[aria-label='lohn: taken as'] option:text-is('number, as read')", state="attached")
        page.select_option("[aria-label='tag: taken as']", "whole number")
        page.fill("[aria-label='alter: codes for missing']", "-9")
        page.press("[aria-label='alter: codes for missing']", "Tab")
        assert barriers(page) == []
        page.click("text=Open this table")
        page.wait_for_selector(".notice:has-text(\"Column 'tag' has 60 cells that cannot be taken as a whole number\")")
        page.select_option("[aria-label='tag: taken as']", "date")
        page.click("text=Open this table")
        page.wait_for_selector(".column:has-text('alter') >> text=12 missing")
        page.wait_for_selector(".column:has-text('tag') >> text=date · 9 values")
        page.click(".prepared >> text=Take back")
        page.wait_for_selector(".column:has-text('tag') >> text=text · 9 values")


def test_a_table_of_a_database_is_opened_by_its_address(browser: Any, fresh: Running, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "office.duckdb")) as connection:
        connection.execute("create table people as select i % 7 as age, i % 2 as sex from range(70) t(i)")
    with visit(browser, fresh, another(fresh)) as page:
        page.fill("text=Or its path on this machine >> xpath=..//textarea", str(tmp_path / "office.duckdb"))
        page.fill("text=Table of this database >> xpath=..//input", "people")
        page.click(".opening button:text-is('Open')")
        page.wait_for_selector(".top >> text=people of a duckdb database")
    fresh.act("close")
    fresh.act("open", path="postgresql://me:secret@127.0.0.1:1/x", how={"query": "people"})
    notice = fresh.idle()["notice"]
    assert notice[0] == "error"
    assert "has a password" in notice[1]
    assert "secret" not in notice[1]


def test_on_a_phone_the_head_leaves_the_screen_its_room(browser: Any, studio: Running) -> None:
    """Name, undo, run, screens and the bar of risk and loss take a third of 844 pixels at most; the tab is in sight."""
    with visit(browser, studio, another(studio), viewport={"width": 390, "height": 844}) as page:
        page.wait_for_selector(".standing strong")
        for screen in ("Export", "Columns"):
            page.click(f"nav >> text={screen}")
            page.wait_for_selector(f"h1:has-text('{screen}')")
            assert page.locator("main h1").bounding_box()["y"] < 844 / 3
            tab = page.locator("nav [aria-current=page]").bounding_box()
            assert 0 <= tab["x"] <= tab["x"] + tab["width"] <= 390
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_usual_analyses_are_one_click(browser: Any, studio: Running) -> None:
    """Of a confidential number by what others may know; none is known before the page is opened."""
    studio.act("analyses", analyses=[])
    with visit(browser, studio, another(studio)) as page:
        page.wait_for_selector("nav")
        go(page, "Utility")
        offered = page.locator(".empty + .buttons button").all_inner_texts()
        assert [text.split(" ")[0] for text in offered][:2] == ["Mean", "Table"]
        assert " explained by " in offered[2]
        page.click(f"button:text-is('{offered[0]}')")
        page.wait_for_selector(f".analysis h2:text-is('{offered[0]}')")
        assert page.locator(".empty").count() == 0
        page.wait_for_selector(".analysis tbody td:not(:empty)")
    studio.act("analyses", analyses=[])
