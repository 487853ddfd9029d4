"""The code blocks of README and docs run as tests: Python as it stands, and `$ shoal ...` as commands."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

HERE = Path(__file__).parent


class ConsoleBlockParser(CodeBlockParser):
    """Runs each line `$ shoal ...`; a comment `# exit status 3` says how it must end, 0 if there is none."""

    language = "console"

    def evaluate(self, example: Example) -> str | None:
        for line in example.parsed.splitlines():
            if not line.startswith("$ shoal"):
                continue
            command, _, comment = line.removeprefix("$ ").partition(" # exit status ")
            expected = int(comment or 0)
            shell = command.replace("shoal", f"{shlex.quote(sys.executable)} -m shoal", 1)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(shell, shell=True, capture_output=True, text=True, env=environment, check=False)
            if done.returncode != expected:
                return f"{command!r} ended with {done.returncode}, not {expected}:\n{done.stdout}\n{done.stderr}"
        return None


class FileBlockParser(CodeBlockParser):
    """A yaml or csv block whose first line is `# file: NAME` is written to that file."""

    def evaluate(self, example: Example) -> str | None:
        first, _, rest = example.parsed.partition("\n")
        if first.startswith("# file: "):
            Path(first.removeprefix("# file: ").strip()).write_text(str(rest))
        return None


def in_a_folder(namespace: dict[str, Any]) -> None:
    namespace["_home"] = Path.cwd()
    namespace["_folder"] = TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def out_again(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=0),
        ConsoleBlockParser(),
        FileBlockParser("yaml"),
        FileBlockParser("csv"),
        SkipParser(),
    ],
    patterns=["README.md", "docs/**/*.md", "docs/*.md"],
    setup=in_a_folder,
    teardown=out_again,
).pytest()


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source tree."""
    return HERE
