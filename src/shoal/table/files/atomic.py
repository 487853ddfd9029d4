"""Atomic writing: an interrupted run leaves either the old file or the new one, never a partial one.

The new file or folder is written beside its place under a hidden name, locked by the run that writes it. A killed run
leaves it there unlocked; the next run to the same place removes it.
"""

import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from shoal.processes.supervised import begun
from shoal.vocabulary.errors import FileError

UNFINISHED = ".shoal-"
"""Part of the names of unfinished files and folders."""

RENAME_EXCHANGE = 2
AT_FDCWD = -100
"""Constants of renameat2(2), from linux/fs.h and fcntl.h."""


@contextmanager
def atomic_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path beside `path`, which replaces it if the block ends without an error."""
    if path.is_dir():
        raise FileError(f"Output '{path}' is a directory. Name a file.")
    with _beside(path, partial(_new_file, path)) as temporary:
        yield temporary
        temporary.chmod(mode)
        _sync(temporary)
        temporary.replace(path)


@contextmanager
def atomic_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary directory beside `path`, which replaces it if the block ends without an error.

    Raises FileError if the directory is there already and not empty, or its parent cannot be written.
    """
    path = resolved(path)  # what a link points to is replaced, not the link
    if path == Path.cwd():
        raise FileError(f"Output '{path}' is the directory you are in, which cannot be replaced. Name a new one.")
    if path.exists() and (not path.is_dir() or any(path.iterdir())) and not overwrite:
        raise FileError(f"Output '{path}' exists and is not empty. Name another directory or allow overwriting.")
    with _beside(path, partial(_new_folder, path)) as temporary:
        try:
            yield temporary
        except FileError as error:  # of a file inside: name the place that the user knows
            raise FileError(str(error).replace(str(temporary), str(path))) from None
        for written in sorted(temporary.rglob("*")):
            _sync(written)
        temporary.chmod(0o755)
        _put_in_place(temporary, path, overwrite=overwrite)


def resolved(path: Path) -> Path:
    """The target of a path and its links. Raises FileError if they lead nowhere."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links in a circle; a name that no system takes
        raise FileError(f"Output '{path}' leads to no place that can be written. Choose another.") from None


def _prefix(path: Path) -> str:
    return f".{path.name}{UNFINISHED}"


def _new_file(path: Path) -> str:
    handle, name = tempfile.mkstemp(prefix=_prefix(path), dir=path.parent)
    os.close(handle)
    return name


def _new_folder(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(prefix=_prefix(path), dir=path.parent)


@contextmanager
def _beside(path: Path, make: Callable[[], str]) -> Iterator[Path]:
    """A new, locked file or folder beside a path; removed at the end if it is still there."""
    try:
        sweep(path)
        begun(path)
        temporary, hold = _begin(make)
    except OSError as error:
        raise _unwritten(path, error) from None
    try:
        with hold:
            yield temporary
            _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        _take_away(temporary)  # after an exchange of folders this is the old state


def _take_away(path: Path) -> None:
    if path.is_dir():  # no link to one, of which there is no lock
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _begin(make: Callable[[], str]) -> tuple[Path, ExitStack]:
    """A new path and the lock on it; created again if another process removed it before it was locked."""
    while True:
        temporary, hold = Path(make()), ExitStack()
        with suppress(FileNotFoundError, BlockingIOError):
            hold.enter_context(locked(temporary))
            return temporary, hold


def sweep(path: Path) -> None:
    """Remove what killed runs left behind when they wrote to this place."""
    for left in path.parent.glob(f"{glob.escape(_prefix(path))}*"):
        with suppress(OSError), locked(left, wait=False):  # it cannot be locked while a run is at it
            _take_away(left)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a file or folder, which the system releases when the process ends, however it ends.

    Raises OSError if another process holds it and `wait` is false, or removed the path; or if the system has no such
    locks.
    """
    try:
        import fcntl
    except ImportError:  # as on Windows
        if not wait:
            raise OSError("no locks") from None
        yield
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        with suppress(OSError) if wait else nullcontext():  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if not _is_at(path, handle):  # who had it took it away, and another may have one of its own
            raise BlockingIOError
        yield
    finally:
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    """True if an open file is the one that a path names."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.lstat())
    return False


def _unwritten(path: Path, error: OSError) -> FileError:
    why = error.strerror or str(error).rpartition(": ")[2].partition(" (os error")[0]
    return FileError(f"Output '{path}' cannot be written ({why}). Choose another place, or free some space.")


def _put_in_place(temporary: Path, path: Path, *, overwrite: bool) -> None:
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
    if not path.exists():
        temporary.rename(path)
    elif not overwrite:  # another run was here since we looked
        raise FileError(f"Output '{path}' was written by another run meanwhile. Name another directory.")
    elif not _exchange(temporary, path):
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
        path.rename(old / path.name)
        temporary.rename(path)
        shutil.rmtree(old)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step where the system can (Linux)."""
    import ctypes

    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0)
    return False


def _sync(path: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
