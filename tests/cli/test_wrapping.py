"""What is printed fits a terminal: words stay whole, what follows a label stays beside it, tables keep names whole."""

import io
import sys

import pytest

from shoal.cli.terminal import Terminal
from shoal.cli.wrapping import reflowed, wrapped

PROVED = "proved    5-anonymity: Every record shares its quasi-identifiers with at least 4 others (60 classes)."


class Screen(io.StringIO):
    """Standard output that is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def screen(monkeypatch: pytest.MonkeyPatch, width: int) -> Screen:
    stream = Screen()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def test_what_follows_a_label_stays_beside_it() -> None:
    lines = wrapped(PROVED, 40).split("\n")
    assert all(len(line) <= 40 for line in lines)
    assert all(line.startswith(" " * 10) for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == PROVED
    assert wrapped("    deep " + "word " * 9, 30).split("\n")[1].startswith("    word")
    assert wrapped(f"Report    file:///{'x' * 90}", 40).endswith("x" * 90)
    assert wrapped("short\n\nlines", 40) == "short\n\nlines"


def test_paragraphs_become_lines_and_what_is_of_its_own_stays() -> None:
    text = "One\ntwo.\n\nParameters\n----------\nk\n    Some\n    more.\n- a\n- b\na     table\nb     row"
    assert reflowed(text) == ("One two.\n\nParameters\n----------\nk\n    Some more.\n- a\n- b\na     table\nb     row")


@pytest.mark.parametrize("width", [80, 120])
def test_lines_and_tables_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    stream = screen(monkeypatch, width)
    terminal = Terminal()
    terminal.say(PROVED)
    terminal.table(
        ["column", "role", "remark"],
        [["charge", "quasi-identifier", "whoever knows it finds more " * 5], ["x", "y", ""]],
    )
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert sum("quasi-identifier " in line for line in lines) == 1, "the role is not broken"
    assert len(lines) >= 8


def test_what_is_a_file_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = screen(monkeypatch, 80)
    Terminal().say("word " * 60, whole=True)
    assert stream.getvalue() == "word " * 60 + "\n"


def test_into_a_file_nothing_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().say("word " * 60)
    assert capsys.readouterr().out == "word " * 60 + "\n"
