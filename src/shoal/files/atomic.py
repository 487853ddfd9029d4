"""Writing so that an interrupted run leaves either the old state or the new, never half of one."""

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.errors import FileError

RENAME_EXCHANGE = 2
AT_FDCWD = -100
"""Constants of renameat2(2), from linux/fs.h and fcntl.h."""


@contextmanager
def atomic_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its place when the block ends well."""
    if path.is_dir():
        raise FileError(f"Output '{path}' is a directory. Name a file.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritten(path, error) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary directory beside `path`, which takes its place when the block ends well.

    Raises
    ------
    FileError
        If the directory is there already and not empty, or its parent cannot be written.
    """
    if path.resolve() == Path.cwd():
        raise FileError(f"Output '{path}' is the directory you are in, which cannot be replaced. Name a new one.")
    path = path.resolve()  # what a link points to is replaced, not the link
    if path.exists() and (not path.is_dir() or any(path.iterdir())) and not overwrite:
        raise FileError(f"Output '{path}' exists and is not empty. Name another directory or allow overwriting.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise _unwritten(path, error) from None
    try:
        yield temporary
        for written in sorted(temporary.rglob("*")):
            _sync(written)
        temporary.chmod(0o755)
        _put_in_place(temporary, path, overwrite=overwrite)
        _sync(path.parent)
    except OSError as error:
        raise _unwritten(path, error) from None
    except FileError as error:  # of a file inside: name the place that the user knows
        raise FileError(str(error).replace(str(temporary), str(path))) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # after an exchange this is the old state


def _unwritten(path: Path, error: OSError) -> FileError:
    why = error.strerror or str(error).rpartition(": ")[2].partition(" (os error")[0]
    return FileError(f"Output '{path}' cannot be written ({why}). Choose another place, or make room.")


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


def _exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step where the system can (Linux)."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)
    return False


def _sync(path: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
