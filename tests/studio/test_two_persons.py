"""A release made in one studio and approved in another, on real servers: the file between them and what is written."""

import json
from pathlib import Path

import pytest

from studio.running import Running, cleared


@pytest.fixture(scope="module")
def maker(shared: Running) -> Running:
    """With a proved run, and one of another strength."""
    cleared(shared).act("example")
    shared.idle()
    shared.act("run")
    shared.idle()
    shared.act("put", changes=[{"place": ["steps", 0, "k"], "value": 9}], note="k")
    shared.act("run")
    assert [r["released"] for r in shared.idle()["runs"]] == [True, True]
    return shared


@pytest.fixture(scope="module")
def handed(maker: Running) -> str:
    status, document = maker.ask("document", {"what": "review", "run": 1, "by": "Ada", "private": True})
    assert status == 200, document
    return str(document["text"])


@pytest.fixture(scope="module")
def approved(handed: str, empty: Running, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file after a reviewer had it; everything that would change the release is refused meanwhile."""
    folder = tmp_path_factory.mktemp("reviewer")
    (folder / "review.json").write_text(handed)
    reviewer = cleared(empty)
    reviewer.act("open", path=str(folder / "review.json"))
    state = reviewer.idle()
    assert (state["source"], state["review"]["by"]) == (None, "Ada")
    for name, given in (
        ("example", {}),
        ("edit", {"text": "a: 1"}),
        ("run", {}),
        ("export", {"run": 1, "directory": "x"}),
    ):
        status, answer = reviewer.ask("do", {"do": name, "with": given})
        assert (status, "under review" in answer["error"]) == (422, True), name
    status, answer = reviewer.ask("do", {"do": "approve", "with": {"by": "ada"}})
    assert (status, "somebody other" in answer["error"]) == (422, True)
    reviewer.act("comment", by="Bo", text="The board agrees.")
    state = reviewer.act("approve", by="Bo")
    assert state["review"]["approval"]["sha256"] == state["review"]["sha256"]
    text = str(reviewer.ask("document", {"what": "reviewed"})[1]["text"])
    rejected = reviewer.act("comment", by="Bo", text="k is too low.", rejects=True)["review"]
    assert (rejected["approval"], rejected["rejection"]["by"]) == (None, "Bo")
    status, answer = reviewer.ask("do", {"do": "approve", "with": {"by": "Cy"}})
    assert (status, "Bo rejected this release" in answer["error"]) == (422, True)
    assert reviewer.act("leave")["review"] is None
    assert sorted(path.name for path in folder.iterdir()) == ["review.json"]
    return text


def test_the_release_says_who_approved_it(maker: Running, approved: str, tmp_path: Path) -> None:
    answer = maker.ask("approval", {"run": 1, "review": approved})[1]
    assert (answer["by"], answer["comments"][0]["text"]) == ("Bo", "The board agrees.")
    maker.act("export", run=1, directory=str(tmp_path / "out"), review=approved)
    assert maker.idle()["notice"][0] == "done"
    record = json.loads((tmp_path / "out" / "private" / "record.json").read_text())
    public = json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())
    assert record["approval"] == answer
    assert public["approval"] == {key: answer[key] for key in ("by", "when", "sha256")}


def test_an_approval_is_of_one_run(maker: Running, approved: str, tmp_path: Path) -> None:
    status, answer = maker.ask("approval", {"run": 2, "review": approved})
    assert (status, "Another release was approved" in answer["error"]) == (422, True)
    maker.act("export", run=2, directory=str(tmp_path / "out"), review=approved)
    assert "Another release was approved" in maker.idle()["notice"][1]
    assert not (tmp_path / "out").exists()


def test_a_table_and_a_review_are_never_open_together(maker: Running, handed: str) -> None:
    status, answer = maker.ask("do", {"do": "review", "with": {"text": handed, "name": "review.json"}})
    assert (status, "Start another studio" in answer["error"]) == (422, True)
    status, answer = maker.ask("do", {"do": "approve", "with": {"by": "Bo"}})
    assert (status, "No release is under review" in answer["error"]) == (422, True)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"shoal review": 1}'])
def test_what_is_no_review_is_refused(maker: Running, text: str) -> None:
    status, answer = maker.ask("approval", {"run": 1, "review": text})
    assert (status, "is not a review of a release" in answer["error"]) == (422, True)
