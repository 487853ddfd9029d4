"""A plan guessed from a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.desk.files_of_tables import one_table, tables_in_files
from shoal.desk.given import Given
from shoal.plan import Plan
from shoal.plan.any_plan import any_plan
from shoal.plan.draft import plan_text
from shoal.plan.lines import parse_yaml
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_draft import linked_plan_text
from shoal.table.files.atomic import atomic_file
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
        As for `shoal.protect`; it is held whole. Several linked tables, as a mapping, several files or a
        folder of files with different columns, get a plan with `tables`.
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
    files = {} if isinstance(table, Mapping) else tables_in_files(table)
    if not files and not isinstance(table, Mapping):
        given = Given.of(one_table(table), reading)
        return plan_text(given.table, given.name, synthetic=synthetic, context=context)
    if synthetic or context is not None:
        raise ParameterError("A plan for several tables is drafted as it is. Leave synthetic and context out.")
    given_tables = {str(name): Given.of(one, reading) for name, one in (files or table).items()}
    read = {name: given.table for name, given in given_tables.items()}
    return linked_plan_text(
        read, {name: given.name if files else f"{name}.csv" for name, given in given_tables.items()}
    )
