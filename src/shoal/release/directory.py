"""The directory of a release: whether it can be written, and what is in it; only a release is ever replaced."""

import json
from collections.abc import Iterator
from os import W_OK, access
from pathlib import Path

from shoal.table.files.atomic import resolved
from shoal.vocabulary.errors import FileError, quoted

RECORD = Path("private") / "record.json"
"""By which a release is recognised."""

FILES_OF_VERSION_1 = {
    "release": ("codebook.json", "evidence.json", "report.html"),
    "private": ("record.json", "report.html", "partition.parquet", "risk.parquet"),
}
"""What releases held whose records do not name their files, beside the table itself."""


def check_writable(out: Path) -> None:
    """Say that a directory cannot be written before hours of work, not after."""
    place = resolved(out)
    try:
        nearest = next(p for p in (place, *place.parents) if p.exists())
    except OSError as error:  # a name that no system takes
        raise FileError(f"Output cannot be written ({error.strerror}). Choose another directory.") from None
    if not nearest.is_dir() or not access(nearest, W_OK):
        raise FileError(f"Output '{out}' cannot be written. Choose another directory.")


def is_release(directory: Path) -> bool:
    """Whether a directory is a release, complete or not, whatever else it holds."""
    return _files_of(directory) is not None


def check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a directory that holds anything but a release, and that too unless it may be replaced."""
    if not out.is_dir() or not any(out.iterdir()):
        return
    named = _files_of(out)
    if named is None:
        raise FileError(
            f"Output '{out}' holds something that is no release, which is never replaced. Name another directory."
        )
    if not overwrite:
        raise FileError(f"Output '{out}' holds a release. Name another directory, or replace it with --overwrite.")
    if others := sorted(path for path in files_in(out) if path not in named):
        raise FileError(
            f"Output '{out}' holds {quoted(others)}, which {'is' if len(others) == 1 else 'are'} no part of the "
            f"release there and would be lost. Put {'it' if len(others) == 1 else 'them'} elsewhere."
        )


def files_in(directory: Path) -> Iterator[str]:
    """Everything in a directory but its folders, by path from there; a folder only where it is empty or a link."""
    for path in directory.rglob("*"):
        if path.is_symlink() or not path.is_dir() or (not any(path.iterdir()) and path.parent != directory):
            yield path.relative_to(directory).as_posix()


def _files_of(directory: Path) -> set[str] | None:
    """The files that the record in a directory names; None where there is no record of a release."""
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
