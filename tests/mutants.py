"""Small faults, one at a time: `python tests/mutants.py src/shoal/privacy/k_map.py ... [--budget N] [--seed S]`.

Each mutant of a file is written into a copy of the package, and the tests nearest to the file are run against it:
those that enter the function with the fault, the fastest first; all, where none does. A mutant that they let live is
printed; it is no fault of the tests only where it changes nothing, and then `tests/equal_mutants.txt` says why.

Nearest are the tests that mirror the file and those beside them that name it, or a class or function of it; where
none does, those elsewhere that import it; `--also PATH` adds others, `--only PATH` takes these instead. What stands in
messages is left alone, and so is what would break at once.
"""

import argparse
import ast
import compileall
import copy
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
EQUAL = ROOT / "tests" / "equal_mutants.txt"

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "all": "any", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "left": "right"}
SWAPPED |= {there: here for here, there in SWAPPED.items()}

UNSHORTENED = {*SWAPPED, "isinstance", "getattr", "hasattr", "cast"}
"""Calls that break at once without their last argument."""

UNSHRUNK = "--hypothesis-profile=unshrunk"
"""The first example that fails will do; a simpler one takes most of the time."""

FORKS = multiprocessing.get_context("forkserver")
"""Each mutant has a process of its own, forked where these are loaded already, and nothing of the package is."""
FORKS.set_forkserver_preload(["pytest", "hypothesis", "numpy", "polars", "narwhals.stable.v2", "pydantic"])

ELSEWHERE = {"proof": "parts", "run/parts": "parts", "table/parts": "parts"}
"""Folders of tests that bear another name than what they test."""

USERS = {
    "judges/class_table.py": ["privacy/test_class_by_class.py", "parts/test_audit.py"],
    "privacy/of_units.py": ["privacy/test_of_persons.py"],
    "proof/bounded.py": ["table/test_narrowed_ranges.py"],
    "proof/in_parts.py": ["parts/test_audit.py", "parts/test_counts.py"],
    "proof/repeated_in_parts.py": ["test_persons.py"],
    "release/review.py": ["cli/test_review.py"],
    "mask/_marginals/conditions.py": ["release/test_fitted.py", "mask/test_private_marginals.py"],
    "mask/_profiles/alignment.py": ["mask/test_profiles.py"],
    "mask/_profiles/diverse.py": ["mask/test_profiles.py"],
    "mask/_profiles/people.py": ["mask/test_profiles.py"],
    "mask/_profiles/shared.py": ["mask/test_profiles.py"],
    "run/carry_out.py": ["test_release.py"],
    "run/common_steps.py": ["test_linked_tables.py"],
    "run/judging.py": ["test_persons.py"],
    "run/linked.py": ["test_linked_tables.py"],
    "run/made_up.py": ["test_made_up_persons.py"],
    "run/over_tables.py": ["test_linked_tables.py", "test_made_up_persons.py"],
    "run/over_copies.py": ["test_made_up_persons.py"],
    "run/new_keys.py": ["test_linked_tables.py"],
    "plan/linked_explored.py": ["desk/frontier/test_of_tables.py"],
    "judges/joined.py": ["test_linked_tables.py"],
    "table/links.py": ["test_linked_tables.py"],
    "plan/linked.py": ["test_linked_tables.py", "test_made_up_persons.py"],
    "plan/linked_keys.py": ["test_linked_tables.py"],
    "plan/linked_sections.py": ["test_linked_tables.py", "test_linked_measures.py"],
    "run/over_measures.py": ["test_linked_measures.py", "test_made_up_persons.py"],
    "run/over_rows.py": ["test_linked_rules.py"],
    "plan/synthesis.py": ["test_made_up_persons.py"],
    "replace/_persons/drawing.py": ["replace/test_persons.py", "test_made_up_persons.py"],
    "replace/_persons/fitted.py": ["replace/test_persons.py", "test_made_up_persons.py"],
    "replace/_regressions/persons.py": ["test_made_up_persons.py"],
}
"""Tests of what uses a file that none, or few, name."""

Fault = tuple[ast.AST, ast.AST]
"""A node, and what stands in its place."""


@dataclass(frozen=True)
class Mutant:
    """One fault: the function it is in, its line, what stood there and what does, and the whole source with it."""

    where: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.where}: {self.before} -> {self.after}"


def mutants(source: str) -> list[Mutant]:
    """Every small fault of a source, in the order in which they stand."""
    tree = ast.parse(source)
    out = []
    for where, node, place in _places(tree):
        for other in _faults(node):
            place(other)
            out.append(Mutant(where, getattr(node, "lineno", 0), _text(node), _text(other), ast.unparse(tree)))
            place(node)
    return out


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.AST, Callable[[ast.AST], None]]]:
    """The scope of every node that computes something, the node, and a function that puts another in its place."""

    def below(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST, Callable[[ast.AST], None]]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            entries = value if isinstance(value, list) else [value]
            for number, child in enumerate(entries):
                if not isinstance(child, ast.AST) or _is_message(child):
                    continue
                inside = f"{scope}.{child.name}".lstrip(".") if hasattr(child, "name") and scope != "-" else scope

                def place(other: ast.AST, node=node, field=field, value=value, number=number) -> None:
                    if isinstance(value, list):
                        value[number] = other
                    else:
                        setattr(node, field, other)

                yield inside or "module", child, place
                yield from below(child, inside)

    yield from below(tree, "")


def _is_message(node: ast.AST) -> bool:
    """Whether a node is words for a reader, or imports and types, of which no fault is made."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Constant(value=str() as text):
            return text not in SWAPPED
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_message(left) or _is_message(right)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_message(body) or _is_message(orelse)
        case ast.keyword(arg="sentence" | "title" | "requirement" | "reason"):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Compare(ops=[op]):
            yield from (_with(node, ops=[other()]) for other in COMPARED[type(op)])
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield from (_with(node, values=values[:i] + values[i + 1 :]) for i in range(len(values)) if len(values) > 2)
        case ast.BinOp(op=op) if type(op) in COMPUTED and not _is_path(node):
            yield _with(node, op=COMPUTED[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float() as value):
            yield ast.Constant(1e-3 if 0 < value < 1e-6 else value + 0.5)
        case ast.Constant(value=str() as value) if value in SWAPPED:
            yield ast.Constant(SWAPPED[value])
        case ast.Name(id=name) if name in SWAPPED:
            yield ast.Name(SWAPPED[name])
        case ast.Attribute(attr=name) if name in SWAPPED:
            yield _with(node, attr=SWAPPED[name])
        case ast.Call(func=func, args=[*_, _, _]) if not isinstance(func, ast.Name) or func.id not in UNSHORTENED:
            yield _with(node, args=node.args[:-1])
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield ast.Pass()


def _is_path(node: ast.AST) -> bool:
    """Whether a node is a path built with slashes, which anything else would break at once."""
    return isinstance(node, ast.BinOp) and (
        (isinstance(node.right, ast.Constant) and isinstance(node.right.value, str)) or _is_path(node.left)
    )


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _text(node: ast.AST) -> str:
    """A node in one line; of a statement with others below it, only the first line."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def nearest(path: Path) -> list[Path]:
    """Tests that mirror a file, those beside them that name it or what it defines, or else import it, and `USERS`."""
    inside = path.relative_to(ROOT / "src" / "shoal")
    folders = [ROOT / "tests" / inside.parent, ROOT / "tests" / ELSEWHERE.get(inside.parent.as_posix(), inside.parent)]
    beside = sorted({test for folder in folders for test in folder.glob("test_*.py")})
    mirrors = [test for test in beside if test.stem == f"test_{path.stem.strip('_')}"]
    defined = [node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    named = re.compile(rf"\b(?:{'|'.join([*map(re.escape, defined), rf'import {path.stem}', path.stem])})\b")
    module = ".".join(["shoal", *inside.parent.parts])
    imported = re.compile(rf"\b(?:{module}\.{path.stem}|from {module} import .*\b{path.stem})\b")
    near = [*mirrors, *(test for test in beside if named.search(test.read_text()))]
    if not near:
        near = [test for test in sorted((ROOT / "tests").rglob("test_*.py")) if imported.search(test.read_text())]
    return list(dict.fromkeys([*near, *(ROOT / "tests" / test for test in USERS.get(inside.as_posix(), ()))]))


def living(path: Path, tests: Sequence[Path], chosen: Sequence[Mutant]) -> Iterator[Mutant]:
    """Those mutants of a file that no test kills.

    Raises
    ------
    SystemExit
        If there are no tests, or they do not pass without any mutant.
    """
    if not tests:
        raise SystemExit(f"mutants: no test is near {path.relative_to(ROOT)}. Name some (--also).")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        package = Path(folder) / "shoal"
        shutil.copytree(ROOT / "src" / "shoal", package, ignore=shutil.ignore_patterns("__pycache__"))
        victim = package / path.relative_to(ROOT / "src" / "shoal")
        compileall.compile_dir(package, quiet=1)
        for stale in victim.parent.glob(f"__pycache__/{victim.stem}.*"):  # Python reads it where time and size agree
            stale.unlink()
        entered = Path(folder, "entered.json")
        if not _pass(tests, folder, 1800, Entered(victim, entered)):
            raise SystemExit(f"mutants: without a fault, too, these fail: {' '.join(map(str, tests))}")
        seconds = json.loads(entered.read_text())
        for mutant in chosen:
            victim.write_text(mutant.source)
            if _pass(tests, folder, 300, Chosen(entering(mutant.where, seconds))):
                yield mutant


def entering(where: str, seconds: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    """The tests that enter a function, or the one around it, and the seconds that they take."""
    while where not in seconds and "." in where:
        where = where.rpartition(".")[0]
    return seconds.get(where, {})


class Entered:
    """Plugin of pytest that writes down which tests enter which function of a file, and the seconds that they take.

    What the making of a fixture enters, all tests enter that use it, though it is made once.
    """

    def __init__(self, victim: Path, out: Path) -> None:
        self.victim, self.out = str(victim), out
        self.seconds: dict[str, dict[str, float]] = defaultdict(dict)
        self.fixtures: dict[str, set[str]] = {}
        self.now: set[str] = set()

    def enter(self, frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_filename == self.victim:
            self.now.add(re.sub(r"\.<\w+>", "", frame.f_code.co_qualname))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        before, self.now = self.now, set()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] = self.now
            self.now |= before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        self.now = set()
        begun = perf_counter()
        sys.settrace(self.enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            fixtures = (self.fixtures.get(name, set()) for name in getattr(item, "fixturenames", ()))
            for name in self.now.union(*fixtures):
                self.seconds[name][item.nodeid] = perf_counter() - begun

    def pytest_sessionfinish(self) -> None:
        self.out.write_text(json.dumps(self.seconds))


@dataclass(frozen=True, eq=False)
class Chosen:
    """Plugin of pytest that runs some tests, the fastest first; all, where none is named."""

    seconds: Mapping[str, float]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.seconds:
            items[:] = [item for item in items if item.nodeid in self.seconds]
            items.sort(key=lambda item: self.seconds[item.nodeid])


def _pass(tests: Sequence[Path], source: str, seconds: int, plugin: object) -> bool:
    """Whether all tests pass on a copy of the package; those that go on for ever do not."""
    process = FORKS.Process(target=_run, args=(ROOT, list(map(str, tests)), source, plugin))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def _run(root: Path, tests: Sequence[str], source: str, plugin: object) -> None:
    """Run tests on a copy of the package in this process, and end it with their exit status."""
    os.environ |= {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.path.insert(0, source)
    for name in [name for name in sys.modules if name.split(".")[0] == "shoal"]:
        del sys.modules[name]  # where the process that is forked was started by the studio, in the same run of tests
    sys.dont_write_bytecode = True
    os.chdir(root)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    os._exit(pytest.main(["-x", "-q", "-p", "no:xdist", *loaded, UNSHRUNK, *tests], plugins=[plugin]))


def equal(path: Path) -> set[str]:
    """The mutants of a file that are said to change nothing."""
    said = [line.split(" # ")[0].split(" | ") for line in EQUAL.read_text().splitlines() if " | " in line]
    return {text.strip() for file, text in said if file == str(path.relative_to(ROOT))}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--budget", type=int, help="try so many mutants, drawn from all files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="further tests")
    parser.add_argument("--only", nargs="*", type=Path, help="these tests in place of the nearest")
    asked = parser.parse_args(arguments)
    every = [(path, m) for path in map(Path.resolve, asked.files) for m in mutants(path.read_text())]
    every = [(path, mutant) for path, mutant in every if str(mutant) not in equal(path)]
    if asked.budget is not None and asked.budget < len(every):
        every = random.Random(asked.seed).sample(every, asked.budget)
    alive = 0
    for path in dict.fromkeys(path for path, _ in every):
        chosen = [mutant for of, mutant in every if of == path]
        near = nearest(path) if asked.only is None else asked.only
        for mutant in living(path, [*map(Path.resolve, (*near, *asked.also))], chosen):
            print(f"{path.relative_to(ROOT)}:{mutant.line} {mutant}", flush=True)
            alive += 1
    print(f"{alive} of {len(every)} mutants live")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
