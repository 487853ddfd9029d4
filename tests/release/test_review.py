"""A release in the hands of a second person: what the file holds, who may approve, and what publishing makes of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.release.review import approval_of
from shoal.vocabulary.errors import FileError, InputError

ODD = "Zaphod-4711"
PLAN: dict[str, Any] = {
    "columns": {"name": "identifier", "age": "quasi-identifier", "town": "quasi-identifier", "ill": "confidential"},
    "steps": [{"partition": "mdav", "k": 4, "replace": "centroid"}],
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
}


def table(n: int = 40, last: int = 70) -> pl.DataFrame:
    ages = [20 + i % 3 for i in range(n - 1)] + [last]
    towns = ["Arles", "Bonn"] * (n // 2 - 1) + ["Bonn", ODD]
    return pl.DataFrame(
        {"name": [f"{ODD}-{i}" for i in range(n)], "age": ages, "town": towns, "ill": ["a", "b"] * (n // 2)}
    )


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.protect(table(), PLAN, seed=987654321987654321)


def test_it_comes_back_from_its_file_as_it_was(release: shoal.Release, tmp_path: Path) -> None:
    given = shoal.review(release, by="Ada").commented("Bo", "Why k = 4?").approved("Bo")
    path = given.write(tmp_path / "review.json")
    again = shoal.Review.read(path)
    assert (again.sha256, again.approval, again.comments) == (given.sha256, given.approval, given.comments)
    assert path.stat().st_mode & 0o077 == 0


def test_the_file_holds_no_data(release: shoal.Release) -> None:
    """No cell that is not released, no seed, no row of the original."""
    text = shoal.review(release, by="Ada").text
    assert ODD not in text
    assert "987654321987654321" not in text
    assert not {"riskiest", "seed", "rows", "record_risk"} & keys(json.loads(text))


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_private_figures_stay_at_home_if_that_is_wanted(release: shoal.Release) -> None:
    with_them, without = shoal.review(release, by="Ada"), shoal.review(release, by="Ada", private=False)
    assert with_them.private is not None
    assert with_them.private["requirements"][0]["achieved"] >= 4
    assert without.private is None
    assert with_them.sha256 == without.sha256


def test_what_is_approved_is_named_by_public_things_alone(release: shoal.Release) -> None:
    """Another original and another seed that come to the same release have the same hash."""
    steps = [{"mask": "suppress-records", "k": 4, "limit": 0.5}]
    plan = {**PLAN, "steps": steps, "output": {"shuffle": False}}
    one, other = (shoal.protect(table(last=last), plan, seed=seed) for last, seed in ((70, 2**70), (95, 2**70 + 1)))
    assert one.data.equals(other.data)
    assert one.record["input"] != other.record["input"]
    assert shoal.review(one, by="Ada").sha256 == shoal.review(other, by="Ada").sha256
    assert shoal.review(one, by="Ada").sha256 != shoal.review(release, by="Ada").sha256


@pytest.mark.parametrize("name", ["", "  ", "Adé", " adé ", "ade\u0301", "x\ny\0", "x" * 300])
def test_only_somebody_else_approves(release: shoal.Release, name: str) -> None:
    with pytest.raises(InputError, match=r"somebody other|printable characters"):
        shoal.review(release, by="Adé").approved(name)


def test_a_name_has_at_most_two_hundred_characters(release: shoal.Release) -> None:
    assert (shoal.review(release, by="Ada").approved("x" * 200).approval or {})["by"] == "x" * 200
    with pytest.raises(InputError, match="from 1 to 200 printable characters"):
        shoal.review(release, by="Ada").approved("x" * 201)


def test_an_approval_of_another_release_is_none_of_this_one(release: shoal.Release) -> None:
    """However the two were put together."""
    other = shoal.review(shoal.protect(table(last=20), PLAN, seed=5), by="Ada").approved("Bo")
    own = shoal.review(release, by="Ada")
    for mixed in (replace(own, approval=other.approval), replace(other, approval=own.approved("Bo").approval)):
        with pytest.raises(InputError, match="Another release was approved"):
            approval_of(release, mixed)


def test_nor_by_an_edited_file(release: shoal.Release) -> None:
    edited = json.loads(shoal.review(release, by="Ada").approved("Bo").text)
    edited["by"] = "bo"
    with pytest.raises(FileError, match="was approved by its maker"):
        shoal.Review.of_text(json.dumps(edited))


def test_a_comment_says_something(release: shoal.Release) -> None:
    with pytest.raises(InputError, match="A comment must have from 1"):
        shoal.review(release, by="Ada").commented("Bo", " ")


def test_publishing_writes_who_approved_what(release: shoal.Release, tmp_path: Path) -> None:
    given = shoal.review(release, by="Ada").commented("Bo", "I asked the board.").approved("Bo <b>")
    shoal.publish(release, tmp_path / "out", approval=given.write(tmp_path / "review.json"))
    record = json.loads((tmp_path / "out" / "private" / "record.json").read_text())
    assert record["approval"]["by"] == "Bo <b>"
    assert record["approval"]["sha256"] == given.sha256
    assert record["approval"]["handed over by"] == "Ada"
    assert record["approval"]["comments"][0]["text"] == "I asked the board."
    public = json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())
    assert public["approval"] == dict(given.approval or {})
    pages = [(tmp_path / "out" / "release" / name).read_text() for name in ("report.html", "evidence.json")]
    assert all(given.sha256 in page for page in pages)
    assert "Approved by Bo &lt;b&gt;" in pages[0]
    assert not any("board" in page for page in pages)
    shoal.dossier(tmp_path / "out")  # which reads the evidence by its layout


def test_without_an_approval_nothing_of_it_is_written(release: shoal.Release, tmp_path: Path) -> None:
    shoal.publish(release, tmp_path / "out")
    assert "approval" not in json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())
    assert "Approved" not in (tmp_path / "out" / "release" / "report.html").read_text()


def test_another_release_is_not_approved(release: shoal.Release, tmp_path: Path) -> None:
    other = shoal.protect(table(last=20), PLAN, seed=5)
    given = shoal.review(other, by="Ada").approved("Bo")
    with pytest.raises(InputError, match="Another release was approved"):
        shoal.publish(release, tmp_path / "out", approval=given)
    with pytest.raises(InputError, match="has no approval"):
        shoal.publish(release, tmp_path / "out", approval=shoal.review(release, by="Ada"))
    assert not (tmp_path / "out").exists()


def test_what_was_changed_after_the_approval_is_refused(release: shoal.Release, tmp_path: Path) -> None:
    given = shoal.review(release, by="Ada").approved("Bo")
    changed = json.loads(given.text)
    changed["evidence"]["records"] -= 1
    with pytest.raises(FileError, match="changed after it was approved"):
        shoal.Review.of_text(json.dumps(changed))
    figures = json.loads(given.text)
    figures["private"]["measures"][0]["value"] = 0.0
    with pytest.raises(InputError, match="private figures that were reviewed"):
        shoal.publish(release, tmp_path / "out", approval=shoal.Review.of_text(json.dumps(figures)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"shoal review": 2}', "[" * 100_000, "\x00"])
def test_what_is_no_review_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="is not a review of a release"):
        shoal.Review.of_text(text, "other.json")


@pytest.mark.parametrize("doing", ["review", "approve"])
def test_a_table_that_is_not_the_one_proved_is_neither_handed_over_nor_approved(
    release: shoal.Release, tmp_path: Path, doing: str
) -> None:
    folder = release.write(tmp_path / "out")
    given = shoal.review(folder, by="Ada").approved("Bo")
    data = folder / "release" / "data.csv"
    data.write_text(data.read_text().replace("Bonn", "Arles", 1))
    with pytest.raises(FileError, match=r"data\.csv' is not the table that was proved"):
        shoal.review(folder, by="Ada") if doing == "review" else shoal.approve(folder, given)


def test_a_rejection_gives_its_reason_and_is_final(release: shoal.Release, tmp_path: Path) -> None:
    approved = shoal.review(release, by="Ada").approved("Bo")
    rejected = approved.rejected("Bo", "k = 4 is too low.")
    assert rejected.approval is None
    assert (rejected.rejection or {})["sha256"] == approved.sha256
    assert rejected.comments[-1]["text"] == "k = 4 is too low."
    read = shoal.Review.read(rejected.write(tmp_path / "review.json"))
    assert read == rejected
    for attempt in (
        lambda: read.approved("Cy"),
        lambda: read.rejected("Cy", "Nor do I."),
        lambda: approval_of(release, read),
    ):
        with pytest.raises(InputError, match="Bo rejected this release"):
            attempt()
    with pytest.raises(InputError, match="somebody other than its maker"):
        approved.rejected("Ada", "No.")
    with pytest.raises(InputError, match="A comment must have"):
        approved.rejected("Bo", " ")
    forged = json.loads(rejected.text)
    forged["evidence"]["records"] += 1
    with pytest.raises(FileError, match="changed after it was rejected"):
        shoal.Review.of_text(json.dumps(forged))
