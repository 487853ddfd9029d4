"""The files of linked tables: those of a folder, or several that are named one by one.

A table's file is the one with its name before the first dot, or the one that the plan names for it. Where a folder has
no such file, a folder in it with the table's name holds the table in parts.
"""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shoal.table.files.folders import KINDS, kind_of
from shoal.vocabulary.errors import DataError, FileError, ParameterError, plural, quoted


def tables_in_files(data: Any) -> dict[str, Path]:
    """The files of a folder, or several that are named, by the names of the tables in them.

    None for one file, and for a folder whose files have the same columns and are parts of one table.

    Raises FileError if two files have the name of one table, or files that are named are parts of one table.
    """
    if isinstance(data, (list, tuple)) and len(data) > 1:
        files = _named(data)
        if _same_columns(files):
            raise FileError(
                f"{quoted(path.name for path in files)} have the same columns, as parts of one table do. Put them into "
                f"a folder of their own and name that, or name a pattern in quotation marks, as in 'folder/*.csv'."
            )
        return _by_name(files)
    if not isinstance(data, (str, Path)) or not Path(data).is_dir():
        return {}
    files = [path for path in sorted(Path(data).iterdir()) if kind_of(path) in KINDS]
    return {} if len(files) < 2 or _same_columns(files) else _by_name(files)


def files_for(data: Any, names: Iterable[str], in_plan: Mapping[str, str]) -> dict[str, Path]:
    """The file of each table of a plan, in a folder or among several that are named.

    Parameters
    ----------
    in_plan
        Names of files, of the tables for which the plan names one.

    Raises
    ------
    FileError
        Naming a table that has no file or several, or a file that is no table of the plan.
    """
    names = list(names)
    if isinstance(data, (list, tuple)) and len(data) > 1:
        files = _named(data)
        chosen = {name: _among(files, name, in_plan.get(name), "among those named") for name in names}
        if further := [path for path in files if path not in chosen.values()]:
            raise FileError(
                f"{quoted(path.name for path in further)} {'belongs' if len(further) == 1 else 'belong'} to no table "
                f"of the plan, which is for {quoted(names)}. Leave {'it' if len(further) == 1 else 'them'} out, or "
                f"name the file of its table in the plan, as file: NAME."
            )
        return chosen
    folder = one_table(data)
    if isinstance(folder, (str, Path)) and not Path(folder).exists():
        raise FileError(f"There is no folder '{folder}'. Name the one with the tables {quoted(names)}.")
    if not isinstance(folder, (str, Path)) or not Path(folder).is_dir():
        raise DataError(
            f"The plan is for the tables {quoted(names)}. Give a mapping of frames by these names, the files of all of "
            f"them, or the folder that they are in."
        )
    return {name: _in_folder(Path(folder), name, in_plan.get(name)) for name in names}


def one_table(data: Any) -> Any:
    """The one table that was given. Raises ParameterError for several files."""
    if not isinstance(data, (list, tuple)):
        return data
    if len(data) != 1:
        raise ParameterError(
            f"The plan is for one table, and {plural(len(data), 'file')} were named. Name the folder or a pattern of "
            f"the files of one table, or a plan with tables for several that are linked."
        )
    return data[0]


def _named(data: Sequence[Any]) -> list[Path]:
    """Files that were named one by one."""
    if not all(isinstance(path, (str, Path)) for path in data):
        raise FileError("Several linked tables are files. Write the tables of a database to files first.")
    files = [Path(path) for path in data]
    for path in files:
        if not path.exists():
            raise FileError(f"There is no file '{path}'. Check the path.")
        if not path.is_file():
            raise FileError(
                f"'{path}' is a folder, and several were named. Name one folder with all tables, or one file a table."
            )
    return files


def _by_name(files: Sequence[Path]) -> dict[str, Path]:
    tables: dict[str, Path] = {}
    for path in files:
        if (other := tables.setdefault(_table_of(path), path)) != path:
            raise FileError(
                f"'{other}' and '{path}' are both named for the table '{_table_of(path)}'. Leave one out, or give it "
                f"another name."
            )
    if len(tables) < len(files):
        raise FileError(f"{quoted(_twice(files))} was named twice. Name each file once.")
    return dict(sorted(tables.items()))


def _twice(files: Sequence[Path]) -> list[str]:
    return sorted({path.name for path in files if files.count(path) > 1})


def _table_of(path: Path) -> str:
    """The name of the table in a file."""
    return path.name.split(".")[0]


def _in_folder(folder: Path, name: str, file: str | None) -> Path:
    if file is None and (folder / name).is_dir() and not any(_table_of(path) == name for path in _files_in(folder)):
        return folder / name
    files = [folder / file] if file else _files_in(folder)
    return _among(files, name, file, f"in folder '{folder}'")


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _among(files: Sequence[Path], name: str, file: str | None, where: str) -> Path:
    """The file of a table among some, by the plan or by the table's name."""
    expected = name if file is None else Path(file).name
    candidates = [path for path in files if (_table_of(path) if file is None else path.name) == expected]
    if len(candidates) != 1 or not candidates[0].exists():
        there = f"; there are {quoted(map(str, candidates))}" if len(candidates) > 1 else ""
        raise FileError(
            f"One file of the table '{name}' is needed {where}, such as {file or f'{name}.csv'}{there}. Name it in the "
            f"plan, as file: NAME, or add it."
        )
    return candidates[0]


def _same_columns(files: Sequence[Path]) -> bool:
    """True if all files have the same columns, as far as their kinds tell before they are read."""
    return all(kind_of(path) in KINDS for path in files) and len({_header(path) for path in files}) < 2


def _header(path: Path) -> str:
    """The columns of a file, as it names them."""
    if kind_of(path) == "parquet":
        return str(list(pl.read_parquet_schema(path)))
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        return str(lines.readline().rstrip())
