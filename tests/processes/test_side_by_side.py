"""Processes side by side, started by programs of all kinds, none of which has a guard around what it does."""

import subprocess
import sys
from os import environ, pathsep
from pathlib import Path

import pytest

PROGRAM = """
import math, os
from shoal.processes.side_by_side import as_finished

class Mine:
    def __call__(self, number):
        return -number

print("begins")
print(sorted(result for _, result in as_finished(math.sqrt, [1, 4, 9], 2, {})))
print({result for _, result in as_finished(os.getpgid, [0, 0], 2, {})} == {os.getpgid(0)})
print(sorted(result for _, result in as_finished(Mine(), [1, 4], 2, {"known": Mine})))
"""


@pytest.mark.parametrize("way", ["file", "text", "standard input"])
def test_a_program_needs_no_guard_and_is_carried_out_once(tmp_path: Path, way: str) -> None:
    """Work that the program itself defines is done, too: no other process could import it."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = {"file": [str(tmp_path / "program.py")], "text": ["-c", PROGRAM], "standard input": ["-"]}[way]
    environment = {**environ, "PYTHONPATH": pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, *command], input=PROGRAM, capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["begins", "[1.0, 2.0, 3.0]", "True", "[-4, -1]"]


def test_a_long_name_of_the_temporary_folder_stops_no_process(tmp_path: Path) -> None:
    """The socket of the process that is copied would have a name that is too long."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    program = "from shoal.processes.side_by_side import prepared; print(type(prepared('shoal')).__name__)"
    surroundings = {**environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], env=surroundings, capture_output=True, text=True, check=True)
    assert done.stdout == "AloneContext\n"
