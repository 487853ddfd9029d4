"""What may become of a session: undoing, runs, jobs."""

import pytest

from shoal.studio.session import MOST_REVISIONS, MOST_RUNS, Session, as_text, of_text
from shoal.vocabulary.errors import InputError


def opened() -> Session:
    return Session().opened("people.csv", {"rows": 3}, "columns: {a: other}\n")


def test_every_edit_can_be_undone_and_redone() -> None:
    one = opened().edited("first", "a").edited("second", "b")
    back = one.went_to(one.history.at - 1)
    assert (back.history.text, back.went_to(2).history.text) == ("first", "second")
    assert [point.note for point in one.history.points] == ["open the table", "a", "b"]


def test_an_edit_after_undoing_forgets_what_could_be_redone() -> None:
    one = opened().edited("first", "a").edited("second", "b").went_to(1).edited("third", "c")
    assert [point.text for point in one.history.points[1:]] == ["first", "third"]


def test_typing_is_undone_at_once() -> None:
    one = opened().edited("x", "edit the text", joined=True).edited("xy", "edit the text", joined=True)
    assert len(one.history.points) == 2
    assert one.went_to(0).history.text == "columns: {a: other}\n"


def test_the_same_text_is_no_edit() -> None:
    assert opened().edited("columns: {a: other}\n", "nothing") == opened()


@pytest.mark.parametrize("at", [-1, 1])
def test_there_is_no_way_beyond_the_ends(at: int) -> None:
    with pytest.raises(InputError, match=r"^There is nothing to undo or redo\.$"):
        opened().went_to(at)


def test_a_long_history_keeps_what_was_named() -> None:
    one = opened().edited("kept", "a").named("before the holidays")
    for number in range(MOST_REVISIONS):
        one = one.edited(f"text {number}", "typing")
    assert len(one.history.points) <= MOST_REVISIONS
    assert "before the holidays" in {point.name for point in one.history.points}
    assert one.history.text == f"text {MOST_REVISIONS - 1}"


def test_a_run_keeps_the_text_that_ran() -> None:
    one = opened().began("run", "starting").edited("changed meanwhile", "a").ran("what ran", {}, released=True)
    assert one.run(1).text == "what ran"
    assert one.job is None


def test_the_oldest_run_goes_first_and_numbers_go_on() -> None:
    one = opened()
    for _ in range(MOST_RUNS + 2):
        one = one.ran("text", {}, released=False)
    assert [run.number for run in one.runs] == list(range(3, MOST_RUNS + 3))
    with pytest.raises(InputError, match=r"^There is no run 1 any more\. Run the plan again\.$"):
        one.run(1)


def test_one_job_at_a_time() -> None:
    with pytest.raises(InputError, match="under way already"):
        opened().began("run", "x").began("explore", "x")


def test_a_cancelled_job_is_not_heard() -> None:
    ended = opened().began("run", "x").ended()
    assert ended.moved("late", 0.9) == ended


def test_the_edition_counts_texts_and_the_version_everything() -> None:
    one = opened()
    moved = one.began("run", "x").moved("y", 0.5)
    assert (moved.edition, moved.version) == (one.edition, one.version + 2)
    assert one.edited("x", "a").edition == one.edition + 1


def test_kept_work_comes_back_with_its_history() -> None:
    one = opened().edited("first", "a").named("noon").edited("second", "b").went_to(1)
    assert of_text(as_text(one.history)) == one.history
    again = opened().edited("other", "c").resumed(of_text(as_text(one.history)))
    assert (again.history.text, again.history.points[again.history.at].name) == ("first", "noon")
    assert again.went_to(again.history.at + 1).history.text == "second"
    assert again.went_to(0).history.text == "other"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"shoal work": 2, "at": 0, "points": [{"text": "", "note": "", "name": ""}]}',
        '{"shoal work": 1, "at": 1, "points": [{"text": "", "note": "", "name": ""}]}',
        '{"shoal work": 1, "at": "0", "points": [{"text": "", "note": "", "name": ""}]}',
        '{"shoal work": 1, "at": 0, "points": [{"text": ""}]}',
    ],
)
def test_what_is_no_kept_work_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no saved work of the studio"):
        of_text(text)
