"""Rendering of Vega-Lite specifications in a separate process.

The renderer contains a JavaScript engine and a font layout engine, which a text from a table can crash, as some have.
Then only that process ends: the picture is missing, and the release is written. One process draws all pictures, a line
of JSON in and a line of JSON out; it ends when its input does.
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
"""Pictures kept, of a few kilobytes each: pages about one table repeat many."""


class Renderer:
    """A process that draws; started with the first picture, and again after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._pictures: dict[str, str] = {}
        self._lock = Lock()
        atexit.register(self.close)

    def svg(self, spec: Mapping[str, object]) -> str | None:
        """The picture as SVG text; None if drawing it crashed the process."""
        request = json.dumps(spec)
        with self._lock:
            if request not in self._pictures:
                line = self._answer(request)
                if not line:
                    return None
                if len(self._pictures) == KEPT:
                    del self._pictures[next(iter(self._pictures))]
                self._pictures[request] = json.loads(line)
            return self._pictures[request]

    def _answer(self, request: str) -> str:
        """The line that the process answers to a request; empty if the request crashed it."""
        line = ""
        try:
            with suppress(OSError):  # it ended before it had read all
                into, out = self._pipes()
                into.write(request + "\n")
                into.flush()
                line = out.readline()
        finally:
            if not line:  # on an interrupt too: a late answer would be taken for that to the next request
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
        """Input and output of the process, which is started if this process has none of its own."""
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
