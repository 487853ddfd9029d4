"""A refusal says what fails, by how much, and what would help: computed, true, and kept through pickling."""

import pickle
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.release import NotProved
from shoal.vocabulary.errors import Refused

FRAME = pl.DataFrame(
    {"sex": ["f", "m"] * 30, "town": [f"town {i // 2}" for i in range(60)], "pay": [float(i) for i in range(60)]}
)
COLUMNS = {"sex": "quasi-identifier", "town": "quasi-identifier", "pay": "confidential"}


def refused(requirement: dict[str, Any], *steps: dict[str, Any], **sections: Any) -> NotProved:
    plan = {"columns": COLUMNS, "steps": list(steps), "requirements": [requirement], **sections}
    with pytest.raises(Refused) as caught:
        shoal.protect(FRAME, plan, seed=1)
    assert isinstance(caught.value, NotProved)
    return caught.value


def test_columns_that_single_out_come_with_what_is_left_without_them() -> None:
    """Everyone is alone by sex and town; two share a town, and thirty a sex."""
    refusal = refused({"privacy": "k-anonymity", "k": 2})
    effects = {one.remedy: one.effect for one in refusal.advice}
    assert effects["Make 'sex' coarser (recode, generalise), or leave it out."].startswith(
        "Without it 0 of the 60 records"
    )
    assert effects["Make 'town' coarser (recode, generalise), or leave it out."].startswith("Without it 0 of the 60")
    assert any(effect == "60 of 60 records are concerned (100 %)." for effect in effects.values())
    of_three = refused({"privacy": "k-anonymity", "k": 3})
    remedies = [one.remedy for one in of_three.advice]
    assert not any("'sex'" in remedy for remedy in remedies), "without the sex two share a town, which does not help"
    assert any("'town'" in remedy for remedy in remedies)


def test_advice_is_of_what_laws_of_the_original_give_back() -> None:
    """As released all ages are blank, so that nobody stands out; two each of an age do beside their years of birth."""
    age = [20 + i % 70 for i in range(140)]
    frame = pl.DataFrame({"sex": ["f", "m"] * 70, "age": age, "born": [2020 - years for years in age]})
    plan = {
        "columns": {"sex": "quasi-identifier", "age": "quasi-identifier", "born": "other"},
        "steps": [{"mask": "suppress", "k": 3, "keep": ["sex"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    with pytest.raises(Refused, match=r"laws of the original give away 140 missing .* of 'age'") as caught:
        shoal.protect(frame, plan, seed=1)
    assert isinstance(caught.value, NotProved)
    effects = {one.remedy: one.effect for one in caught.value.advice}
    assert effects["Make 'age' coarser (recode, generalise), or leave it out."].startswith("Without it 0 of the 140")


def test_following_the_advice_helps() -> None:
    step = {"partition": "mdav", "k": 2, "columns": ["town", "sex"]}
    refusal = refused({"privacy": "k-anonymity", "k": 5}, step)
    assert "The step mdav + centroid has k = 2; give it at least 5." in [one.remedy for one in refusal.advice]
    plan = {"columns": COLUMNS, "steps": [{**step, "k": 5}], "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    assert shoal.protect(FRAME, plan, seed=1).evidence.holds


@pytest.mark.parametrize(
    "requirement", [{"risk": "prosecutor", "at most": 0.1}, {"privacy": "l-diversity", "l": 3}], ids=["gate", "model"]
)
def test_other_requirements_are_sent_to_explore(requirement: dict[str, Any]) -> None:
    refusal = refused(requirement)
    assert "the section explore" in refusal.advice[-1].remedy
    assert refusal.advice[-1].requirement == refusal.failed[0].requirement


def test_a_refusal_carries_its_verdicts_and_a_table() -> None:
    refusal = refused({"privacy": "k-anonymity", "k": 3})
    assert [(v.model, v.holds, v.achieved) for v in refusal.verdicts] == [("k-anonymity", False, 1)]
    frame = refusal.to_frame()
    assert frame.columns == ["requirement", "required", "reached", "remedy", "effect"]
    assert frame["required"].unique().to_list() == [3.0]
    assert len(frame) == len(refusal.advice)
    again = pickle.loads(pickle.dumps(refusal))
    assert (str(again), again.advice, again.to_frame().equals(frame)) == (str(refusal), refusal.advice, True)


def test_a_refusal_is_shown_as_a_page_and_in_a_notebook() -> None:
    refusal = refused({"privacy": "k-anonymity", "k": 3}, release={"title": "Wages"})
    page = refusal.page()
    assert page.index("1 requirement of 1 not met") < page.index("What would help") < page.index("refuted")
    assert "Wages" in page
    assert "private: not to leave the building" in page
    assert "What would help" in refusal._repr_html_()
    assert refusal._render_traceback_()[0] == str(refusal)
    assert len(refusal._render_traceback_()) == 1 + len(refusal.advice)


def test_a_refusal_without_what_was_gathered_is_shown_all_the_same() -> None:
    refusal = NotProved("Nothing was released.", refused({"privacy": "k-anonymity", "k": 3}).verdicts)
    assert "✗ refuted" in refusal.page()
    assert refusal.to_frame()["remedy"].to_list() == [""]


def test_blanking_cells_for_people_is_advised_and_helps() -> None:
    """Two people of every town and sex: who blanks the sex may be of four, two of each."""
    population = pl.concat([FRAME.select("sex", "town")] * 2)
    asked = {"k": 3, "population": population, "missing": "wildcard"}
    refusal = refused({"privacy": "k-map", **asked})
    assert any("with this one under the step's requirements" in one.remedy for one in refusal.advice)
    kept = {name: {"role": "quasi-identifier", "missing": "keep"} for name in ("sex", "town")}
    step = {"mask": "suppress", "requirements": [{"method": "k-map", **asked}]}
    plan = {"columns": {**kept, "pay": "confidential"}, "steps": [step]}
    release = shoal.protect(FRAME, {**plan, "requirements": [{"privacy": "k-map", **asked}]}, seed=1)
    assert release.evidence.holds
