"""Tables larger than memory beside tables in memory: cost per record, memory of all processes, loss of blocks.

    python bench/scale.py 1e6 1e7               # both sides at 1e6, parts alone beyond; minutes
    python bench/scale.py 1e8 --workers 2       # an hour of two processors, 15 GB of disk
    python bench/scale.py 1e7 --audit           # judging alone: k, l and t
    python bench/scale.py 1e7 --audit --beside T  # and by the version of shoal whose tree is T
    python bench/scale.py 1e7 --generalise      # categorical columns, generalisation to k = 10
    python bench/scale.py 1e7 --rank-swap       # six numeric columns, ranks swapped within 5 %
    python bench/scale.py 3e7 --mixed           # 3 numeric and 5 categorical columns, one of 1000 values, k = 5
    python bench/scale.py 1e7 --suppress        # categorical columns, suppression of cells to k = 10

Data: independent standard normal columns, written as Parquet in files of a million records. Memory is that of the
process and all its children (their proportional shares of what they have in common), looked at twice a second; CPU is
that of all of them. In memory the same plan goes through `shoal.protect` and is written in the same way.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

K = 5
COLUMNS = 6
FILE = 1_000_000


def plan_of(kind: str) -> dict[str, object]:
    keys = {f"x{j}": "quasi-identifier" for j in range(COLUMNS)}
    if kind == "audit":
        columns = keys | {"x4": "confidential", "x5": "confidential"}
        required = [
            {"privacy": "k-anonymity", "k": K},
            {"privacy": "l-diversity", "l": 1.0},
            {"privacy": "t-closeness", "t": 1.0},
        ]
        return {"columns": columns, "requirements": required}
    if kind == "suppress":
        return {
            "columns": {f"c{j}": "quasi-identifier" for j in range(CATEGORICAL)},
            "steps": [{"mask": "suppress", "k": 10}],
            "requirements": [{"privacy": "k-anonymity", "k": 10, "missing": "wildcard"}],
            "output": {"format": "parquet"},
        }
    if kind == "generalise":
        columns = {
            f"c{j}": {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"paths": HIERARCHY}}
            for j in range(CATEGORICAL)
        }
        steps = [{"mask": "generalise", "k": 10, "suppression": 0.05}]
        return {
            "columns": columns,
            "steps": steps,
            "requirements": [{"privacy": "k-anonymity", "k": 10}],
            "output": {"format": "parquet"},
        }
    if kind == "rank-swap":
        return {
            "columns": keys,
            "steps": [{"mask": "rank-swap", "p": 0.05}],
            "requirements": [{"privacy": "k-anonymity", "k": 1}],
            "output": {"format": "parquet"},
        }
    if kind == "mixed":
        keys = {f"x{j}": "quasi-identifier" for j in range(3)}
        keys |= {f"c{j}": "quasi-identifier" for j in range(len(SIZES))}
    return {
        "columns": keys,
        "steps": [{"partition": "mdav", "k": K, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": K}],
        "output": {"format": "parquet"},
    }


CATEGORICAL = 25
SIZES = (2, 5, 12, 50, 1000)
"""Values of the categorical columns of the mixed table."""

HIERARCHY = [[str(i), f"group {i // 2}", "*"] for i in range(8)]


def generated(n: int, kind: str, place: Path) -> Path:
    """A folder with the table."""
    place.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, n, FILE)):
        rng = np.random.default_rng([1, number])
        m = min(FILE, n - start)
        if kind in ("generalise", "suppress"):
            frame = _categories(rng, m)
        elif kind == "audit":
            group = np.arange(start, start + m) // K  # classes of K, as microaggregation leaves them
            frame = pl.DataFrame({f"x{j}": _spread_out(group, j) for j in range(4)})
            frame = frame.with_columns(x4=rng.integers(0, 10_000, m), x5=rng.integers(0, 100, m))
        elif kind == "mixed":
            frame = pl.DataFrame({f"x{j}": rng.standard_normal(m) for j in range(3)})
            frame = frame.with_columns(_labels(f"c{j}", rng.integers(0, size, m)) for j, size in enumerate(SIZES))
        else:
            frame = pl.DataFrame({f"x{j}": rng.standard_normal(m) for j in range(COLUMNS)})
        frame.write_parquet(place / f"part-{number:05d}.parquet", compression="lz4")
    return place


def _labels(name: str, codes: np.ndarray) -> pl.Series:
    return ("v" + pl.Series(name, codes).cast(pl.String)).alias(name)


def _spread_out(group: np.ndarray, j: int) -> np.ndarray:
    """A number for each group that looks like any other."""
    mixed = (group.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j)) >> np.uint64(11)
    return mixed.astype(np.float64) / 2**53


def _categories(rng: np.random.Generator, m: int) -> pl.DataFrame:
    """Columns that follow one of a few thousand profiles, so that combinations repeat, with a few strays."""
    profiles = np.random.default_rng(0).integers(0, 8, (4000, CATEGORICAL))
    cells = profiles[rng.integers(0, len(profiles), m)]
    strays = rng.random(m) < 0.001
    cells[strays, 0] = rng.integers(0, 8, int(strays.sum()))
    return pl.DataFrame({f"c{j}": cells[:, j].astype(str) for j in range(CATEGORICAL)})


def child(side: str, kind: str, table: str, out: str, workers: int, memory: str) -> None:
    from shoal import audit, protect

    plan = {**plan_of(kind), "exact": side != "parts"}
    given = table if side == "parts" else pl.read_parquet(f"{table}/*.parquet")
    how: dict[str, object] = {"workers": workers, "memory": memory or "4GB"} if side == "parts" else {"memory": "1TB"}
    if kind == "audit":
        evidence, loss = audit(given, plan, **how), float("nan")
    else:
        release = protect(given, plan, out, seed=1 << 70, **how)
        evidence = release.evidence
        loss = float(release.record["steps"][0].get("information loss in percent", float("nan")))
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    print(f"RESULT {cpu} {loss} {all(v.holds for v in evidence.verdicts)}")
    for verdict in evidence.verdicts:
        print(f"VERDICT {verdict.requirement}: {verdict.achieved}")


def memory_of(pid: int) -> int:
    """Bytes of a process and its children, what they share counted once."""
    total = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
            waiting += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue  # it ended meanwhile
    return total


def measured(side: str, kind: str, table: Path, out: Path, workers: int, memory: str, tree: Path | None = None) -> None:
    shutil.rmtree(out, ignore_errors=True)
    began = time.monotonic()
    command = [sys.executable, __file__, "--child", side, kind, str(table), str(out), str(workers), memory]
    n = sum(pl.scan_parquet(p).select(pl.len()).collect().item() for p in table.glob("*.parquet"))
    peak = 0
    env = os.environ | ({} if tree is None else {"PYTHONPATH": str(tree / "src")})
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.5)
        said = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit(process.returncode)
    lines = said.splitlines()
    cpu, loss, holds = next(line.split()[1:] for line in lines if line.startswith("RESULT"))
    seconds = time.monotonic() - began
    print(
        f"{n:>11,} {'beside' if tree else side:>7} | {seconds:>8.0f} {float(cpu):>8.0f} {1e6 * float(cpu) / n:>9.2f} | "
        f"{peak / 2**30:>7.2f} | {float(loss):>8.4f} | {'proved' if holds == 'True' else 'REFUTED'}",
        flush=True,
    )
    for line in lines:
        if line.startswith("VERDICT"):
            print(f"{'':>20} {line.removeprefix('VERDICT ')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=float, default=[1e6])
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--generalise", action="store_true")
    parser.add_argument("--rank-swap", action="store_true")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--suppress", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="", help="that parts may take, e.g. 3GB (4GB; for judging 2GB)")
    parser.add_argument("--most-in-memory", type=float, default=1e6, help="largest table that is held in memory too")
    parser.add_argument("--place", type=Path, help="where tables and releases are written")
    parser.add_argument("--beside", type=Path, help="tree of another version, built, that works on the same tables")
    parser.add_argument("--child", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        side, kind, table, out, workers, memory = given.child
        child(side, kind, table, out, int(workers), memory)
        return
    kinds = ("audit", "generalise", "suppress", "rank-swap", "mixed")
    kind = next((kind for kind in kinds if getattr(given, kind.replace("-", "_"))), "microaggregate")
    print(f"{'records':>11} {'side':>7} | {'seconds':>8} {'CPU s':>8} {'us/record':>9} | {'GiB':>7} | {'loss %':>8} |")
    with tempfile.TemporaryDirectory(dir=given.place) as place:
        for size in map(int, given.sizes):
            table = generated(size, kind, Path(place, "table"))
            for side in ("memory", "parts") if size <= given.most_in_memory else ("parts",):
                measured(side, kind, table, Path(place, "out"), given.workers, given.memory)
            if given.beside:
                measured("parts", kind, table, Path(place, "out"), given.workers, given.memory, given.beside)
            shutil.rmtree(table)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
