"""How the cost of methods and measures grows with records, categories, columns and the size of groups.

    python bench/growth.py rows                          # single cases that were once steep, by name
    python bench/growth.py rows --only "800 categories" --seconds 120
    python bench/growth.py grid                          # every method along four axes, a quarter of an hour
    python bench/growth.py grid --only mdav --write bench/growth.json
    python bench/growth.py grid --new --write bench/growth.json  # methods that the file lacks
    python bench/growth.py check                         # what it lacks, and exponents beyond what `scales` lets expect

Each case, and each axis of a method, has a process of its own with one thread, at most --seconds of CPU (an axis ends
after a call that takes a quarter) and --memory GB. Figures are CPU seconds of the call alone, and the memory it added.
An exponent is the slope between the two largest sizes; it is not told where these take less than a few hundredths of
a second. `grid` adds its figures to those of the file.
"""

import argparse
import json
import math
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from growth_cases import AXES, ROWS, along, call_of, made_before, measured_axes, table_for
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import entry, registered

THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "POLARS_MAX", "POLARS")}
COPIES = get_context("fork")
"""Of a process that has imported all methods and made the tables, and has called none."""

LEAST_SECONDS = 0.03
"""CPU seconds from which on two sizes tell an exponent."""

LINEAR = 1.5
"""Largest exponent in the records of what works by rows, sorting, classes or on a sample: n log n, and caches."""

LINEAR_WAYS = ("rows", "combinations", "sorting", "classes", "sample")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(call: Any) -> tuple[float, float]:
    """CPU seconds of one call, and the MB that it added to the most there was."""
    before, start = peak(), time.process_time()
    call()
    return time.process_time() - start, peak() - before


def points(asked: dict[str, Any], seconds: float) -> Iterator[Any]:
    """The figures of a case, the kind of table that a method takes, or the sizes of an axis until one takes long."""
    if "table" in asked:
        yield timed(call_of(asked))
        return
    method = entry(asked["kind"], asked["name"])
    if "axis" not in asked:
        yield table_for(method)
        return
    for size in AXES[asked["axis"]]:
        spent, added = timed(call_of(along(method, asked["axis"], size, asked["shares"])))
        yield size, round(spent, 3), round(added)
        if spent > seconds / 4:
            return


def child(writer: Any, asked: dict[str, Any], seconds: int, memory: float) -> None:
    """Send figures as they come, and at last why there are no more, if they did not end of themselves."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
    try:
        for point in points(asked, seconds):
            writer.send(point)
    except MemoryError:
        writer.send(f"over {memory:g} GB")
    except (ShoalError, ValueError) as refusal:
        writer.send(f"{type(refusal).__name__}: {refusal}")


def run(asked: dict[str, Any], seconds: int, memory: float) -> tuple[list[Any], str]:
    """What a copy of this process sends, and why it did not end, if so."""
    reader, writer = COPIES.Pipe(duplex=False)
    process = COPIES.Process(target=child, args=(writer, asked, seconds, memory))
    process.start()
    writer.close()
    figures, why = [], ""
    with suppress(EOFError):
        while True:
            came = reader.recv()
            if isinstance(came, str):
                why = came
            else:
                figures.append(came)
    process.join()
    if process.exitcode and process.exitcode > 0:
        raise SystemExit(f"{asked} failed, as printed above")
    return figures, why or (f"over {seconds} s" if process.exitcode else "")


def rows(only: str, seconds: int, memory: float) -> None:
    for name, case in ROWS.items():
        if only in name:
            figures, why = run(case, seconds, memory)
            print(f"{name:64s} {why or f'{figures[0][0]:8.2f} s {figures[0][1]:7.0f} MB'}", flush=True)


def exponent(points: list[list[float]]) -> float | None:
    """Slope of log seconds over log size between the two largest sizes."""
    if len(points) < 2 or points[-2][1] < LEAST_SECONDS:
        return None
    (a, s, _), (b, t, _) = points[-2:]
    return round(math.log(t / s) / math.log(b / a), 2)


def grid(only: str, new: bool, seconds: int, memory: float, write: Path | None) -> None:
    """Every method along each axis until a size takes long; if `new` is set, those of which there are no figures."""
    figures_of: dict[str, Any] = json.loads(write.read_text()) if write and write.is_file() else {}
    for method in registered():
        name = f"{method.kind} {method.name}"
        if only not in name or (new and "records" in figures_of.get(name, {})):
            continue
        asked: dict[str, Any] = {"kind": method.kind, "name": method.name}
        taken, why = run(asked, seconds, memory)
        axes = {}
        for axis in measured_axes(method, taken[0]) if taken else ():
            made_before(method, axis, taken[0])
            figures, ended = run(asked | {"axis": axis, "shares": taken[0]}, seconds, memory)
            axes[axis] = {"points": figures, "exponent": exponent(figures), "ended": ended}
        figures_of[name] = axes or {"ended": why}
        print(name, json.dumps(figures_of[name]), flush=True)
        if write:
            write.write_text(written(figures_of))


def written(figures_of: dict[str, Any]) -> str:
    """JSON with a line for each method."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(axes)}" for name, axes in figures_of.items()) + "\n}\n"


def faults(figures_of: dict[str, Any]) -> list[str]:
    """Methods of the package without figures, figures of no method, and methods whose cost grows faster in the records
    than the way in which they work lets expect.
    """
    methods = {f"{m.kind} {m.name}": m.cls for m in registered() if m.cls.__module__.startswith("shoal.")}
    out = [f"{name}: no method has this name" for name in figures_of.keys() - methods.keys()]
    for name, cls in methods.items():
        records = figures_of.get(name, {}).get("records")
        if records is None:
            out.append(f"{name}: not measured; run `python bench/growth.py grid --new --write bench/growth.json`")
        elif cls.scales in LINEAR_WAYS and (slope := records["exponent"]) is not None and slope > LINEAR:
            out.append(f"{name}: exponent {slope}, though it works {cls.scales}")
    return sorted(out)


def main() -> None:
    if not os.environ.keys() >= THREADS.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | THREADS)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "grid", "check"])
    parser.add_argument("--only", default="")
    parser.add_argument("--new", action="store_true", help="only methods of which the file has no figures")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--memory", type=float, default=8)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "rows":
        rows(chosen.only, chosen.seconds, chosen.memory)
    elif chosen.what == "grid":
        grid(chosen.only, chosen.new, chosen.seconds, chosen.memory, chosen.write)
    else:
        file = chosen.write or Path(__file__).with_suffix(".json")
        if wrong := faults(json.loads(file.read_text("utf-8"))):
            raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
