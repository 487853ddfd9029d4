"""The stub of the compiled module: what a type checker knows of the kernels."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shoal.kernels._native as _native


def declarations(stub: str) -> set[str]:
    """What a stub declares, in whatever order and with whatever blanks, quotes and imports."""
    return {ast.dump(node) for node in ast.parse(stub).body if not isinstance(node, (ast.Import, ast.ImportFrom))}


def test_the_stub_is_what_stubgen_makes_of_the_module(project: Path, tmp_path: Path) -> None:
    """`make native` writes it anew."""
    patterns = project / "native" / "stub.txt"
    if not patterns.exists():
        pytest.skip("the sources of the kernels do not lie beside the tests")
    ours = Path(_native.__file__).with_name("_native.pyi")
    command = ["-q", "-D", "-i", ours.parent, "-m", "_native", "-p", patterns, "-o", tmp_path / "made.pyi"]
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", *command], check=True)
    made = (tmp_path / "made.pyi").read_text(encoding="utf-8")
    assert declarations(ours.read_text(encoding="utf-8")) == declarations(made)


def test_every_kernel_has_a_docstring() -> None:
    """Those of functions begin with the signature, which nanobind writes."""
    public = {name: thing for name, thing in vars(_native).items() if not name.startswith("_") and callable(thing)}
    assert len(public) > 60
    assert [
        n for n, it in public.items() if not it.__doc__ or ("\n\n" not in it.__doc__ and not isinstance(it, type))
    ] == []
