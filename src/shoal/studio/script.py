"""A Python program that repeats a run."""

from collections.abc import Mapping

from shoal.studio.session import Run

SCRIPT = '''"""Repeats a run of shoal studio. Private: whoever knows the seed can undo random masking."""

from pathlib import Path

import shoal

PLAN = """\\
{plan}"""

Path("plan.yaml").write_text(PLAN, encoding="utf-8")
table = shoal.example("hospital", n=1000, seed=1) if {file} == "example" else shoal.read({file}{how})
release = shoal.protect(table, "plan.yaml", seed={seed})
print(release)
release.write("release")
'''


def script(run: Run, source: str | None, how: Mapping[str, str]) -> str:
    """The program for a run.

    Parameters
    ----------
    source
        Name of the table's file.
    how
        Options for reading its file, as far as they were set.
    """
    return SCRIPT.format(
        file=repr(source or ""),
        how="".join(f", {key}={value!r}" for key, value in how.items()),
        plan=run.text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'),
        seed=run.result.get("seed") or "None",
    )
