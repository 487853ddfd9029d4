"""The code blocks of README and docs run as tests: Python as it stands, and `$ shoal ...` as commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
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
