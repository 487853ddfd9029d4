"""A studio as a person starts it, and questions to it as bytes on a socket."""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LONGEST = 120.0
"""Seconds that anything may take on a machine that has other things to do."""


class Running:
    """A running studio.

    Parameters
    ----------
    address
        With the token that is used once.
    """

    def __init__(self, process: subprocess.Popen[str], address: str, log: Path) -> None:
        self.process = process
        self.address = address
        self.log = log
        self.port = int(re.findall(r":(\d+)/", address)[0])
        self.token = address.partition("#")[2]
        self.key = ""

    def enter(self) -> None:
        """Use the token for a key."""
        self.key = self.ask("enter", {"token": self.token})[1]["key"]

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST)
        try:
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {**given, "Content-Length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def ask(self, name: str, given: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and content of an answer to a question."""
        more = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers}
        status, _, body = self.request("POST", f"/api/{name}", json.dumps(given or {}).encode(), more)
        return status, json.loads(body)

    def act(self, name: str, **given: Any) -> dict[str, Any]:
        """An action that must succeed; the state after it."""
        status, state = self.ask("do", {"do": name, "with": given})
        assert status == 200, state
        return dict(state)

    def idle(self) -> dict[str, Any]:
        """The state when nothing is under way any more."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            state = self.ask("state")[1]
            if state["job"] is None:
                return dict(state)
            time.sleep(0.05)
        raise TimeoutError("the studio is still at work")


@contextmanager
def running(folder: Path, *more: str, largest: int | None = None, temporary: Path | None = None) -> Iterator[Running]:
    """A studio in a folder, ended afterwards.

    Parameters
    ----------
    largest
        Bytes that a file may have, as on a disk that is nearly full.
    temporary
        The folder for temporary files.
    """
    log = folder / "studio.log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    environment |= {"XDG_STATE_HOME": str(folder / "state"), "LOCALAPPDATA": str(folder / "state")}
    if largest is not None:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # half of it would stay, for others to load
    if temporary is not None:
        environment["TMPDIR"] = str(temporary)

    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", "--no-browser", *more],
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, env=environment, cwd=folder,
            preexec_fn=None if largest is None else limit,
        )  # fmt: skip
        try:
            end = time.monotonic() + LONGEST
            while not (addresses := re.findall(r"http://\S+", log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end
                time.sleep(0.05)
            yield Running(process, addresses[0], log)
        finally:
            process.terminate()
            process.wait(LONGEST)


def opened(studio: Running, file: Path) -> Running:
    """A studio that has opened a table, and nothing of what was open before."""
    cleared(studio).act("open", path=str(file))
    assert studio.idle()["source"] == file.name, studio.idle()["notice"]
    return studio


def cleared(studio: Running) -> Running:
    """A studio without a table or a review."""
    if studio.idle()["review"] is not None:
        studio.act("leave")
    if studio.idle()["source"] is not None:
        studio.act("close")
    return studio


def planned(studio: Running, file: Path, plan: dict[str, Any], *, run: bool = True) -> Running:
    """A studio with a table and a plan, which was run and proved."""
    opened(studio, file).act("edit", text=json.dumps(plan))
    if run:
        studio.act("run")
        state = studio.idle()
        assert [each["released"] for each in state["runs"]] == [True], (
            state["notice"],
            studio.ask("result", {"run": 1}),
        )
    return studio


def children(parent: int) -> list[int]:
    """Processes of the studio that hold the table: copies of one that was made ready for them, somewhere below it.

    The one that was started last comes last.
    """
    above: dict[int, int] = {}
    copied: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = status.read_text().rpartition(")")[2].split()
            above[int(status.parent.name)] = int(facts[1])
            if "multiprocessing.forkserver" in (status.parent / "cmdline").read_text():
                copied[int(status.parent.name)] = int(facts[19])  # when it was started
        except OSError:
            continue

    def below(process: int) -> bool:
        return process == parent or (process in above and below(above[process]))

    holding = [process for process in copied if above[process] in copied and below(process)]
    return sorted(holding, key=lambda process: (copied[process], process))
