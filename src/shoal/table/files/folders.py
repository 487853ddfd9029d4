"""Tables in several files: the files of a folder or pattern that belong to a table.

Programs that write a table in parts put incomplete files under names that begin with `_` or `.`, as `_temporary` of
Hadoop; as in all engines, these are left out. Tables of Delta Lake, Iceberg, Hudi and of Spark's streams keep a log
beside their files, and only the log says which files count: deleted or replaced records stay in files of the folder.
"""

import glob
import os
from itertools import takewhile
from pathlib import Path

from shoal.vocabulary.errors import FileError, plural, quoted

KINDS = ("parquet", "csv", "tsv", "asc", "csv.gz")
"""File name endings of large tables."""

LOGS = {
    "_delta_log": "Delta Lake",
    "metadata/v[0-9]*.metadata.json*": "Iceberg",
    "metadata/[0-9]*-*.metadata.json*": "Iceberg",
    ".hoodie": "Hudi",
    "_spark_metadata": "Spark's streams",
}
"""Patterns of the log in the folder of a table, and the format that keeps it."""


def files_of(data: str | Path) -> list[Path]:
    """The files of a path, sorted by name: a file, a folder with its subfolders, or a pattern.

    Raises FileError if there are none, or of several kinds; if a file occurs twice, is incomplete by its name, or
    counts only as far as a log says.
    """
    path = Path(data)
    if path.is_file():
        files = [path]
    elif path.is_dir():
        files = [p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path))]
    elif glob.has_magic(str(data)):
        files = _fitting(str(data))
    else:
        raise FileError(f"There is no file '{data}'. Check the path.")
    if not files:
        raise FileError(
            f"'{data}' holds no file. Name a folder with Parquet or CSV files, or a pattern that fits some; what is "
            f"below a folder under a name that begins with _ or . is left out."
        )
    refuse_logged(*files)
    kinds = sorted({kind_of(path) for path in files})
    if len(kinds) > 1 or kinds[0] not in KINDS:
        raise FileError(
            f"'{data}' holds files of the kinds {quoted(kinds)}; a table lies in files of one kind, parquet or "
            f"csv. Name a pattern such as '{data}/*.parquet'."
        )
    _refuse_twice(data, files)
    if len({tuple(part.partition("=")[0] for part in file.parent.parts if "=" in part) for file in files}) > 1:
        raise FileError(
            f"'{data}' holds files in folders that name columns, as year=2024 does, and in others that do not name the "
            f"same. Name a pattern that fits folders of one kind."
        )
    return sorted(files)


def kind_of(path: Path) -> str:
    """The ending of a file's name in lower case."""
    name = path.name.lower()
    return "csv.gz" if name.endswith(".csv.gz") else path.suffix.lower().lstrip(".")


def refuse_logged(*files: Path) -> None:
    """Refuse files that belong to a table with a log in one of the folders above them.

    Raises FileError naming the folder of the table.
    """
    places = {file: (Path(os.path.abspath(file)), file.resolve()) for file in files}  # noqa: PTH100 - through links too
    above = {folder: file for file, two in places.items() for place in two for folder in place.parents}
    for folder, file in above.items():
        for log, kind in LOGS.items():
            if any(folder.glob(log)):
                raise FileError(
                    f"File '{file}' belongs to a table of {kind} in '{folder}', whose log says which records count: "
                    f"those that were deleted or replaced stay in its files. Write the table as it is now to a file "
                    f"or folder elsewhere, with a program that reads {kind}, and name that."
                )


def _fitting(pattern: str) -> list[Path]:
    """The files that match a pattern. Raises FileError if it matches names of incomplete files."""
    files = {p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file()}  # noqa: PTH207 - any root
    base = Path(*takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))
    if hidden := [p for p in files if _is_hidden(p.relative_to(base))]:
        raise FileError(
            f"'{pattern}' fits {plural(len(hidden), 'file')} below '{base}' under names that begin with _ or ., as of "
            f"what is not complete. Name the folder, of which they are left out, or a pattern that does not fit them."
        )
    return list(files)


def _is_hidden(below: Path) -> bool:
    """True if a part of a path below a folder is named as incomplete; `_year=2024` names a column instead."""
    *folders, name = below.parts
    return name.startswith(("_", ".")) or any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in folders
    )


def _refuse_twice(data: str | Path, files: list[Path]) -> None:
    """Refuse files of which two are the same file through links, since its records would count twice."""
    files_at: dict[tuple[int, int], Path] = {}
    for file in sorted(files):
        state = file.stat()
        if (other := files_at.setdefault((state.st_dev, state.st_ino), file)) != file:
            raise FileError(
                f"'{data}' holds one file under two names, '{other}' and '{file}', so its records would count twice. "
                f"Take the links away, or name a pattern that fits one of the names."
            )
