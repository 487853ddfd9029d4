"""Start of the studio: a port of this machine alone, and a browser that opens it."""

import asyncio
import logging
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import uvicorn

from shoal.studio.actions import Studio
from shoal.studio.api import application
from shoal.studio.guard import AccessKeys, Guard

WAY = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>shoal</title>'

LONGEST_IDLE = 20
"""Seconds for which an idle connection is kept open."""

MOST_AT_ONCE = 512
"""Most connections at once; further ones are refused."""


def address(port: int, token: str) -> str:
    """The studio's address, with a token that works once."""
    return f"http://127.0.0.1:{port}/#{token}"


async def run(
    files: Sequence[str], how: Mapping[str, str], port: int, *, browser: bool, say: Callable[[str], None]
) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    files
        A table to open at once, or several that are linked.
    how
        How it is read: `query`, of a database whose address stands in place of a file.
    port
        Port; 0 for any free one.
    browser
        True to open a browser.
    say
        Prints a line for the person.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(MOST_AT_ONCE)  # a browser that is quicker than the server waits for it
        port = listening.getsockname()[1]
        keys = AccessKeys()
        async with _studio(files, how) as studio:
            config = uvicorn.Config(
                Guard(application(studio, keys), port, keys),
                access_log=False,
                log_level=logging.CRITICAL,  # the page is told of errors; what is cut off by the end is none
                timeout_keep_alive=LONGEST_IDLE,
                timeout_graceful_shutdown=1,
                limit_concurrency=MOST_AT_ONCE,
                server_header=False,
                lifespan="off",
            )
            with TemporaryDirectory(prefix="shoal-") as folder:
                _show_the_way(Path(folder), address(port, keys.token()), browser=browser, say=say)
                _offer_new_addresses(port, keys, say)
                await uvicorn.Server(config).serve(sockets=[listening])


@asynccontextmanager
async def _studio(files: Sequence[str], how: Mapping[str, str]) -> AsyncIterator[Studio]:
    studio = Studio()
    try:
        if files:
            await studio.do_open(path=files[0] if len(files) == 1 else list(files), how=how)
        yield studio
    finally:
        if studio.task is not None:
            studio.task.cancel()
        studio.stop()


def _show_the_way(folder: Path, where: str, *, browser: bool, say: Callable[[str], None]) -> None:
    """Open a browser on a file that only its owner can read: others can read the arguments that a browser gets."""
    say(f"The studio is at {where}")
    say("Only this machine can reach it. The address works once; Ctrl-C ends the studio.")
    if not browser:
        return
    way = folder / "studio.html"
    with os.fdopen(os.open(way, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(WAY.format(address=where))
    with suppress(webbrowser.Error):
        Thread(target=webbrowser.open, args=(way.as_uri(),), daemon=True).start()


def _offer_new_addresses(port: int, keys: AccessKeys, say: Callable[[str], None]) -> None:
    """On a terminal, Enter gives an address for another tab."""
    if not sys.stdin.isatty():
        return

    def offer() -> None:
        for _ in sys.stdin:
            say(f"For another tab: {address(port, keys.token())}")

    say("Press Enter here for an address for another tab.")
    Thread(target=offer, daemon=True).start()


def main(files: Sequence[str], how: Mapping[str, str], port: int, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    with suppress(KeyboardInterrupt):
        asyncio.run(run(files, how, port, browser=browser, say=say))
