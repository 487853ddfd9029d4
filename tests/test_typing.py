"""What editors and type checkers see of the package."""

import inspect
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import shoal
from by_night import only_by_night
from shoal.vocabulary.registry import registered

RIGHT = """
import polars as pl
import shoal

part: shoal.Partition = shoal.MDAV(k=5).partition(shoal.example("hospital", n=100, seed=1))
least: int = part.k
noise = shoal.Noise(kind="kim", variance=0.15)
variance: float = noise.variance
start: object = shoal.Refined(start=shoal.MDAV(k=3), k=3)
release: shoal.Release = shoal.protect(pl.DataFrame(), {"columns": {}}, seed=1)
"""

WRONG = {
    'shoal.MDAV(k="five")': 'Argument "k" to "MDAV" has incompatible type "str"',
    "shoal.MDAV(size=5)": 'Unexpected keyword argument "size"',
    "shoal.MDAV()": 'Missing named argument "k"',
    "shoal.MDAV(5)": "Too many positional arguments",
    'shoal.Noise(kind="kimm", variance=0.1)': 'Argument "kind" to "Noise" has incompatible type',
    "shoal.MDAV(k=5).k = 6": 'Property "k" defined in "MDAV" is read-only',
    "shoal.Mdav": 'Module has no attribute "Mdav"',
}

OTHERS = ("narwhals", "numpy", "polars", "pydantic", "pydantic_core")
"""Libraries whose own types the program has no need of; to read them takes most of a type checker's time."""


@only_by_night  # by day `make check` has the checker read all that the package itself makes of methods
def test_a_type_checker_sees_the_parameters_of_methods(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RIGHT + "\n".join(WRONG))
    configuration = tmp_path / "mypy.ini"
    configuration.write_text("[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in OTHERS))
    options = ["--strict", "--follow-imports=silent", f"--config-file={configuration}", f"--cache-dir={tmp_path}"]
    options.append("--no-pretty")
    home = Path(shoal.__file__).parents[1]
    environment = dict(os.environ) if home.name == "site-packages" else {**os.environ, "MYPYPATH": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)], capture_output=True, text=True, env=environment
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), done.stdout + done.stderr
    for error, (code, expected) in zip(errors, WRONG.items()):
        assert expected in error, code


@pytest.mark.parametrize("entry", registered(), ids=lambda entry: entry.cls.__name__)
def test_an_editor_completes_every_method(entry) -> None:
    method = getattr(shoal, entry.cls.__name__)
    parameters = inspect.signature(method).parameters
    assert list(parameters) == list(entry.parameters)
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert inspect.getdoc(method)


def test_only_public_names_are_listed() -> None:
    names = dir(shoal)
    assert {entry.cls.__name__ for entry in registered()} < set(names)
    assert [name for name in names if name.startswith("_")] == ["__version__"]
    assert [name for name in names if inspect.ismodule(getattr(shoal, name))] == []


def test_the_package_says_that_it_is_typed() -> None:
    assert files("shoal").joinpath("py.typed").is_file()
    assert files("shoal").joinpath("__init__.pyi").is_file()
