"""Directories that commands write to: what may be replaced, and whether it can be."""

from os import W_OK, access
from pathlib import Path

from shoal.errors import FileError


def check_writable(out: Path) -> None:
    """Say that a directory cannot be written before hours of work, not after."""
    try:
        nearest = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    except OSError as error:  # a name that no system takes
        raise FileError(f"Output cannot be written ({error.strerror}). Choose another directory.") from None
    if not nearest.is_dir() or not access(nearest, W_OK):
        raise FileError(f"Output '{out}' cannot be written. Choose another directory.")


def check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a directory that holds anything but a release, and that too unless it may be replaced."""
    if not out.is_dir() or not any(out.iterdir()):
        return
    from shoal.release import is_release

    if not is_release(out):
        raise FileError(
            f"Output '{out}' holds something that is no release, which is never replaced. Name another directory."
        )
    if not overwrite:
        raise FileError(f"Output '{out}' holds a release. Name another directory, or replace it with --overwrite.")
