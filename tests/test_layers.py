"""The house, from the roof down: who may import whom (docs/architecture.md draws the same table)."""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent

LAYERS = """
    __main__
    cli
    studio
    frontier
    large
    protect audit assess exposure
    publish account advice
    ledger
    estimators combine compare dossier review
    release
    scale
    run
    course
    accounting
    plan
    steps
    mask
    privacy risk utility
    partition replace
    constraints
    judges
    files
    step_result
    data
    methods report
    facts parameters kernels processes progress supervised
    errors
"""
"""A room imports only from the lines below its own; rooms of one line do not import one another."""

FLOOR = {part: number for number, line in enumerate(LAYERS.split("\n")) for part in line.split()}

BY_REGISTRY = {"build", "registered", "entry", "nested"}
"""Calls that reach a kind of methods by its name: they count as imports of its room."""

KINDS = ("partition", "replace", "mask", "privacy", "risk", "utility")

TO_MEND: set[tuple[str, str]] = set()
"""Arrows that point upwards still."""


def test_the_page_of_the_house_shows_the_same_layers(project: Path) -> None:
    shown = (project / "docs" / "architecture.md").read_text().split("```text\n")[1].split("```")[0]
    assert shown.split("\n") == textwrap.dedent(LAYERS).strip("\n").split("\n") + [""], (
        "copy LAYERS to docs/architecture.md"
    )


def arrows(path: Path) -> Iterator[str]:
    """The rooms that a file reaches: by imports, wherever they stand, and through the registry."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shoal":
            rooms = node.module.split(".")[1:]
            yield from rooms[:1] if rooms else (alias.name for alias in node.names if alias.name in FLOOR)
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("shoal."))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BY_REGISTRY:
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and a.value in KINDS)


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "__init__.py"],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_arrows_point_downwards(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert part in FLOOR, f"the room {part} has no place in LAYERS: give it one"
    upwards = {other for other in arrows(path) if other != part and FLOOR[other] <= FLOOR[part]}
    upwards -= {other for other in upwards if (part, other) in TO_MEND}
    assert not upwards, f"{part} reaches {sorted(upwards)}, which lie above or beside it"
