"""Tests draw from generators of their own, so that what they see does not depend on the tests before them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def generators(module: ast.Module) -> set[str]:
    """The names of a module that hold a generator of random numbers."""
    made = (node for node in module.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    drawn = (node for node in made if ast.unparse(node.value.func).split(".")[-1] in ("default_rng", "Generator"))
    return {target.id for node in drawn for target in node.targets if isinstance(target, ast.Name)}


def uses(text: str) -> Iterator[str]:
    """The functions that draw from a generator of their module."""
    module = ast.parse(text if re.search(r"^\w+ = .*(default_rng|Generator)\(", text, re.M) else "")
    names = generators(module)
    for function in ast.walk(module) if names else ():
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            own = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
            own |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            if names & (read - own):
                yield getattr(function, "name", "lambda")


def test_no_function_draws_from_a_generator_of_its_module() -> None:
    shared = [
        f"{path.relative_to(TESTS)}: {name}" for path in TESTS.rglob("*.py") for name in uses(path.read_text("utf-8"))
    ]
    assert shared == []


def test_what_is_shared_is_seen() -> None:
    assert list(uses("R = np.random.default_rng(1)\ndef draw(): return R.normal()\nX = R.normal()")) == ["draw"]
    assert list(uses("R = np.random.default_rng(1)\ndef draw(R): return R.normal()")) == []
