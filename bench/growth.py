"""How the cost of methods and measures grows with records, categories, columns and the size of groups.

    python bench/growth.py rows                          # the rows of the table in docs/reference/scaling.md
    python bench/growth.py rows --only "800 categories"  # those whose name holds these words
    python bench/growth.py grid --only mdav              # every method of the registry along four axes
    python bench/growth.py grid --write bench/growth.json

Each call has a process of its own, one thread, at most --seconds of CPU and --memory GB. Figures are CPU seconds of the
call alone, and the memory it added. An exponent is the slope between the two largest sizes that ended.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from alone import CHILD, child_arguments
from growth_cases import GRID, ROWS, call_of

THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "POLARS_MAX", "POLARS")}


def child(case: dict[str, Any]) -> None:
    """Print CPU seconds of one call and the MB that it added."""
    call = call_of(case)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    call()
    seconds = time.process_time() - start
    print(json.dumps([seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))


def limited(seconds: int, memory: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)


def measured(case: dict[str, Any], seconds: int, memory: float) -> tuple[float | None, float | None, str]:
    """CPU seconds and MB of one call in a process of its own; None and why where it did not end."""
    done = subprocess.run(
        [sys.executable, __file__, CHILD, json.dumps(case)],
        capture_output=True,
        text=True,
        env=os.environ | THREADS,
        preexec_fn=lambda: limited(seconds, memory),
    )
    if done.returncode == 0:
        figures = json.loads(done.stdout.splitlines()[-1])
        return float(figures[0]), float(figures[1]), ""
    if "MemoryError" in done.stderr or "bad_alloc" in done.stderr:
        return None, None, f"over {memory:g} GB"
    lines = done.stderr.strip().splitlines()
    return None, None, lines[-1] if lines else f"over {seconds} s"


def shown(seconds: float | None, memory: float | None, why: str) -> str:
    return why if seconds is None or memory is None else f"{seconds:8.2f} s {memory:7.0f} MB"


def rows(only: str, seconds: int, memory: float) -> None:
    for name, case in ROWS.items():
        if only in name:
            print(f"{name:64s} {shown(*measured(case, seconds, memory))}", flush=True)


def exponent(points: list[tuple[float, float]]) -> float | None:
    """Slope of log seconds over log size between the two largest sizes, where the cost is more than a start-up."""
    if len(points) < 2 or points[-2][1] < 0.02:
        return None
    (a, s), (b, t) = points[-2:]
    return math.log(t / s) / math.log(b / a)


def grid(only: str, seconds: int, memory: float, write: Path | None) -> None:
    """Along each axis until a call does not end in time."""
    found: dict[str, Any] = json.loads(write.read_text()) if write and write.is_file() else {}
    for name, axes in GRID().items():
        if only not in name:
            continue
        found[name] = {}
        for axis, cases in axes.items():
            points: list[tuple[float, float]] = []
            along = []
            for size, case in cases.items():
                spent, added, why = measured(case, seconds, memory)
                along.append([size, spent, added, why])
                if spent is None:
                    break
                points.append((size, spent))
            found[name][axis] = {"points": along, "exponent": exponent(points)}
            print(f"{name:40s} {axis:10s} {exponent(points)} {along}", flush=True)
        if write:
            write.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    given = child_arguments()
    if given is not None:
        child(json.loads(given[0]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "grid"])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--memory", type=float, default=8)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "rows":
        rows(chosen.only, chosen.seconds, chosen.memory)
    else:
        grid(chosen.only, chosen.seconds, chosen.memory, chosen.write)


if __name__ == "__main__":
    main()
