"""Variables are called what they are: words that could stand for anything name nothing."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

INSTEAD = {
    "told": "what it is: facts, sentence, message, recorded",
    "gone": "what became of it: dropped, blanked, missing, merged",
    "held": "what it is: present, members, fixed, active, or `holds` for a truth value",
    "found": "what was sought: finding, solution, groups, guesses",
    "room": "what it is: allowance, limits, headroom, or a layer's name",
}
"""Words that no identifier has among its parts, and what to write."""

FOLDERS = ("src", "tests", "bench", "scripts", "docs")

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"', re.S)


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The names in a file and their lines; tests are called by sentences, so theirs are left out."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if not name.startswith("test_"):
                yield name, node.lineno
            case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno


def misnamed(names: Iterator[tuple[str, int]]) -> list[str]:
    """What to write instead of each name that has a banned word among its parts."""
    return [
        f"line {line}: {name}; write {INSTEAD[word]}"
        for name, line in names
        for word in name.lower().split("_")
        if word in INSTEAD
    ]


SCRIPT_NAME = re.compile(
    r"\b(?:const|let|function)\s+(\w+)|\.(\w+)|\b(\w+)\s*:|[{,\[]\s*(\w+)(?=[^;{}\[\]'`]*[}\]]\s*(?:=[^=]|\)))"
)
"""Names that a script gives: declared, taken apart from something, of a property."""

SCRIPT_PROSE = re.compile(r"//[^\n]*|'(?:\\.|[^'\\\n])*'")


def script_identifiers(text: str) -> Iterator[tuple[str, int]]:
    """The names in a script of the studio and their lines, without comments and texts."""
    for number, line in enumerate(SCRIPT_PROSE.sub("''", text).split("\n"), start=1):
        yield from ((next(filter(None, names)), number) for names in SCRIPT_NAME.findall(line))


def native_identifiers(text: str) -> Iterator[tuple[str, int]]:
    """The words of a C++ source and their lines, without comments and texts."""
    code = COMMENT_OR_TEXT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(code.split("\n"), start=1):
        yield from ((word, number) for word in re.findall(r"\w+", line))


@pytest.mark.parametrize("folder", FOLDERS)
def test_python_is_named_after_what_it_is(folder: str, project: Path) -> None:
    paths = [path for path in sorted((project / folder).rglob("*.py*")) if path.suffix in (".py", ".pyi")]
    texts = {str(path.relative_to(project)): path.read_text("utf-8") for path in paths}
    doubtful = {path: text for path, text in texts.items() if re.search(f"(?i){'|'.join(INSTEAD)}", text)}
    wrong = {path: misnamed(identifiers(ast.parse(text))) for path, text in doubtful.items()}
    assert {path: lines for path, lines in wrong.items() if lines} == {}


def test_kernels_are_named_after_what_they_are(project: Path) -> None:
    paths = [path for path in sorted((project / "native").rglob("*")) if path.suffix in (".cpp", ".hpp")]
    wrong = {str(p.relative_to(project)): misnamed(native_identifiers(p.read_text("utf-8"))) for p in paths}
    assert {path: lines for path, lines in wrong.items() if lines} == {}


def test_the_scripts_of_the_studio_are_named_after_what_they_are(project: Path) -> None:
    scripts = sorted((project / "src" / "shoal" / "studio" / "static").glob("*.js"))
    assert len(scripts) > 5
    wrong = {path.name: misnamed(script_identifiers(path.read_text(encoding="utf-8"))) for path in scripts}
    assert {path: lines for path, lines in wrong.items() if lines} == {}


def test_the_rule_by_hand() -> None:
    source = "def f(held=1): told = g(room=2); x.found; return held_out\ndef test_it_is_told(): holds = 1\n"
    assert {line.split(";")[0] for line in misnamed(identifiers(ast.parse(source)))} == {
        "line 1: held",
        "line 1: told",
        "line 1: room",
        "line 1: found",
        "line 1: held_out",
    }
    cpp = 'int found = 0; // told\n/* gone\n */ text("held"); int room_left;\n'
    assert [line.split(";")[0] for line in misnamed(native_identifiers(cpp))] == ["line 1: found", "line 3: room_left"]
    script = (
        "const { state, gone } = f(); // told\nstore.held = 'found';\nlet room = { told: 1 };\nfunction held() {}\n"
    )
    named = [line.split(";")[0] for line in misnamed(script_identifiers(script))]
    assert named == ["line 1: gone", "line 2: held", "line 3: room", "line 3: told", "line 4: held"]


def test_a_class_has_a_name_of_its_own(project: Path) -> None:
    """A reader who meets a public class by its name knows which one it is."""
    homes = Counter(
        node.name
        for path in (project / "src" / "shoal").rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in homes.items() if count > 1] == []
