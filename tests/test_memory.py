"""Memory that runs out, wherever it does, ends a run in one sentence, and nothing is left behind."""

import importlib
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from shoal import cli

PLAN = """columns: {a: quasi-identifier, b: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
"""
PLACES = [
    ("shoal.table.files.tables", "read_csv"),
    ("shoal.partition.mdav", "mdav"),
    ("shoal.run.carry_out", "measured"),
    ("shoal.release.publish", "write_table"),
    ("shoal.release.publish", "page"),
    ("shoal.release.publish", "write_record"),
]
"""Where it runs out: reading, in a step, measuring, and writing the first file, a page and the last file."""


@pytest.mark.parametrize(("module", "function"), PLACES, ids=[function for _, function in PLACES])
@pytest.mark.parametrize("before", ["nothing", "a release"])
def test_memory_that_runs_out(
    module: str,
    function: str,
    before: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pl.DataFrame({"a": range(12), "b": [7, 1, 9, 4, 0, 11, 3, 8, 2, 10, 6, 5]}).write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.yaml").write_text(PLAN)
    words = ["shoal", "--quiet", "protect", "in.csv", "--plan", "plan.yaml", "--out", "out", "--overwrite"]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.chdir(tmp_path)
    if before == "a release":
        assert status() == 0
    files = contents(tmp_path)

    def exhausted(*arguments: Any, **more: Any) -> NoReturn:
        raise MemoryError("cannot allocate 8 GiB for 'Secretville'")

    monkeypatch.setattr(importlib.import_module(module), function, exhausted)
    assert status() == 1
    message = capsys.readouterr().err.strip()
    assert (
        message == "shoal: memory is exhausted; nothing was changed. Use a machine with more of it, or fewer columns."
    )
    assert contents(tmp_path) == files


def status() -> int:
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
