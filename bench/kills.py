"""A run on a large table, killed at random moments: afterwards there is no release, or a proved one.

    python bench/kills.py                        # 20 kills of a run on 400 000 records; minutes
    python bench/kills.py --kills 50 --records 2e6 --workers 2
    python bench/kills.py --plan suppress        # another plan: mask, rank-swap, suppress, generalise

First one run is left alone: its bytes, and how long it takes. Then the same plan, table and seed are run to another
place again and again, and all of its processes are killed (SIGKILL) at a moment drawn from that time; each run goes on
from what the one before had finished. After every kill the place is looked at, and at the end one more run is left
alone: it must give the bytes of the first. Any release that is there must be whole, with the same bytes, and its
requirements hold when it is audited. The program ends with an error where one of this is not so.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SEED = 1 << 70
K = 5

NUMBERS = ("x0", "x1", "x2")
CODES = ("town", "job")
TOWNS = 100
NOISE = {"mask": "noise", "variance": 0.1, "columns": [*NUMBERS]}
SWAP = {"mask": "rank-swap", "p": 0.05, "columns": [*NUMBERS]}
SUPPRESS = {"mask": "suppress", "k": K, "missing": "equal", "columns": [*CODES]}
GENERALISE = {"mask": "generalise", "k": K, "suppression": 0.01, "columns": [*CODES]}

STEPS = {
    "microaggregate": [
        {"mask": "top-code", "value": 2.5, "columns": ["x2"]},
        {"partition": "mdav", "k": K, "replace": "centroid"},
    ],
    "mask": [NOISE, {"mask": "suppress-records", "k": K, "limit": 0.5, "columns": [*CODES]}],
    "suppress": [SUPPRESS],
    "rank-swap": [SWAP, SUPPRESS],
    "generalise": [GENERALISE],
}
"""Of each plan; the last step sees to it that the requirement holds."""


def plan_of(name: str) -> dict[str, Any]:
    keys = NUMBERS if name == "microaggregate" else CODES
    columns: dict[str, Any] = {column: "quasi-identifier" if column in keys else "other" for column in NUMBERS}
    for column in CODES:
        columns[column] = {"role": "quasi-identifier" if column in keys else "other", "level": "nominal"}
    if name == "generalise":
        for column in CODES:
            columns[column]["hierarchy"] = {"paths": [[code, f"{code // 20}x", "*"] for code in range(TOWNS)]}
    return {
        "columns": {**columns, "secret": "confidential"},
        "steps": STEPS[name],
        "requirements": [{"privacy": "k-anonymity", "k": K}],
        "output": {"format": "parquet"},
        "exact": False,
    }


def table(n: int, place: Path) -> Path:
    place.mkdir()
    for number, start in enumerate(range(0, n, 100_000)):
        rng = np.random.default_rng([2, number])
        m = min(100_000, n - start)
        frame = pl.DataFrame({f"x{j}": rng.standard_normal(m) for j in range(3)})
        codes = {name: np.minimum(rng.geometric(0.15, m), TOWNS) - 1 for name in CODES}
        frame.with_columns(secret=rng.integers(0, 100, m), **codes).write_parquet(place / f"part-{number:03d}.parquet")
    return place


def digest(out: Path) -> str:
    """Of all released cells."""
    whole = hashlib.sha256()
    for path in sorted((out / "release" / "data").iterdir()):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def started(source: Path, out: Path, workers: int, plan: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, __file__, "--child", str(source), str(out), str(workers), plan]
    return subprocess.Popen(command, start_new_session=True)


def child(source: str, out: str, workers: str, plan: str) -> None:
    from shoal import protect
    from shoal.table.parts import dealing
    from shoal.table.parts import source as sources

    dealing.BLOCK_CELLS, sources.CHUNK = 100_000, 50_000  # many pieces of work, so that many moments differ
    protect(source, plan_of(plan), out, seed=SEED, workers=int(workers), memory="4GB")


def proved(out: Path, plan: str) -> bool:
    """Whether the requirements hold on the files."""
    from shoal import audit

    described = plan_of(plan)
    if plan == "generalise":  # labels of several levels, which the hierarchy numbers no more
        described["columns"] |= dict.fromkeys(CODES, "quasi-identifier")
    return audit(out / "release" / "data", described, workers=1).holds


def check(out: Path, expected: str, plan: str) -> str:
    """What is there after a kill."""
    if not out.exists():
        left = out.with_name(f".{out.name}.unfinished")
        return f"no release; {len(list(left.glob('*.done')))} pieces of work finished"
    record = json.loads((out / "private" / "record.json").read_text(encoding="utf-8"))
    missing = [name for name in record["files"] if not (out / name).exists()]
    if missing or digest(out) != expected or not proved(out, plan):
        sys.exit(f"A release is there that is not whole and proved ({len(missing)} files are missing).")
    shutil.rmtree(out)
    return "a whole release, proved again"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--records", type=float, default=4e5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--plan", choices=STEPS, default="microaggregate")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        source, out = table(int(given.records), Path(folder, "in")), Path(folder, "out")
        began = time.monotonic()
        if started(source, Path(folder, "whole"), given.workers, given.plan).wait():
            sys.exit("The run that was left alone failed.")
        usual = time.monotonic() - began
        expected = digest(Path(folder, "whole"))
        print(f"left alone: {usual:.1f} s", flush=True)
        for number in range(1, given.kills + 1):
            process = started(source, out, given.workers, given.plan)
            moment = draw.uniform(0.0, usual)
            time.sleep(moment)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(f"kill {number:>3} after {moment:6.1f} s: {check(out, expected, given.plan)}", flush=True)
        if started(source, out, given.workers, given.plan).wait() or digest(out) != expected:
            sys.exit("The last run did not end with the bytes of the first.")
        left = sorted(path.name for path in Path(folder).iterdir())
        if left != ["in", "out", "whole"]:
            sys.exit(f"Something was left behind: {left}")
        print("the last run ended with the same bytes, and nothing was left behind")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
