"""How the cost of methods and measures grows with records, categories, columns and the size of groups.

    python bench/growth.py rows                          # single cases that were once steep, by name
    python bench/growth.py rows --only "800 categories"
    python bench/growth.py grid                          # every method of the registry along four axes, half an hour
    python bench/growth.py grid --only mdav --write bench/growth.json
    python bench/growth.py check --write bench/growth.json  # exponents beyond what `scales` lets expect

Each case, and each axis of a method, has a process of its own with one thread, at most --seconds of CPU (of a single
call on an axis a quarter) and --memory GB. Figures are CPU seconds of the call alone, and the memory it added. An
exponent is the slope between the two largest sizes; it is not told where these take less than a few hundredths of a
second. `grid` adds its figures to those of the file.
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
from growth_cases import AXES, ROWS, along, call_of, measured_axes, table_for
from shoal.vocabulary.registry import entry, registered

THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "POLARS_MAX", "POLARS")}
LEAST_SECONDS = 0.03
"""CPU seconds from which on two sizes tell an exponent."""

LINEAR = 1.5
"""Largest exponent in the records of what works row by row, by sorting, or by classes: n log n, and caches."""

LINEAR_WAYS = ("rows", "combinations", "sorting", "classes")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(call: Any) -> tuple[float, float]:
    """CPU seconds of one call, and the MB that it added to the most there was."""
    before, start = peak(), time.process_time()
    call()
    return time.process_time() - start, peak() - before


def child(asked: dict[str, Any], seconds: float) -> None:
    """Print the figures of a case, or of the sizes of an axis up to the first that takes long."""
    if "axis" not in asked:
        print(json.dumps(timed(call_of(asked))))
        return
    method, points = entry(asked["kind"], asked["name"]), []
    shares = table_for(method)
    if asked["axis"] not in measured_axes(method, shares):
        return
    for size in AXES[asked["axis"]]:
        points.append([size, *timed(call_of(along(method, asked["axis"], size, shares)))])
        print(json.dumps(points), flush=True)
        if points[-1][1] > seconds / 4:
            break


def limited(seconds: int, memory: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)


def run(case: dict[str, Any], seconds: int, memory: float) -> tuple[Any, str]:
    """What a process of its own prints last, and why it did not end, if so."""
    done = subprocess.run(
        [sys.executable, __file__, CHILD, json.dumps(case), str(seconds)],
        capture_output=True,
        text=True,
        env=os.environ | THREADS,
        preexec_fn=lambda: limited(seconds, memory),
    )
    figures = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None
    if done.returncode == 0:
        return figures, ""
    if "MemoryError" in done.stderr or "bad_alloc" in done.stderr:
        return figures, f"over {memory:g} GB"
    lines = done.stderr.strip().splitlines()
    return figures, lines[-1] if lines else f"over {seconds} s"


def rows(only: str, seconds: int, memory: float) -> None:
    for name, case in ROWS.items():
        if only in name:
            figures, why = run(case, seconds, memory)
            print(f"{name:64s} {why or f'{figures[0]:8.2f} s {figures[1]:7.0f} MB'}", flush=True)


def exponent(points: list[list[float]]) -> float | None:
    """Slope of log seconds over log size between the two largest sizes."""
    if len(points) < 2 or points[-2][1] < LEAST_SECONDS:
        return None
    (a, s, _), (b, t, _) = points[-2:]
    return round(math.log(t / s) / math.log(b / a), 2)


def grid(only: str, seconds: int, memory: float, write: Path | None) -> None:
    """Every method along each axis until a size takes long."""
    figures_of: dict[str, Any] = json.loads(write.read_text()) if write and write.is_file() else {}
    for method in registered():
        name = f"{method.kind} {method.name}"
        if only not in name:
            continue
        axes = {}
        for axis in AXES:
            points, why = run({"kind": method.kind, "name": method.name, "axis": axis}, seconds, memory)
            if points:
                rounded = [[size, round(spent, 3), round(added)] for size, spent, added in points]
                axes[axis] = {"points": rounded, "exponent": exponent(points), "ended": why}
            elif axis == "records":
                axes[axis] = {"points": [], "exponent": None, "ended": why}
                break
        figures_of[name] = axes
        print(
            name,
            {axis: (along["exponent"], along["points"][-1:], along["ended"]) for axis, along in axes.items()},
            flush=True,
        )
        if write:
            write.write_text(json.dumps(figures_of, indent=1) + "\n")


def check(written: Path) -> None:
    """Exit with the methods whose cost grows faster in the records than the way in which they work lets expect."""
    figures_of = json.loads(written.read_text())
    steep = [
        f"{method.kind} {method.name}: exponent {slope}, though it works {method.cls.scales}"
        for method in registered()
        if method.cls.scales in LINEAR_WAYS
        and (slope := figures_of.get(f"{method.kind} {method.name}", {}).get("records", {}).get("exponent"))
        and slope > LINEAR
    ]
    if steep:
        raise SystemExit("\n".join(steep))


def main() -> None:
    given = child_arguments()
    if given is not None:
        child(json.loads(given[0]), float(given[1]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "grid", "check"])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--memory", type=float, default=8)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "rows":
        rows(chosen.only, chosen.seconds, chosen.memory)
    elif chosen.what == "grid":
        grid(chosen.only, chosen.seconds, chosen.memory, chosen.write)
    else:
        check(chosen.write or Path(__file__).with_suffix(".json"))


if __name__ == "__main__":
    main()
