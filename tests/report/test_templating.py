"""Templates are compiled once and kept; where they cannot be kept they are compiled again."""

import marshal
import pickle
import sys
from hashlib import sha1
from pathlib import Path

import pytest
from jinja2 import Environment
from jinja2.bccache import bc_magic

from shoal.report import templating
from shoal.report.templating import environment

TEMPLATE = "parts/evidence.html"


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The templates that are compiled from now on."""
    names: list[str | None] = []
    plain = Environment._compile

    def _compile(self: Environment, source: str, filename: str) -> object:
        names.append(Path(filename).name)
        return plain(self, source, filename)

    monkeypatch.setattr(Environment, "_compile", _compile)
    return names


def get() -> str:
    pages = environment()
    pages.filters |= dict.fromkeys(("figure", "in_unit", "in_words", "share", "picture", "span", "described"), str)
    pages.filters |= dict.fromkeys(("drawn", "size_range", "together", "over_copies"), str)
    return pages.get_template(TEMPLATE).name or ""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "kept"


def test_compiled_once(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    names = compiled(monkeypatch)
    assert get() == get() == TEMPLATE
    assert names == ["evidence.html"]
    assert len(list(folder.rglob("*.jinja2-*.pyc"))) == 1


def test_what_another_source_was_compiled_to_is_not_taken(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    get()
    names = compiled(monkeypatch)
    (kept,) = folder.rglob("*.jinja2-*.pyc")
    checksum = sha1(b"another source").hexdigest()
    kept.write_bytes(bc_magic + pickle.dumps(checksum, 2) + marshal.dumps(compile("raise ValueError", "x", "exec")))
    assert get() == TEMPLATE
    assert names == ["evidence.html"]


def test_what_other_options_were_compiled_with_is_not_taken(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A later version of the package may have others, and templates that stayed as they are."""
    get()
    names = compiled(monkeypatch)
    monkeypatch.setattr(templating, "OPTIONS", {**templating.OPTIONS, "trim_blocks": False})
    assert get() == TEMPLATE
    assert names == ["evidence.html"]


@pytest.mark.parametrize("left", [b"", bc_magic, bc_magic + bytes(99), bc_magic + pickle.dumps("a checksum", 2)[:-3]])
def test_what_a_crash_left_of_a_file_is_not_taken(left: bytes, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    get()
    (kept,) = folder.rglob("*.jinja2-*.pyc")
    whole = kept.read_bytes()
    kept.write_bytes(left)
    names = compiled(monkeypatch)
    assert get() == TEMPLATE
    assert names == ["evidence.html"]
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("why", ["no bytecode is wanted", "no place to write"])
def test_not_kept(why: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    if why == "no bytecode is wanted":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        folder.write_text("a file")
    names = compiled(monkeypatch)
    assert get() == get() == TEMPLATE
    assert names == ["evidence.html"] * 2
    assert not folder.is_dir()


def test_a_full_disk_leaves_nothing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def write_bytes(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    assert get() == TEMPLATE
    assert not list(folder.rglob("templates/*"))
