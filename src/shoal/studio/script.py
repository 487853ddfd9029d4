"""A Python program that repeats a run."""

from collections.abc import Mapping
from typing import Any

from shoal.studio.databases import address_of
from shoal.studio.opening import EXAMPLE_PERSONS
from shoal.studio.session import StudioRun

SCRIPT = '''"""Repeats a run of shoal studio. Private: whoever knows the seed can undo random masking."""

from pathlib import Path

import shoal
{imported}
PLAN = """\\
{plan}"""

Path("plan.yaml").write_text(PLAN, encoding="utf-8")
table = {table}
release = shoal.protect(table, "plan.yaml", seed={seed}{after})
print(release)
release.write("release")
'''


IMPORTS = {
    "prepared": "from shoal.desk.preparing import prepared\n",
    "prepared_tables": "from shoal.desk.preparing import prepared_tables\n",
    "Database": "from shoal.table.files.database import Database\n",
    "Table": "from shoal.table.files.table import Table\n",
    "read_table": "from shoal.table.files.tables import read_table\n",
}
"""By name that a program needs besides shoal, how it is imported."""

EXAMPLE = 'shoal.example("hospital", n=1000, seed=1)'


def script(run: StudioRun, facts: Mapping[str, Any]) -> str:
    """The program for a run.

    Parameters
    ----------
    facts
        Facts about the table, or the tables, with how their files were read.
    """
    table = _opened(facts, alone=not run.prepared)
    if run.prepared:
        table = f"prepared{'_tables' * ('tables' in facts)}({table}, {list(run.prepared)!r})"
    return SCRIPT.format(
        imported="".join(IMPORTS[name] for name in IMPORTS if f"{name}(" in table),
        table=table,
        plan=run.text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        after=f", after={list(run.after)!r}" if run.after else "",
        seed=run.result.get("seed") or "None",
    )


def _opened(facts: Mapping[str, Any], *, alone: bool) -> str:
    """The table, or a mapping of the tables, in Python; what is prepared further is no frame alone."""
    reading = facts.get("reading", {})
    if "query" in reading:
        return f"Database(address={address_of(facts['path'])!r}, query={reading['query']!r}).read()"
    how = "".join(f", {key}={value!r}" for key, value in reading.items())
    if facts["source"] == "example":
        return EXAMPLE if alone else f"Table(frame={EXAMPLE})"
    if "tables" not in facts:
        return f"{'shoal.read' if alone else 'read_table'}({facts['source']!r}{how})"
    if facts["source"] == "example of tables":
        made = f"shoal.example_tables(n={EXAMPLE_PERSONS}, seed=1)"
        return made if alone else f"{{name: Table(frame=frame) for name, frame in {made}.items()}}"
    read = "shoal.read" if alone else "read_table"
    tables = [f"{name!r}: {read}({of['source']!r}{how})" for name, of in facts["tables"].items()]
    return "{" + ", ".join(tables) + "}"
