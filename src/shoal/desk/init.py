"""A plan guessed from a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.desk.given import Given
from shoal.plan import Plan
from shoal.plan.draft import plan_text
from shoal.plan.lines import parse_yaml
from shoal.table.files.atomic import atomic_file


def init(
    table: Any,
    path: str | Path | None = None,
    *,
    synthetic: bool = False,
    context: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Plan:
    """Guess a plan for a table: a role for each column, steps that suit the roles, and a requirement.

    Correct the roles before you trust a release; in doubt the stricter one is guessed.

    Parameters
    ----------
    table
        As for `shoal.protect`; it is held whole.
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
    given = Given.of(table, reading)
    text = plan_text(given.table, given.name, synthetic=synthetic, context=context)
    if path is not None:
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return Plan.of(parse_yaml(text, "plan"), None if path is None else Path(path).parent)
