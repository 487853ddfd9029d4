"""The table of tasks: what is called straight is driven in a browser by the test that stands beside it."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "studio-tasks.md"
ROWS = re.findall(r"^\| (.+?) \| (straight) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M)


def in_browsers() -> set[str]:
    """Names of the tests of the studio that take a browser, or a page in one."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and {"browser", "page"} & {a.arg for a in node.args.args}:
                names.add(node.name)
    return names


def test_every_task_has_an_answer_and_every_straight_one_a_test() -> None:
    tests = in_browsers()
    assert len(ROWS) == PAGE.read_text(encoding="utf-8").count("\n| ") - 4  # but for heads and rules of two tables
    for task, _, how in ROWS:
        named = re.findall(r"`(test_\w+)`", how)
        assert named and set(named) <= tests, task
