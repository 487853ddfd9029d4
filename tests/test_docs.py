"""The reference follows the code, and the literature holds every source that a method names."""

import importlib.util
import re
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest

from shoal.methods import registered


@pytest.fixture(scope="module")
def generate(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", project / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["methods.md", "commands.md"])
def test_the_reference_is_up_to_date(project: Path, generate: ModuleType, name: str) -> None:
    written = (project / "docs" / "reference" / name).read_text()
    assert written == generate.PAGES[name](), "run python docs/generate.py"


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
