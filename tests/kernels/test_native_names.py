"""Two kernels may not give one name to different types: the linker would silently mix them (one-definition rule)."""

import re
from pathlib import Path

import pytest


def test_no_type_is_defined_twice(project: Path) -> None:
    native = project / "native"
    if not native.is_dir():
        pytest.skip("the sources of the kernels do not lie beside the tests")
    homes: dict[str, set[str]] = {}
    for path in sorted(p for p in native.rglob("*") if p.is_file()):
        text = path.read_text()
        if path.suffix == ".cpp" and "\nnamespace {" in text:
            continue  # local to its file
        inner = re.search(r"^inline namespace (\w+) \{", text, re.M)
        for name in re.findall(r"^(?:struct|class) (\w+)\b(?!<)[^;]*?\{", text, re.M):
            homes.setdefault(f"{inner[1] if inner else 'shoal'}::{name}", set()).add(str(path.relative_to(native)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
