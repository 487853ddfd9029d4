"""The directory of a release: checks before it is written, and its files. Only a release is ever replaced."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from os import W_OK, access
from pathlib import Path

from shoal.table.files.atomic import atomic_directory, resolved
from shoal.vocabulary.errors import FileError, quoted

RECORD = Path("private") / "record.json"
"""Path, in a directory, of the file by which a release is recognised."""

FILES_OF_VERSION_1 = {
    "release": ("codebook.json", "evidence.json", "report.html"),
    "private": ("record.json", "report.html", "partition.parquet", "risk.parquet"),
}
"""Files, apart from the table itself, of releases whose records do not name their files."""


def check_writable(out: Path) -> None:
    """Refuse a directory that cannot be written: before hours of work, not after."""
    place = resolved(out)
    try:
        nearest = next(p for p in (place, *place.parents) if p.exists())
    except OSError as error:  # a name that no system takes
        raise FileError(f"Output cannot be written ({error.strerror}). Choose another directory.") from None
    if not nearest.is_dir() or not access(nearest, W_OK):
        raise FileError(f"Output '{out}' cannot be written. Choose another directory.")


def is_release(directory: Path) -> bool:
    """True if a directory holds a release, complete or not, whatever else it holds."""
    return _files_of(directory) is not None


def check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a directory that holds anything but a release, or that holds one which may not be replaced."""
    if not out.is_dir() or not any(out.iterdir()):
        return
    named = _files_of(out)
    if named is None:
        raise FileError(
            f"Output '{out}' holds something that is not a release, and would be lost. Name another directory."
        )
    if not overwrite:
        raise FileError(f"Output '{out}' holds a release. Name another directory, or replace it with --overwrite.")
    if others := sorted(path for path in files_in(out) if path not in named):
        raise FileError(
            f"Output '{out}' holds {quoted(others)}, which {'is' if len(others) == 1 else 'are'} not part of the "
            f"release there and would be lost. Move {'it' if len(others) == 1 else 'them'} elsewhere."
        )


@contextmanager
def into_place(directory: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """A folder with the empty folders `release/` and `private/` that takes the place of a directory at the end.

    Raises FileError if something else is there, before the work or after it.
    """
    target = Path(directory)
    check_free(target, overwrite=overwrite)
    with atomic_directory(target, overwrite=overwrite) as temporary:
        (temporary / "release").mkdir()
        (temporary / "private").mkdir(mode=0o700)
        yield temporary
        check_free(target, overwrite=overwrite)  # something may have been put there meanwhile


def files_in(directory: Path) -> Iterator[str]:
    """Paths, relative to a directory, of everything in it but its folders; empty folders and links are included."""
    for path in directory.rglob("*"):
        if path.is_symlink() or not path.is_dir() or (not any(path.iterdir()) and path.parent != directory):
            yield path.relative_to(directory).as_posix()


def _files_of(directory: Path) -> set[str] | None:
    """The files that the record in a directory names; None if it holds no record of a release."""
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or not {"version", "plan", "seed"} <= record.keys():
        return None
    if record["version"] == 1:
        named = {f"{folder}/{name}" for folder, names in FILES_OF_VERSION_1.items() for name in names}
        return named | {path.relative_to(directory).as_posix() for path in directory.glob("release/data.*")}
    files = record.get("files")
    return set(files) if isinstance(files, list) and all(isinstance(name, str) for name in files) else None
