"""The dossier: every statement points to its figure, no finding of law is made, and it can be edited."""

import html
import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.report.decision import decision
from shoal.report.dossier_parts import QUESTIONS, dossier_parts
from shoal.vocabulary.errors import FileError
from shoal.vocabulary.registry import registered

ABOUT = {"title": "Visits", "owner": "The office", "audience": "researchers", "valid_until": "2031-12-31"}
PLAN = {
    "columns": {"age": "quasi-identifier", "area": "quasi-identifier", "pay": "confidential", "name": "identifier"},
    "steps": [{"mask": "recode", "columns": ["age"], "cuts": [30, 50]}, {"mask": "suppress", "k": 2}],
    "requirements": [
        {"privacy": "k-anonymity", "k": 2, "missing": "wildcard"},
        {"risk": "interval-disclosure", "at most": 1},
    ],
    "release": ABOUT,
}
FINDINGS = re.compile(r"\b(anonymous(ly)?|anonymi[sz]ed)\b", re.I)


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 50 for i in range(60)],
            "area": [["north", "south", "east"][i % 3] for i in range(59)] + ["west"],
            "pay": [1000.0 + 7 * i for i in range(60)],
            "name": [f"person {i}" for i in range(60)],
        }
    )
    return shoal.protect(frame, PLAN, seed=1)


@pytest.fixture(scope="module")
def folder(release: shoal.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.write(tmp_path_factory.mktemp("dossier") / "out")


def resolved(content: Any, pointer: str) -> Any:
    """What a JSON pointer leads to (RFC 6901)."""
    for key in pointer.removeprefix("/").split("/"):
        key = key.replace("~1", "/").replace("~0", "~")
        content = content[int(key)] if isinstance(content, list) else content[key]
    return content


@pytest.mark.parametrize("part", ["release", "private"])
def test_every_statement_points_into_the_evidence(folder: Path, part: str) -> None:
    content = json.loads((folder / part / "evidence.json").read_text())
    statements = [s for one in dossier_parts(content) for question in one.questions for s in question.statements]
    assert len(statements) > 20
    for statement in statements:
        assert statement.sources
        for pointer in statement.sources:
            value = resolved(content, pointer)
            assert value is not None, f"{statement.text} rests on nothing ({pointer})"


def test_the_dossier_says_with_what_each_step_was_made(folder: Path) -> None:
    for part in ("release", "private"):
        content = json.loads((folder / part / "evidence.json").read_text())
        done = [statement.text for statement in dossier_parts(content)[0].questions[2].statements]
        assert "cuts 30, 50" in done[0]
        assert "suppress on age, area (k 2; " in done[1].removeprefix("Step 2: ")


def test_the_dossier_opens_with_the_head_of_the_report(folder: Path) -> None:
    for part in ("release", "private"):
        content = json.loads((folder / part / "evidence.json").read_text())
        head = decision(content)
        (first, *points) = dossier_parts(content)[0].questions[0].statements
        assert first.text == f"{head.word}. {head.heading}."
        assert [point.text.split(":")[0] for point in points] == [point.label for point in head.points]


def test_no_sentence_says_a_bound_twice(folder: Path) -> None:
    content = json.loads((folder / "release" / "evidence.json").read_text())
    texts = [s.text for part in dossier_parts(content) for question in part.questions for s in question.statements]
    titles = tuple(f"{m['title']}: " for m in content["measures"] if isinstance(m["value"], dict))
    bounded = [text for text in texts if titles and text.startswith(titles)]
    assert bounded and all(text.count("at most") + text.count("at least") == 1 for text in bounded)


def test_every_question_has_a_statement_or_a_field(folder: Path) -> None:
    content = json.loads((folder / "release" / "evidence.json").read_text())
    for part in dossier_parts(content):
        for question in part.questions:
            asked = question.statements or question.fields
            assert asked or question.title == "Further measures of risk", question.title


def test_the_order_is_that_of_the_regulators(folder: Path) -> None:
    parts = dossier_parts(json.loads((folder / "release" / "evidence.json").read_text()))
    assert [part.source.split(",")[0].split(" (")[0] for part in parts[1:]] == [
        "Opinion 05/2014",
        "ISO/IEC 27559:2022",
        "HIPAA Privacy Rule",
        "European Health Data Space",
    ]
    questions = [question.title.split(":")[0] for question in parts[1].questions[:3]]
    assert questions == ["Singling out", "Linkability", "Inference"]
    assert [re.findall(r"clause (\d)", question.title) for question in parts[2].questions] == [
        ["6"],
        ["7"],
        ["8"],
        ["9"],
    ]


def test_each_measure_of_risk_answers_one_question() -> None:
    """A measure that answers none is forgotten where regulators ask."""
    assert not [entry.name for entry in registered("risk") if entry.cls.question not in QUESTIONS]


@pytest.mark.parametrize("private", [False, True])
def test_no_finding_of_law_is_made(folder: Path, tmp_path: Path, private: bool) -> None:
    page = shoal.dossier(folder, private=private).write(tmp_path / "dossier.html").read_text()
    words = html.unescape(re.sub("<style>.*?</style>|<[^>]*>", " ", page, flags=re.S))
    assert not FINDINGS.search(words)
    assert "Determination: whether the risk is very small" in words
    assert ("not to leave the building" in words) == private
    assert "<script" not in page


def test_the_public_dossier_tells_no_more_than_the_public_evidence(folder: Path, tmp_path: Path) -> None:
    page = shoal.dossier(folder).write(tmp_path / "dossier.html").read_text()
    private = json.loads((folder / "private" / "evidence.json").read_text())
    public = (folder / "release" / "evidence.json").read_text()
    for figure in private["measures"]:
        shown = f"{figure['value']:.4g}" if isinstance(figure["value"], float) and figure["value"] % 1 else None
        if shown and shown not in public:
            assert shown not in page, figure["title"]


def test_the_document_can_be_edited_and_is_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    from docx import Document

    first, second = (shoal.dossier(folder).write(tmp_path / name).read_bytes() for name in ("a.docx", "b.docx"))
    assert first == second
    document = Document(BytesIO(first))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[0] == "Visits"
    assert any("[/classes/0/fewer than/2, /classes/0/smallest]" in text for text in texts)
    assert not any(FINDINGS.search(text) for text in texts)
    fields = [table.cell(0, 0).text for table in document.tables]
    assert "To be filled in: Name" in fields
    assert all(table.cell(1, 0).text == "" for table in document.tables)


def test_what_is_no_release_and_no_format_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"The file of a dossier must end in \.html or \.docx; got 'dossier\.pdf'"):
        shoal.dossier(folder).write(tmp_path / "dossier.pdf")
    with pytest.raises(FileError, match="cannot be read as the record of an assessed release"):
        shoal.dossier(tmp_path)
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "evidence.json").write_text('{"version": 1}')
    with pytest.raises(FileError, match="is damaged, or of another version"):
        shoal.dossier(tmp_path)


def test_a_release_in_memory_has_its_dossier(release: shoal.Release) -> None:
    shown = shoal.dossier(release)._repr_html_()
    assert "Singling out" in shown
    assert "contenteditable" in shown
