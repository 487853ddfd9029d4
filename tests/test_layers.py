"""Imports point downwards only."""

import ast
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent

FLOORS = [
    ["__main__"],
    ["cli"],
    ["studio"],
    ["scale"],
    ["estimators"],
    ["frontier"],
    ["release"],
    ["report", "run"],
    ["partition"],
    ["replace"],
    ["mask"],
    ["privacy"],
    ["risk"],
    ["utility"],
    ["constraints"],
    ["files", "hospital", "guess"],
    ["plan"],
    ["change", "measure"],
    ["groups", "microdata", "compare", "set_partition"],
    ["bare", "cells"],
    ["evidence", "records"],
    ["schema"],
    ["hierarchy", "methods"],
    ["kernels"],
    ["errors"],
]
"""From the roof down; rooms on one floor do not import each other."""

FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}


def imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shoal"):
            rooms = node.module.split(".")[1:]
            names += [rooms[0]] if rooms else [alias.name for alias in node.names if alias.name in FLOOR_OF]
        elif isinstance(node, ast.Import):
            names += [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("shoal.")]
    return names


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "__init__.py"],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_imports_point_downwards(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert room in FLOOR_OF, f"the room {room} has no floor: give it one in FLOORS"
    upwards = [other for other in imports(path) if other != room and FLOOR_OF[other] <= FLOOR_OF[room]]
    assert not upwards, f"{room} imports {upwards}, which lie above or beside it"
