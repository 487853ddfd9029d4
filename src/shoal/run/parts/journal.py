"""A journal of finished work, so that a run that was killed goes on from there.

The folder of a run is its owner's only. It names the run (plan, seed, source); a run that is named otherwise begins
anew. Every piece of work leaves a file when it is finished, written at once, and is not done again.

What is read back is carried out, as pickles are; so nothing is read back that anybody else could have written: folder
and file must be the user's own and closed to others.
"""

import json
import os
import pickle
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shoal.vocabulary.errors import FileError

Result = TypeVar("Result")

NAME = "run.json"


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The folder of a run.

    Parameters
    ----------
    resumed
        Whether work of an earlier run was found there.
    """

    folder: Path
    resumed: bool = False

    @classmethod
    def open(cls, folder: Path, run: Mapping[str, Any]) -> "Journal":
        """The folder as the same run left it, or an empty one.

        Parameters
        ----------
        run
            What the run is; JSON-able. Equal for two runs exactly if they do the same.

        Raises
        ------
        FileError
            If the folder is someone else's, or cannot be written.
        """
        text = json.dumps(run, sort_keys=True)
        try:
            if folder.exists() and not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                if cls.is_of(folder, run):
                    return cls(folder=folder, resumed=True)
                _nobodys(folder)
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
            with _put_at(folder / NAME) as temporary:
                temporary.write_text(text, encoding="utf-8")
        except OSError as error:
            raise FileError(
                f"The folder of the run, '{folder}', cannot be written ({error.strerror}). Make room, or choose "
                f"another output."
            ) from None
        return cls(folder=folder)

    @staticmethod
    def seed_in(folder: Path) -> int | None:
        """The seed of the run that a folder holds; None where it holds none."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads((folder / NAME).read_text(encoding="utf-8"))["seed"])
        return None

    @staticmethod
    def is_of(folder: Path, run: Mapping[str, Any]) -> bool:
        """True if a folder holds finished work of this run, and nobody else could have put anything there."""
        with suppress(OSError, UnicodeError):
            own = _closed(folder.lstat()) and stat.S_ISDIR(folder.lstat().st_mode)
            return own and (folder / NAME).read_text(encoding="utf-8") == json.dumps(run, sort_keys=True)
        return False

    def once(self, name: str, work: Callable[[], Result]) -> Result:
        """The result of a piece of work, which is done unless it was finished before."""
        path = self.folder / f"{name}.done"
        if path.exists():
            result: Result = pickle.loads(_own_bytes(path))  # noqa: S301 - nobody else could have written it
            return result
        result = work()
        with _put_at(path) as temporary:
            temporary.write_bytes(pickle.dumps(result))
        return result

    def finished(self, name: str) -> bool:
        """True if a piece of work is finished."""
        return (self.folder / f"{name}.done").exists()

    def place(self, name: str, *, anew: bool = False) -> Path:
        """A folder inside; emptied first if asked."""
        path = self.folder / name
        if anew:
            shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def forget(self, name: str) -> None:
        """Take away a folder inside that is no longer needed."""
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def remove(self) -> None:
        """Take away the whole."""
        with suppress(OSError):
            _nobodys(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)


def _nobodys(folder: Path) -> None:
    """Take a run's name away before its files, so that no run goes on from those that a kill leaves of them."""
    (folder / NAME).unlink(missing_ok=True)


def _closed(status: os.stat_result) -> bool:
    """True if something is the user's own and closed to everybody else."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def _own_bytes(path: Path) -> bytes:
    """The content of a file that nobody else could have written.

    Raises
    ------
    FileError
        If somebody else could have.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise FileError(
            f"The folder of the run, '{path.parent}', cannot be read ({error.strerror}). Start again: all is done anew."
        ) from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not (_closed(status) and stat.S_ISREG(status.st_mode) and _closed(path.parent.lstat())):
            raise FileError(
                f"The folder of the run, '{path.parent}', is open to others, who could have put '{path.name}' there. "
                f"Start again: all is done anew."
            )
        return file.read()


@contextmanager
def _put_at(path: Path) -> Iterator[Path]:
    """A temporary path whose file takes its place at once when the block ends well."""
    temporary = path.with_name(f".{path.name}")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600, exist_ok=False)
    yield temporary
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
