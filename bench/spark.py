"""A Spark cluster beside one machine: the same plan and table, and whether the same bytes come out.

    python bench/spark.py 2e6                    # minutes

The cluster is a master and two workers of one processor each, started here on 127.0.0.1; needs Java and PySpark. The
driver may collect 16 MB (spark.driver.maxResultSize), a fraction of the table. The plan runs on this machine with two
processes, on the cluster, and on the cluster while one of its two workers is killed in the middle of the blocks. Table:
two numbers and a binary quasi-identifier, a confidential number, and two that are released as they are.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).parent.parent / "tests" / "scale"))

from spark_cluster import Cluster, session

SEED = 1 << 70
K = 5
FILE = 500_000
MOST_COLLECTED = "16m"
PLAN = {
    "columns": {
        "x": "quasi-identifier",
        "y": "quasi-identifier",
        "sex": "quasi-identifier",
        "income": "confidential",
        "a": "other",
        "b": "other",
    },
    "steps": [
        {"mask": "noise", "variance": 0.1, "columns": ["a"]},
        {"partition": "mdav", "k": K, "replace": "centroid"},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": K}, {"privacy": "t-closeness", "t": 0.9}],
    "output": {"format": "parquet"},
    "exact": False,
}


def generated(n: int, place: Path) -> Path:
    place.mkdir()
    for number, start in enumerate(range(0, n, FILE)):
        rng = np.random.default_rng([3, number])
        m = min(FILE, n - start)
        frame = pl.DataFrame({name: rng.standard_normal(m) for name in ("x", "y", "a", "b")})
        frame = frame.with_columns(sex=rng.integers(0, 2, m), income=rng.integers(0, 1000, m))
        frame.write_parquet(place / f"part-{number:05d}.parquet")
    return place


def digest(out: Path) -> str:
    """Of all released cells and all groups."""
    whole = hashlib.sha256()
    for path in (*sorted((out / "release" / "data").iterdir()), *sorted((out / "private" / "groups").iterdir())):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def measured(name: str, table: Path, out: Path, cluster: Cluster | None = None, **how: object) -> str:
    """One run, with a line about it; a cluster that is given loses a worker in the middle of the blocks."""
    from shoal import protect

    lost: list[threading.Timer] = []

    def stage(text: str, fraction: float) -> None:
        if cluster is not None and text.startswith("mdav") and not lost:
            lost.append(threading.Timer(5.0, cluster.kill, [1]))
            lost[0].start()

    began = time.monotonic()
    release = protect(table, PLAN, out, seed=SEED, stage=stage, **how)
    seconds = time.monotonic() - began
    figures = ", ".join(f"{verdict.model} {verdict.achieved:.6g}" for verdict in release.evidence.verdicts)
    print(f"{name:<32} | {seconds:>7.0f} s | {figures} | {digest(out)}", flush=True)
    return digest(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?", type=float, default=2e6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table = generated(int(given.records), place / "table")
        (place / "cluster").mkdir()
        cluster = Cluster(place / "cluster")
        seen = [measured("one machine, two processes", table, place / "here", workers=2)]
        try:
            cluster.start(2)
            with session(cluster, MOST_COLLECTED):
                seen.append(measured("Spark, two workers", table, place / "there", engine="spark"))
                seen.append(measured("Spark, one lost on the way", table, place / "lost", cluster, engine="spark"))
        finally:
            cluster.stop()
    sys.exit("The bytes differ." if len(set(seen)) > 1 else 0)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
