"""A plan guessed from a table."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.desk.given import Given
from shoal.plan import Plan
from shoal.plan.draft import plan_text
from shoal.plan.lines import parse_yaml
from shoal.plan.linked import LinkedPlan, any_plan
from shoal.plan.linked_draft import linked_plan_text
from shoal.table.files.atomic import atomic_file
from shoal.table.files.folders import KINDS, kind_of
from shoal.vocabulary.errors import ParameterError


def init(
    table: Any,
    path: str | Path | None = None,
    *,
    synthetic: bool = False,
    context: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Plan | LinkedPlan:
    """Guess a plan for a table: a role for each column, steps that suit the roles, and a requirement.

    Correct the roles before you trust a release; in doubt the stricter one is guessed.

    Parameters
    ----------
    table
        As for `shoal.protect`; it is held whole. Several linked tables, as a mapping or a folder of files with
        different columns, get a plan with `tables`.
    path
        File to write the plan to, with the reason for each guess; it is replaced.
    synthetic
        Draft a plan that synthesises every record.
    context
        Kind of recipient whose usual limits the plan states: `public`, `research`, `internal` or `hipaa`.
    reading
        Options for reading files, as for `shoal.protect`.

    Raises
    ------
    InputError
        If the table cannot be read, or the file cannot be written.
    """
    text = drafted(table, synthetic=synthetic, context=context, reading=reading)
    if path is not None:
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return any_plan(parse_yaml(text, "plan"), None if path is None else Path(path).parent)


def drafted(
    table: Any, *, synthetic: bool = False, context: str | None = None, reading: Mapping[str, Any] | None = None
) -> str:
    """The text of a plan guessed for a table, or for several linked ones; parameters as for `shoal.init`."""
    files = {} if isinstance(table, Mapping) else files_of_tables(table)
    if not files and not isinstance(table, Mapping):
        given = Given.of(table, reading)
        return plan_text(given.table, given.name, synthetic=synthetic, context=context)
    if synthetic or context is not None:
        raise ParameterError("A plan for several tables is drafted as it is. Leave synthetic and context out.")
    given_tables = {str(name): Given.of(one, reading) for name, one in (files or table).items()}
    read = {name: given.table for name, given in given_tables.items()}
    return linked_plan_text(
        read, {name: given.name if files else f"{name}.csv" for name, given in given_tables.items()}
    )


def files_of_tables(table: Any) -> dict[str, Path]:
    """The files of a folder by their names; none if they have the same columns, and are parts of one table."""
    if not isinstance(table, (str, Path)) or not Path(table).is_dir():
        return {}
    files = [path for path in sorted(Path(table).iterdir()) if kind_of(path) in KINDS]
    if len(files) < 2 or len({_header(path) for path in files}) < 2:
        return {}
    return {path.name.split(".")[0]: path for path in files}


def _header(path: Path) -> str:
    """The columns of a file, as it names them."""
    if kind_of(path) == "parquet":
        return str(list(pl.read_parquet_schema(path)))
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        return str(lines.readline().rstrip())
