"""Importing the package, and even every method, stays light: heavy libraries load when they are used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

HEAVY = (
    "pandas",
    "pyarrow",
    "sklearn",
    "scipy.stats",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.special",
    "scipy.linalg",
    "scipy.sparse",
    "vl_convert",
    "jinja2",
    "rich",
    "duckdb",
)
FOR_WORK = ("importlib.metadata", "email", "zipfile", "ctypes", "hashlib", "logging", "difflib")
"""Of the standard library: what only work needs, and makes up a third of the time in which `--help` answers."""


SMALL_RELEASE = """
import polars, shoal
plan = {
    "columns": {"a": "quasi-identifier", "b": "confidential"},
    "steps": [{"partition": "mdav", "k": 2, "replace": "centroid"}],
    "requirements": [{"privacy": "k-anonymity", "k": 2}],
}
shoal.protect(polars.DataFrame({"a": [1, 2, 3, 4], "b": [1.0, 2.0, 3.0, 4.0]}), plan)
"""


@pytest.mark.parametrize(
    ("code", "barred"),
    [
        ("import shoal", (*HEAVY, "numpy", "polars", "narwhals", "pydantic")),
        ("from shoal.vocabulary import registry; registry.load()", HEAVY),
        (
            SMALL_RELEASE,
            (
                *HEAVY,
                "shoal.mask.pram",
                "shoal.replace.cart",
                "shoal.proof.in_parts",
                "shoal.ledger.store",
                "shoal.plan.linked",
            ),
        ),
        ("import shoal; shoal.MDAV(k=5)", (*HEAVY, "shoal.partition.refined", "shoal.mask.pram", "shoal.risk.suda2")),
        (
            "from shoal.__main__ import main; from shoal.cli import cli; cli.main(['--help'], standalone_mode=False)",
            (*HEAVY, *FOR_WORK, "numpy", "polars", "narwhals", "pydantic"),
        ),
    ],
)
def test_what_an_import_does_not_load(code: str, barred: tuple[str, ...]) -> None:
    program = f"{code}\nimport sys\nprint(*[name for name in {barred!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == ""


def test_no_room_hides_a_public_name() -> None:
    """Importing a module binds it in its package, where a public name is looked for first."""
    rooms = {path.stem for path in Path(shoal.__file__).parent.iterdir()}
    assert not rooms & set(dir(shoal))


AT_ONCE = """
import pathlib, sys, threading, time
import shoal.partition
from shoal.vocabulary import registry

pathlib.Path(sys.argv[1], "slow.py").write_text('''
import time
from shoal.partition.base import Partitioner
from shoal.vocabulary.registry import method

@method("slow", title="Slow", source="nobody")
class Slow(Partitioner):
    pass

time.sleep(2)
helper = True
''')
shoal.partition.__path__.append(sys.argv[1])
registry.plugins()
thread = threading.Thread(target=registry.entry, args=("partition", "slow"))
thread.start()
while ("partition", "slow") not in registry._entries:
    time.sleep(0.01)
found = registry.entry("partition", "slow")
assert hasattr(sys.modules[found.cls.__module__], "helper")
thread.join()
"""


def test_a_method_that_another_thread_is_importing_is_waited_for(tmp_path: Path) -> None:
    """It enters itself before the rest of its module is there."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-c", AT_ONCE, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
