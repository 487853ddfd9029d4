"""The code blocks of README and docs run as tests: Python as it stands, and `$ shoal ...` as commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

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
            words = shlex.split(command)
            status, messages = by_shell(command) if {">", "|"} & set(words) else in_this_process(words)
            if status != expected:
                return f"{command!r} ended with {status}, not {expected}:\n{messages}"
        return None


def by_shell(command: str) -> tuple[int, str]:
    """The exit status of a command, and what it printed."""
    shell = command.replace("shoal", f"{shlex.quote(sys.executable)} -m shoal", 1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def in_this_process(words: list[str]) -> tuple[int, str]:
    """The same without the second that a process of its own takes to import the package."""
    from shoal import cli

    printed = StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed), redirect_stderr(printed):
        patched.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as end:
            cli.main()
    return int(end.value.code or 0), printed.getvalue()


class FileBlockParser(CodeBlockParser):
    """A yaml or csv block whose first line is `# file: NAME` is written to that file."""

    def evaluate(self, example: Example) -> str | None:
        first, _, rest = example.parsed.partition("\n")
        if first.startswith("# file: "):
            Path(first.removeprefix("# file: ").strip()).write_text(str(rest))
        return None


DOCUMENTS = Sybil(
    parsers=[PythonCodeBlockParser(), ConsoleBlockParser(), FileBlockParser("yaml"), FileBlockParser("csv")]
)


class DocumentItem(pytest.Item):
    """All examples of one document, in their order and in a folder of their own: later ones build on earlier ones."""

    def runtest(self) -> None:
        home = Path.cwd()
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for example in DOCUMENTS.parse(self.path).examples():
                    example.evaluate()
            finally:
                os.chdir(home)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, "examples"


class DocumentFile(pytest.File):
    def collect(self) -> Iterator[DocumentItem]:
        yield DocumentItem.from_parent(self, name="examples")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DocumentFile | None:
    """A document counts as one test, so that tests may run in any order."""
    where = file_path.relative_to(HERE).parts if file_path.is_relative_to(HERE) else ()
    if file_path.suffix == ".md" and where and (where[0] == "docs" or where == ("README.md",)):
        return DocumentFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source tree."""
    return HERE
