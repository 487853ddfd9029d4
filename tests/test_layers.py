"""The house, from the roof down: who may import whom (docs/architecture.md draws the same table)."""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import shoal

PACKAGE = Path(shoal.__file__).parent

LAYERS = """
    __main__
    cli
    studio
    desk
    ledger
    release
    run
    proof
    plan
    mask
    privacy risk utility
    partition replace
    constraints
    judges
    table
    report processes
    kernels
    vocabulary
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


def test_arrows_point_downwards() -> None:
    """All arrows that do not, by file."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]
    homes = {path: path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in paths}
    assert set(homes.values()) <= FLOOR.keys(), "a room that has no place in LAYERS: give it one"
    upwards = {
        (str(path.relative_to(PACKAGE)), other)
        for path, part in homes.items()
        for other in set(arrows(path)) - {part}
        if FLOOR[other] <= FLOOR[part] and (part, other) not in TO_MEND
    }
    assert sorted(upwards) == [], "rooms that lie above or beside that of the file"
