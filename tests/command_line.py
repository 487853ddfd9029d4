"""The command line, run inside the process of the tests."""

from collections.abc import Callable
from typing import Any

import pytest

from shoal import cli

Run = Callable[..., tuple[int, str, str]]
"""Called with the arguments of a command: its exit status, what it printed, and its messages."""


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Commands, each of which ends as in a shell."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["shoal", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run
