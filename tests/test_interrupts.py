"""Ctrl-C ends a run with one quiet line and status 130, whatever is being done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
sys.argv = ["shoal", *{words!r}]
from shoal.__main__ import main
main()
"""


def ended(module: str, words: list[str], *, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = PROGRAM.format(module=module, words=words)
    if ignored:
        program = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{program}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    "module",
    ["click", "shoal.cli.commands", "polars", "shoal.desk.protect", "shoal.partition.mdav", "shoal.table.examples"],
)
def test_while_libraries_are_imported(module: str, tmp_path: Path) -> None:
    """Libraries before the work says its first word; a method when the plan names it."""
    done = ended(module, ["demo", "--records", "30", "--out", str(tmp_path / "demo")])
    assert done.returncode == 130
    assert done.stdout == "" or (module == "shoal.partition.mdav" and done.stdout.startswith("Making 30 discharges"))
    assert done.stderr.strip() == "Interrupted; nothing was changed."
    assert not list(tmp_path.iterdir())


def test_where_the_system_ignores_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\n" + "f,30\nm,40\n" * 9)
    done = ended("polars", ["init", str(tmp_path / "people.csv")], ignored=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sex" in done.stdout


def test_while_it_works(tmp_path: Path) -> None:
    """A step that interrupts its own process: the directory is left as it was."""
    program = f"""
import os, signal, sys
import shoal.release.publish
publish = sys.modules["shoal.release.publish"]
whole = publish.write_json
def write_json(*content):
    whole(*content)
    os.kill(os.getpid(), signal.SIGINT)
publish.write_json = write_json
sys.argv = ["shoal", "demo", "--records", "30", "--out", {str(tmp_path / "demo")!r}]
from shoal.__main__ import main
main()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 130
    assert done.stderr.strip() == "Interrupted; nothing was changed."
    assert not list(tmp_path.iterdir())
