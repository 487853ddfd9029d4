"""The reference follows the code, and the literature holds every source that a method names."""

import importlib.util
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from shoal.cli import cli
from shoal.plan import Plan
from shoal.table.yaml_text import parse_yaml
from shoal.vocabulary.registry import Entry, registered


@pytest.fixture(scope="module")
def generate(project: Path) -> Iterator[ModuleType]:
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.syspath_prepend(project / "docs")
    spec = importlib.util.spec_from_file_location("generate", project / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    monkeypatch.undo()


def test_every_generated_page_is_up_to_date(generate: ModuleType) -> None:
    stale = [path.name for path, make in generate.PAGES.items() if not path.is_file() or path.read_text() != make()]
    assert (stale, generate.left_over()) == ([], []), "run python docs/generate.py"


@pytest.mark.parametrize("entry", registered(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_the_page_of_a_method_names_all_parameters_and_its_plan_can_be_read(project: Path, entry: Entry) -> None:
    page = (project / "docs" / "reference" / "methods" / f"{entry.name}.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]*) \| ([^|]+)", page.replace(r"\|", ""), re.M)
    assert {name for name, *_ in rows} == set(entry.parameters)
    assert all(values.strip() and says.strip() for _, values, _, says in rows)
    said = parse_yaml(re.findall(r"```yaml\n(.*)\n```", page)[0], "the example")
    place = {"privacy": "requirements", "risk": "measures", "utility": "measures"}.get(entry.kind, "steps")
    plan = Plan.of({"columns": {"a": "quasi-identifier"}, place: [said]})
    method = getattr(plan, place)[0]
    if place == "steps":
        method = getattr(method, "replace" if entry.kind == "replace" else "method")
    assert type(method) is entry.cls


def test_the_plan_page_has_a_table_of_every_section(project: Path, generate: ModuleType) -> None:
    written = (project / "docs" / "reference" / "plan.md").read_text()
    assert written.count("<!-- keys: ") == 1 + len(generate.MODELS)
    assert project / "docs" / "reference" / "plan.md" in generate.PAGES


def test_the_readme_shows_what_its_example_prints(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (project / "README.md").read_text()
    program, shown = (re.findall(rf"```{kind}\n(.*?)```", readme, re.S)[0] for kind in ("python", "text"))
    exec(program, {})
    assert capsys.readouterr().out.startswith(shown.removesuffix("...\n"))


def commands(group: click.Group, above: str = "") -> dict[str, click.Command]:
    """All commands by the words that call them, those of groups included."""
    listed: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        listed[above + name] = command
        if isinstance(command, click.Group):
            listed |= commands(command, f"{above}{name} ")
    return listed


COMMANDS = commands(cli)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(project: Path, name: str) -> None:
    """Its layout is the library's, so words are compared and not lines."""
    page = (project / "docs" / "reference" / "commands.md").read_text()
    section = " ".join(page.partition(f"\n## shoal {name}\n")[2].partition("\n## ")[0].split())
    assert section
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in section
            assert " ".join((parameter.help or "").split()) in section


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_man_page_has_every_command_and_option(project: Path, name: str, generate: ModuleType) -> None:
    page = (project / "man" / "shoal.1").read_text()
    section = page.partition(f"\n.SH SHOAL {name.upper()}\n")[2].partition("\n.SH ")[0]
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert f".B {generate._roff(', '.join(sorted(parameter.opts, key=len)))}" in section
            assert generate._roff(" ".join((parameter.help or "").split())) in section
            assert f"({parameter.envvar})" in section


def test_the_man_page_is_understood(project: Path) -> None:
    """The formatter knows every request in it, and shows examples in lines of their own."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not there")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "man/shoal.1"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "\n         shoal init people.csv > plan.yaml" in done.stdout.replace("‐", "-").replace("−", "-")


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def unlisted_sources(entry: Entry, project: Path) -> list[str]:
    """The works named in a method's source that the literature lacks."""
    listed = without_accents((project / "docs" / "references.md").read_text())
    absent = []
    for authors, year in re.findall(r"([^\W\d][^();\d]*?)\s*\(?(\d{4})\)?", entry.source):
        first = re.split(r",| & | and | et al", authors.strip())[0].strip().split()[-1]
        if not re.search(rf"^- [^\n]*{re.escape(first)}[^\n]*\({year}\)", listed, re.M):
            absent.append(f"{first} ({year})")
    return absent


@pytest.mark.parametrize("entry", registered(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_every_source_stands_in_the_literature(entry: Entry, project: Path) -> None:
    absent = unlisted_sources(entry, project)
    assert not absent, f"{entry.name} names {', '.join(absent)}: add the work to docs/references.md"
