"""The reference follows the code, and the literature holds every source that a method names."""

import importlib.util
import re
import unicodedata
from pathlib import Path
from types import ModuleType

import click
import pytest

from shoal.cli import cli
from shoal.methods import registered


@pytest.fixture(scope="module")
def generate(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", project / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_methods_page_is_up_to_date(project: Path, generate: ModuleType) -> None:
    written = (project / "docs" / "reference" / "methods.md").read_text()
    assert written == generate.methods_page(), "run python docs/generate.py"


def test_the_readme_shows_what_its_example_prints(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (project / "README.md").read_text()
    program, shown = (re.findall(rf"```{kind}\n(.*?)```", readme, re.S)[0] for kind in ("python", "text"))
    exec(program, {})
    assert capsys.readouterr().out.startswith(shown.removesuffix("...\n"))


def test_the_stub_is_up_to_date(project: Path, generate: ModuleType) -> None:
    assert (project / "src" / "shoal" / "__init__.pyi").read_text() == generate.stub(), "run python docs/generate.py"


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_and_option_is_documented(project: Path, name: str) -> None:
    """Its layout is the library's, so words are compared and not lines."""
    page = (project / "docs" / "reference" / "commands.md").read_text()
    section = " ".join(page.partition(f"\n## shoal {name}\n")[2].partition("\n## ")[0].split())
    assert section
    for parameter in cli.commands[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in section
            assert " ".join((parameter.help or "").split()) in section


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def test_every_source_stands_in_the_literature(project: Path) -> None:
    listed = without_accents((project / "docs" / "references.md").read_text())
    absent = set()
    for entry in registered():
        for authors, year in re.findall(r"([A-ZÀ-Ž][^();\d]*?)\s*\(?(\d{4})\)?", entry.source):
            first = re.split(r",| & | and | et al", authors.strip())[0].strip().split()[-1]
            plain = re.escape(first)
            if not re.search(rf"^- [^\n]*{plain}[^\n]*\({year}\)", listed, re.M):
                absent.add(f"{first} ({year}) for {entry.name}")
    assert not absent, "\n".join(sorted(absent))
