"""Files and functions small enough to be read at once."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

LONGEST_FILE, LONGEST_FUNCTION, LONGEST_NATIVE = 400, 50, 60


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length of each function: the lines from `def` to its end, without its docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = int(node.end_lineno or 0) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                length -= int(first.end_lineno or 0) - first.lineno + 1
            yield node.name, length


def test_no_file_and_no_function_is_too_long() -> None:
    """All that are too long, with their lines: part a file by what it is about; name the stages of a function."""
    names = {str(path.relative_to(PACKAGE)): path for path in SOURCES}
    files = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in names.items()}
    counted = [(name, function, lines) for name, path in names.items() for function, lines in functions(path)]
    assert len(counted) > 5 * len(files)  # functions are seen
    assert {name: lines for name, lines in files.items() if lines > LONGEST_FILE} == {}
    assert [function for function in counted if function[-1] > LONGEST_FUNCTION] == []


NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<!\d)'(?:\\.|[^'\\\n])*'|^[ \t]*\#[^\n]*""", re.S | re.M
)
"""Comments, texts, characters (but no marks inside a number) and lines of the preprocessor."""

BODY = re.compile(r"[\])]\s*(?:(?:const|noexcept|override|mutable|&&?)\s*)*(?:->[^;{}()]*)?$")
"""What stands before the brace of a function: its parameters and what may follow them."""

NO_FUNCTION = re.compile(r"(?:\}|\belse|^)\s*(?:if|for|while|switch|catch)\b")


def native_functions(text: str) -> Iterator[tuple[str, int]]:
    """Head and length of each function of a C++ source, lambdas included: the lines from its head to its last brace."""
    code = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    open_blocks: list[tuple[str, int, int]] = []
    start = parentheses = 0
    for mark in re.finditer(r"[;{}()]", code):
        if mark[0] in "()":
            parentheses += 1 if mark[0] == "(" else -1
            continue
        before = code[start : mark.start()]
        if mark[0] == "{":
            open_blocks.append((before.strip(), start + len(before) - len(before.lstrip()), parentheses))
            parentheses = 0
        elif mark[0] == "}":
            head, first, parentheses = open_blocks.pop()
            if BODY.search(head) and not NO_FUNCTION.search(head):
                yield " ".join(head.split()), code.count("\n", first, mark.start()) + 1
        elif parentheses:
            continue  # inside `for (...; ...; ...)`
        start = mark.end()
    assert not open_blocks, "braces do not match"


def test_functions_of_a_native_source_are_counted() -> None:
    """By hand: what is a function, and how many lines it has."""
    source = """
struct S {
  S(int a) : a_{a}, b_(1) {
    if (a) { b_ = '{'; }
  }
  int f() const noexcept { return a_ ? 1'000 : '\\''; }  // }
  int a_, b_;
};

template <class T>
auto g(T t) -> int {
  const char* s = "}{";
  for (int i = 0; i < 3; ++i) {
    t += i;
  }
  return apply([&](int x) {
    return x /* } */ + t;
  });
}
"""
    lengths = dict(native_functions(source))
    assert lengths == {
        "int f() const noexcept": 1,
        ", b_(1)": 3,
        "template <class T> auto g(T t) -> int": 10,
        "return apply([&](int x)": 3,
    }


def test_no_native_file_and_no_native_function_is_too_long(project: Path) -> None:
    sources = sorted((project / "native").rglob("*.[ch]pp"))
    if not sources:
        pytest.skip("the sources of the kernels do not lie beside the tests")
    lengths = {str(path.relative_to(project)): len(path.read_text().splitlines()) for path in sources}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}
    counted = {(path.name, head): length for path in sources for head, length in native_functions(path.read_text())}
    assert len(counted) > 5 * len(sources)  # functions are seen
    assert {name: length for name, length in counted.items() if length > LONGEST_NATIVE} == {}
