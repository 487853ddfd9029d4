"""However a command's process ends, one sentence is said, a status is given and nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.processes import supervised
from shoal.vocabulary.errors import MEMORY_EXHAUSTED

pytestmark = pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="commands are supervised on Linux")

PROGRAM = """
import os, resource, signal, sys, time
import shoal.release.publish
publish = sys.modules["shoal.release.publish"]
whole = publish.write_json
def write_json(*content):
    whole(*content)
    {does}
publish.write_json = write_json
sys.argv = ["shoal", "-q", "demo", "--records", "30", "--out", {out!r}]
from shoal.__main__ import main
main()
"""

STARVED = """
    used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    import polars as pl
    pl.Series(range(1000)).sample(10**9, with_replacement=True).sort()
"""
"""Libraries that get no memory while a release is being written."""


def program(does: str, folder: Path) -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(does=does, out=str(folder / "out"))]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("os.write(2, b'memory allocation of 8 bytes failed, Secretville'); os.abort()", MEMORY_EXHAUSTED),
        ("os.kill(os.getpid(), signal.SIGKILL)", MEMORY_EXHAUSTED),
        ("os.write(2, b'Secretville'); os.kill(os.getpid(), signal.SIGSEGV)", "a library ended the work (SIGSEGV)"),
        (STARVED, MEMORY_EXHAUSTED),
    ],
    ids=["a library without memory", "a system without memory", "a fault in a library", "polars without memory"],
)
def test_a_process_that_can_say_nothing(does: str, said: str, tmp_path: Path) -> None:
    done = subprocess.run(program(does, tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(f"shoal: {re.escape(said)}.*\n", done.stderr), done.stderr
    assert "Secretville" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_program_is_told_too(tmp_path: Path) -> None:
    command = program("os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    command[2] = command[2].replace('"-q"', '"--json"')
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    failed = {"kind": "MemoryError", "message": MEMORY_EXHAUSTED}
    assert json.loads(done.stdout) == {
        "exit status": 1, "error": failed, "requirements": [], "what would help": []
    }  # fmt: skip


def test_a_limit_under_which_libraries_cannot_be_loaded(tmp_path: Path) -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, 2 * ({supervised.LEAST_MEMORY - 1},))"
    run = f"import sys; sys.argv = ['shoal', 'demo', '--out', {str(tmp_path / 'out')!r}]; import shoal.__main__ as m"
    command = [sys.executable, "-c", f"{limited}; {run}; m.main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"shoal: {MEMORY_EXHAUSTED}\n")


def test_what_is_said_in_the_end_counts_even_where_the_process_then_falls_apart() -> None:
    """A library that fails when everything was done takes nothing back."""
    run = "import atexit, os, sys; sys.argv = ['shoal', 'schema']; import shoal.__main__ as m"
    run += "; os.register_at_fork(after_in_child=lambda: atexit.register(os.abort)); m.main()"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["anyOf"]


def test_the_work_ends_with_the_process_that_was_started(tmp_path: Path) -> None:
    does = "print(os.getpid(), flush=True); time.sleep(600)"
    process = subprocess.Popen(program(does, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    assert worker != process.pid
    process.kill()
    _, said = process.communicate(timeout=300)  # until the worker, too, has let go of the pipe
    assert said.strip() == "Interrupted; nothing was changed."
    assert not list(tmp_path.iterdir())


def test_a_request_to_end_that_comes_twice_is_one(tmp_path: Path) -> None:
    """To both processes, as from a shell that ends a job: the second one disturbs no cleaning up."""
    does = "print('writing', flush=True); time.sleep(600)"
    process = subprocess.Popen(
        program(does, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said.strip()) == (130, "Interrupted; nothing was changed.")
    assert not list(tmp_path.iterdir())
