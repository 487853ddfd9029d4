"""Small text files: regular ones, up to a size, and one sentence for all others."""

import os
from pathlib import Path

import pytest

from shoal.plan import Plan
from shoal.plan.lines import parse_yaml
from shoal.table import yaml_text
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_faults import MOST_LEVELS
from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError, PlanError, SchemaError

COLUMNS = "columns:\n  a: quasi-identifier\n"


def test_a_regular_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("zwölf\r\n".encode())
    assert read_text(tmp_path / "a", "Plan") == "zwölf\n"
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfzw")
    assert read_text(tmp_path / "a", "Plan", "utf-8-sig") == "zw"


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # into which nobody writes: to read it would wait forever
    (tmp_path / "large").write_bytes(b"x" * 11)
    (tmp_path / "latin").write_bytes(b"\xe9")
    for name, message in (
        (tmp_path / "pipe", "is no regular file"),
        ("/dev/zero", "is no regular file"),
        (tmp_path, "Is a directory|is no regular file"),
        (tmp_path / "none", "No such file"),
        (tmp_path / "large", "has more than 0 MB"),
        (tmp_path / "latin", "is no UTF-8 text"),
        ("a\x00b", "no such name"),
    ):
        with pytest.raises(FileError, match=f"^Plan .*({message})"):
            read_text(name, "Plan", largest=10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: " + "[" * 5000 + "]" * 5000, "nested more than 120 deep"),
        ("steps: " + "{a: " * 5000 + "1" + "}" * 5000, "nested more than 120 deep"),
        ("steps: " + "[" * 130 + "]" * 130, "nested more than 120 deep"),
        ("requirements: [{privacy: k-anonymity, k: " + "9" * 5000 + "}]", "a number has too many digits"),
        ("requirements: [{privacy: k-anonymity, k: " + "9" * 400 + "}]", r"k must be below 2\^63"),
    ],
    ids=["lists", "mappings", "a few too deep", "5000 digits", "400 digits"],
)
def test_plans_that_no_memory_or_number_holds(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(COLUMNS + text)
    with pytest.raises(PlanError, match=message):
        Plan.read(tmp_path / "plan.yaml")


@pytest.mark.parametrize("text", ["[" * 60_000, "a: " + "[" * 3000 + "]" * 3000, "{b: 1, c: " * 3000])
def test_brackets_nested_too_deep_are_refused_before_they_are_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read them takes the square of their depth: the reader sees no more than the first that are too many."""
    read: list[int] = []
    plain = yaml_text._refuse_deep_events

    def counted(part: str, source: str) -> None:
        read.append(len(part))
        plain(part, source)

    monkeypatch.setattr(yaml_text, "_refuse_deep_events", counted)
    with pytest.raises(PlanError, match="nested more than 120 deep"):
        parse_yaml(text, "plan")
    assert len(read) == 1
    assert read[0] <= 1400


def test_brackets_that_are_text_are_not_nested() -> None:
    ranges = [f"[{i}, {i + 1})" for i in range(200)]
    assert parse_yaml(f"order: {ranges}\nlabel: from [0", "plan") == {"order": ranges, "label": "from [0"}


def test_hierarchies_have_few_levels(tmp_path: Path) -> None:
    (tmp_path / "deep.csv").write_text("\n".join(";".join([leaf] + ["g"] * 400) for leaf in "xy"))
    with pytest.raises(SchemaError, match=f"may have {MOST_LEVELS} levels; got 401"):
        Hierarchy.from_csv(tmp_path / "deep.csv")
    tree = ["x", "y"]
    for _ in range(400):
        tree = {"g": tree}
    with pytest.raises(PlanError, match="nested more than 120 deep"):
        Plan.of({"columns": {"a": {"role": "quasi-identifier", "hierarchy": {"nested": tree}}}})
