"""A Python program that repeats a run."""

from collections.abc import Mapping
from typing import Any

from shoal.studio.opening import EXAMPLE_PERSONS
from shoal.studio.session import Run

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


IMPORTED = "from shoal.desk.preparing import prepared\nfrom shoal.table.files.table import Table\n"
EXAMPLE = 'shoal.example("hospital", n=1000, seed=1)'


def script(run: Run, facts: Mapping[str, Any]) -> str:
    """The program for a run.

    Parameters
    ----------
    facts
        Facts about the table, or the tables, with how their files were read.
    """
    table = _opened(facts, alone=not run.prepared)
    if run.prepared:
        table = f"prepared({table}, {list(run.prepared)!r})"
    return SCRIPT.format(
        imported=IMPORTED if run.prepared else "",
        table=table,
        plan=run.text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        after=f", after={run.after!r}" if run.after else "",
        seed=run.result.get("seed") or "None",
    )


def _opened(facts: Mapping[str, Any], *, alone: bool) -> str:
    """The table, or a mapping of the tables, in Python; what is prepared further is no frame alone."""
    how = "".join(f", {key}={value!r}" for key, value in facts.get("reading", {}).items())
    if facts["source"] == "example":
        return EXAMPLE if alone else f"Table(frame={EXAMPLE})"
    if "tables" not in facts:
        return f"shoal.read({facts['source']!r}{how})"
    if facts["source"] == "example of tables":
        return f"shoal.example_tables(n={EXAMPLE_PERSONS}, seed=1)"
    tables = [f"{name!r}: shoal.read({of['source']!r}{how})" for name, of in facts["tables"].items()]
    return "{" + ", ".join(tables) + "}"
