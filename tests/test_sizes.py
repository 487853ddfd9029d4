"""Files and functions small enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

LONGEST_FILE, LONGEST_FUNCTION = 400, 50


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length of each function: the lines from `def` to its end, without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = int(node.end_lineno or 0) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                length -= int(first.end_lineno or 0) - first.lineno + 1
            yield node.name, length


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{lines} lines: part the file by what it is about"
    long = {name: length for name, length in functions(path) if length > LONGEST_FUNCTION}
    assert not long, f"longer than {LONGEST_FUNCTION} lines: {long}; give their stages names of their own"
