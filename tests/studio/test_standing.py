"""The verdict beside what is known: the bound on a loss, and a plan with the same promises that loses much less."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.plan import Plan
from shoal.studio.session import Session, StudioRun
from shoal.studio.standing import standing, variants, variants_tried
from shoal.table.files.table import Table
from studio.pages import IN_A_BROWSER, another, barriers, go, visit
from studio.running import Running, planned

TOWNS = [[f"{area}{i}", area, "*"] for area in ("north", "south") for i in range(4)]
SCHOOLS = [[f"e{i}", f"E{i // 3}", "*"] for i in range(9)]
PLAN: dict[str, Any] = {
    "columns": {
        "town": {"role": "quasi-identifier", "hierarchy": {"paths": TOWNS}},
        "school": {"role": "quasi-identifier", "hierarchy": {"paths": SCHOOLS}},
        "answer": "other",
    },
    "steps": [{"mask": "generalise", "columns": ["town", "school"], "k": 5}],
    "requirements": [
        {"privacy": "k-anonymity", "k": 5},
        {"risk": "prosecutor", "at most": 0.25},
        {"utility": "information-kept", "at least": 0.1},
    ],
}
"""Everything that makes a verdict green."""


def people(n: int = 1500) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "town": [TOWNS[i][0] for i in rng.choice(8, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.045, 0.005])],
            "school": [SCHOOLS[i][0] for i in rng.choice(9, n, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.04, 0.008, 0.002])],
            "answer": rng.choice(["yes", "no"], n),
        }
    )


def read(text: str) -> Plan:
    return Plan.of(json.loads(text), None)


def ended(number: int, kept: float | None, plan: dict[str, Any] = PLAN) -> StudioRun:
    """A run with nothing but its loss; refused without one."""
    figures = [] if kept is None else [{"measure": "information-kept", "value": kept}]
    headlines = [{"label": "", "value": "3 %"}] * 4
    decision = {"status": "good", "heading": "All limits of the plan are kept", "points": [], "headlines": headlines}
    result: Any = {"measures": figures, "steps": [], "decision": None if kept is None else decision}
    return StudioRun(number=number, text=json.dumps(plan), released=kept is not None, result=result)


def test_a_verdict_is_never_green_where_a_plan_is_known_that_loses_much_less() -> None:
    other = {**PLAN, "steps": [{"partition": "mdav", "k": 5}]}
    weaker = {**PLAN, "requirements": [{"privacy": "k-anonymity", "k": 2}]}
    session = Session(runs=(ended(1, 0.34), ended(2, 0.9, other), ended(3, 0.99, weaker), ended(4, None)))
    answer = standing(session, session.runs[0], None, read)
    assert [(b["name"], round(b["loss"], 9)) for b in answer["better"]] == [("run 2", 0.1)]
    assert answer["verdict"]["status"] == "open"
    assert answer["verdict"]["heading"] == "All limits of the plan are kept, but run 2 loses much less"
    assert "loses 10 % of the information instead of 66 %" in answer["verdict"]["points"][0]["sentences"][0]
    assert standing(session, session.runs[1], None, read)["verdict"]["status"] == "good"
    assert standing(session, session.runs[3], None, read)["verdict"] is None


def test_a_little_less_is_named_and_leaves_the_verdict_as_it_is() -> None:
    session = Session(runs=(ended(1, 0.90), ended(2, 0.91, {**PLAN, "steps": []})))
    answer = standing(session, session.runs[0], None, read)
    assert [b["name"] for b in answer["better"]] == ["run 2"]
    assert answer["verdict"]["status"] == "good"


def test_candidates_count_by_their_promise_and_measure() -> None:
    from shoal.studio.standing import promise_of

    frontier = {
        "promise": promise_of(read(json.dumps(PLAN))),
        "axes": {
            "utility": {"measure": "information-kept"},
            "risk": {"title": "Marketer risk", "limits": [0.0, 1.0], "unit": ""},
        },
        "points": [
            {"name": "groups", "risk": 0.1, "utility": 0.95, "holds": True},
            {"name": "broken", "risk": 0.1, "utility": 0.99, "holds": False},
        ],
        "steps": {"groups": [{"partition": "mdav", "k": 5}], "broken": []},
    }
    session = Session(runs=(ended(1, 0.5),), frontier=frontier)
    answer = standing(session, session.runs[0], None, read)
    assert [(b["name"], b["risk"]) for b in answer["better"]] == [("groups", "10 % (Marketer risk)")]
    for changed in ({"promise": "of another plan"}, {"axes": {"utility": {"measure": "il1s"}}}):
        other = replace(session, frontier={**frontier, **changed})
        assert standing(other, session.runs[0], None, read)["better"] == []


def test_local_recoding_stands_beside_full_domain_on_the_same_records() -> None:
    import shoal

    plan = Plan.of(PLAN, None)
    table = Table(frame=people(600))
    tried = variants_tried(table, plan)
    assert tried["names"] == ["local recoding"]
    local = tried["variants"][0]
    for steps, loss in ((PLAN["steps"], tried["loss"]), (local["steps"], local["loss"])):
        release = shoal.protect(table.frame, {**PLAN, "steps": steps}, seed=1)
        kept = next(f.value for f in release.evidence.findings if f.measure == "information-kept")
        assert loss == pytest.approx(1 - kept)
    assert local["loss"] < 0.2 * tried["loss"]


def test_groups_are_refined_with_the_settings_of_their_step() -> None:
    steps = [{"partition": "mdav", "k": 4, "columns": ["town"], "replace": "permutation"}]
    answer = variants(Plan.of({**PLAN, "steps": steps}, None), 200)["refined groups"][0]
    assert (answer["partition"], answer["k"], answer["columns"]) == ("refined", 4, ["town"])
    assert answer["start"] == {"method": "mdav", "k": 4}
    assert Plan.of({**PLAN, "steps": [answer]}, None).steps
    assert variants(Plan.of({**PLAN, "steps": [{"mask": "suppress", "k": 3}]}, None), 200) == {}


@pytest.fixture(scope="module")
def full_domain(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder: Path = tmp_path_factory.mktemp("standing")
    people().write_csv(folder / "people.csv")
    planned(shared, folder / "people.csv", PLAN)
    assert shared.ask("result", {"run": 1})[1]["decision"]["status"] == "good"
    return shared


class TestInABrowser:
    pytestmark = IN_A_BROWSER

    def test_the_better_neighbour_is_taken_from_the_verdict(self, browser: Any, full_domain: Running) -> None:
        with visit(browser, full_domain, another(full_domain)) as page:
            go(page, "Result")
            page.wait_for_selector(".verdict:not(.holds) >> text=but local recoding loses much less")
            assert page.locator(".verdict.holds").count() == 0
            beside = page.locator(".beside").inner_text()
            assert "this run loses" in beside
            assert "no labels with this k lose less than" in beside
            assert barriers(page) == []
            page.click(".standing button:text-is('Take local recoding')")
            page.wait_for_selector(".standing button:text-is('Run it again')")
            page.click(".standing button:text-is('Run it again')")
            page.wait_for_selector("text=run 2 proved")
            page.wait_for_selector(".verdict.holds")
            page.wait_for_selector(".standing >> text=present plan")
            assert "this one" in page.locator(".standing").inner_text()
            page.click(".standing button:text-is('Hand it over')")
            page.wait_for_selector("h1:has-text('Export')")
