"""Draw Vega-Lite specifications in a process of its own.

The renderer is an engine of JavaScript and a layout of fonts, in which a text from a table may end the whole process,
as some have. It then ends that process alone: the picture is missing, and the release is written. One process draws
all pictures, a line of JSON in and a line of JSON out; it ends when its input does.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import IO

CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import vl_convert
for line in sys.stdin:
    print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line), vl_version=sys.argv[2])), flush=True)
"""
VEGA_LITE = "5.20"

KEPT = 256
"""Pictures, a few kilobytes each, that need not be drawn again: pages about one table repeat many."""


class Renderer:
    """A process that draws; it is started with the first picture, and anew after one that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._pictures: dict[str, str] = {}
        self._lock = Lock()
        atexit.register(self.close)

    def svg(self, spec: Mapping[str, object]) -> str | None:
        """The picture as an SVG text; None where it ended the process."""
        asked = json.dumps(spec)
        with self._lock:
            if asked not in self._pictures:
                line = self._answer(asked)
                if not line:
                    return None
                if len(self._pictures) == KEPT:
                    del self._pictures[next(iter(self._pictures))]
                self._pictures[asked] = json.loads(line)
            return self._pictures[asked]

    def _answer(self, asked: str) -> str:
        """What the process writes to a line that it is given; nothing where that ended it."""
        line = ""
        try:
            with suppress(OSError):  # it ended before it had read all
                into, out = self._pipes()
                into.write(asked + "\n")
                into.flush()
                line = out.readline()
        finally:
            if not line:  # also where we are interrupted: the answer would be taken for that to the next question
                self.close()
        return line

    def close(self) -> None:
        """End the process, if this one started it."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            with suppress(OSError):
                process.communicate()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        """What the process reads and what it writes; it is started where there is none of our own."""
        if self._process is None or self._owner != os.getpid():  # a fork must not share its parent's
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-c", CHILD, json.dumps(sys.path), VEGA_LITE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the run, which then ends it
            )
        into, out = self._process.stdin, self._process.stdout
        if into is None or out is None:
            raise OSError("the process has no pipes")
        return into, out


RENDERER = Renderer()
