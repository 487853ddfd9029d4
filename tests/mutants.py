"""Small faults, one at a time: `python tests/mutants.py src/shoal/privacy/k_map.py ... [--budget N] [--seed S]`.

Each mutant of a file is written into a copy of the package, and the tests nearest to the file are run against it. A
mutant that they let live is printed; it is no fault of the tests only where it changes nothing, and then
`tests/equal_mutants.txt` says why. Nearest are the tests that mirror the file, and those beside them that name it, or
a class or function of it; `--also PATH` adds others. What stands in messages is left alone.
"""

import argparse
import ast
import compileall
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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

UNSHRUNK = "--hypothesis-profile=unshrunk"
"""The first example that fails will do; a simpler one takes most of the time."""

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
        case ast.BinOp(op=op) if type(op) in COMPUTED:
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
        case ast.Call(func=func, args=[*_, _, _]) if not isinstance(func, ast.Name) or func.id not in SWAPPED:
            yield _with(node, args=node.args[:-1])
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
        case ast.AugAssign() | ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _text(node: ast.AST) -> str:
    """A node in one line; of a statement with others below it, only the first line."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def nearest(path: Path) -> list[Path]:
    """The tests that mirror a file, then those beside them that name it or what it defines."""
    inside = path.relative_to(ROOT / "src" / "shoal")
    folder = ROOT / "tests" / inside.parent
    mirror = folder / f"test_{path.stem.strip('_')}.py"
    defined = [node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    named = re.compile(rf"\b(?:{'|'.join([*map(re.escape, defined), rf'import {path.stem}', path.stem])})\b")
    beside = [test for test in sorted(folder.glob("test_*.py")) if test != mirror and named.search(test.read_text())]
    return [mirror] * mirror.is_file() + beside


def living(path: Path, tests: Sequence[Path], chosen: Sequence[Mutant]) -> Iterator[Mutant]:
    """Those mutants of a file that no test kills.

    Raises
    ------
    SystemExit
        If the tests do not pass without any.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        package = Path(folder) / "shoal"
        shutil.copytree(ROOT / "src" / "shoal", package, ignore=shutil.ignore_patterns("__pycache__"))
        victim = package / path.relative_to(ROOT / "src" / "shoal")
        compileall.compile_dir(package, quiet=1)
        for stale in victim.parent.glob(f"__pycache__/{victim.stem}.*"):  # Python reads it where time and size agree
            stale.unlink()
        if not _pass(tests, folder, 600):
            raise SystemExit(f"mutants: without a fault, too, these fail: {' '.join(map(str, tests))}")
        for mutant in chosen:
            victim.write_text(mutant.source)
            if _pass(tests, folder, 120):
                yield mutant


def _pass(tests: Sequence[Path], source: str, seconds: int) -> bool:
    """Whether all tests pass on a copy of the package; those that go on for ever do not."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:xdist", UNSHRUNK, *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


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
    asked = parser.parse_args(arguments)
    every = [(path, m) for path in map(Path.resolve, asked.files) for m in mutants(path.read_text())]
    every = [(path, mutant) for path, mutant in every if str(mutant) not in equal(path)]
    if asked.budget is not None and asked.budget < len(every):
        every = random.Random(asked.seed).sample(every, asked.budget)
    alive = 0
    for path in dict.fromkeys(path for path, _ in every):
        chosen = [mutant for of, mutant in every if of == path]
        for mutant in living(path, [*nearest(path), *map(Path.resolve, asked.also)], chosen):
            print(f"{path.relative_to(ROOT)}:{mutant.line} {mutant}", flush=True)
            alive += 1
    print(f"{alive} of {len(every)} mutants live")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
