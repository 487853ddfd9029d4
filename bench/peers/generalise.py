"""Generalisation beside ARX: loss and CPU seconds on the Adult table with ARX's own hierarchies.

    python bench/peers/generalise.py [--data FOLDER] [--arx FOLDER] [--k 2 5 10 50] [--effort 1000] [--jittered 300000]

FOLDER of --data holds adult.csv and adult_hierarchy_COLUMN.csv, as ARX ships them. FOLDER of --arx holds what ARX
needs, built by hand from its repository (arx-deidentifier/arx, Apache-2.0, Java 17): `classes/`, made by `javac -d
classes` from src/main without the packages gui and certificate, and the jars of its lib folder under `lib/`. Two
stubs of your own stand in for what the snapshot lacks: org.apache.hadoop.io.Writable, and
certificate.elements.ElementData with `addItem` and `addProperty`. ArxPeer.java beside this file is compiled on the
spot. Without --arx only our side is run.

The loss is counted here, from the table as written, by neither program: a label that covers u of the v leaves of its
column's hierarchy loses (u - 1) / (v - 1), the mean over all cells. Smallest classes are counted, too. Seconds are user
and system time, of ours the one call, of ARX the whole process (starting Java takes .5 s of it).
"""

import argparse
import csv
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))
from alone import timed
from shoal import Generalise, Hierarchy, Microdata, SafePub

COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MORE = ["salary-class"]
TWICE = ["age", "education"]


class Adult:
    """The table, or a larger one like it, and its hierarchies."""

    def __init__(self, folder: Path, columns: list[str], records: int | None) -> None:
        self.prefix = str(folder / "adult_hierarchy_")
        self.columns = columns
        self.table = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False).select(columns)
        if records is not None:
            self.table = jittered(self.table, records)
        self.under = {name: leaves_under(Path(f"{self.prefix}{name}.csv")) for name in columns}

    def microdata(self) -> Microdata:
        spec = {
            name: {
                "role": "quasi-identifier",
                "level": "nominal",
                "hierarchy": Hierarchy.from_csv(f"{self.prefix}{name}.csv"),
            }
            for name in self.columns
        }
        return Microdata.of(self.table, spec)

    def loss(self, released: pl.DataFrame) -> tuple[float, int]:
        """Mean loss of a cell, and the size of the smallest class; a record that is missing is suppressed."""
        kept = released.filter(~pl.all_horizontal(pl.col(self.columns) == "*"))
        total = float(len(self.columns) * (self.table.height - kept.height))
        for name in self.columns:
            counts, leaves = self.under[name]
            for label, n in Counter(kept[name].to_list()).items():
                total += n * (counts[label] - 1) / (leaves - 1)
        smallest = int(kept.group_by(self.columns).len()["len"].min())
        return total / (len(self.columns) * self.table.height), smallest


def with_columns_twice(folder: Path, place: Path) -> list[str]:
    """Copy the data to a place where some columns, and their hierarchies, stand twice; the names of the second ones."""
    again = {name: f"{name}-again" for name in TWICE}
    table = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False)
    table.with_columns(pl.col(name).alias(other) for name, other in again.items()).write_csv(
        place / "adult.csv", separator=";"
    )
    for path in folder.glob("adult_hierarchy_*.csv"):
        shutil.copy(path, place)
    for name, other in again.items():
        shutil.copy(folder / f"adult_hierarchy_{name}.csv", place / f"adult_hierarchy_{other}.csv")
    return list(again.values())


def leaves_under(path: Path) -> tuple[dict[str, int], int]:
    """How many leaves each label of a hierarchy file covers, and how many there are."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    return Counter(label for row in rows for label in set(row)), len(rows)


def jittered(table: pl.DataFrame, records: int) -> pl.DataFrame:
    """Records drawn from the table, one cell in ten drawn anew from its column."""
    rng = np.random.default_rng(records)
    out = table[rng.integers(0, table.height, records)]
    drawn = {name: table[name].to_numpy()[rng.integers(0, table.height, records)] for name in table.columns}
    anew = {name: rng.random(records) < 0.1 for name in table.columns}
    return out.with_columns(
        pl.when(pl.Series(anew[name])).then(pl.Series(drawn[name])).otherwise(pl.col(name)).alias(name)
        for name in table.columns
    )


def ours(adult: Adult, **parameters: object) -> tuple[float, int, float]:
    return carried_out(Generalise(**parameters), adult, 0)


def carried_out(method: Generalise | SafePub, adult: Adult, seed: int) -> tuple[float, int, float]:
    micro = adult.microdata()
    rng = np.random.default_rng(seed)
    seconds, change = timed(lambda: method.apply(micro.records, adult.columns, rng))
    return (*adult.loss(micro.rebuild(change.records).native), seconds)


def arx(folder: Path, adult: Adult, recoding: str, k: float, limit: float, step: float) -> tuple[float, int, float]:
    released, seconds = arx_table(folder, adult, recoding, k, limit, step)
    return (*adult.loss(released), seconds)


def arx_table(
    folder: Path, adult: Adult, recoding: str, k: float, limit: float, step: float
) -> tuple[pl.DataFrame, float]:
    """What ARX releases, in the order of the table, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as work:
        paths = [str(folder / "classes"), *map(str, (folder / "lib").rglob("*.jar"))]
        source = Path(__file__).with_name("ArxPeer.java")
        subprocess.run(["javac", "-nowarn", "-cp", ":".join(paths), "-d", work, str(source)], check=True)
        adult.table.write_csv(f"{work}/table.csv", separator=";")
        call = [
            "java",
            "-Xmx3g",
            "-cp",
            ":".join([work, *paths]),
            "ArxPeer",
            f"{work}/table.csv",
            adult.prefix,
            f"{work}/out.csv",
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*call, recoding, str(k), str(limit), str(step), *adult.columns], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        released = pl.read_csv(f"{work}/out.csv", separator=";", infer_schema=False)
    return released, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def line(label: str, outcome: tuple[float, int, float]) -> None:
    loss, smallest, seconds = outcome
    print(f"  {label:<34} loss {loss:.4f}   smallest class {smallest:>3}   {seconds:7.2f} s", flush=True)


def bench(adult: Adult, k: int, effort: int, peer: Path | None) -> None:
    print(f"{adult.table.height:,} records, {len(adult.columns)} columns, k = {k}, nothing suppressed")
    line("shoal local, walk alone", ours(adult, k=k, recoding="local", effort=0))
    line("shoal local", ours(adult, k=k, recoding="local"))
    if effort:
        line(f"shoal local, effort {effort}", ours(adult, k=k, recoding="local", effort=effort))
    line("shoal full-domain", ours(adult, k=k))
    line("shoal full-domain, all suppressible", ours(adult, k=k, suppression=1.0))
    if peer is not None:
        line("ARX local, steps of 1 %", arx(peer, adult, "local", k, 1.0, 0.01))
        line("ARX local, steps of .1 %", arx(peer, adult, "local", k, 1.0, 0.001))
        line("ARX full-domain", arx(peer, adult, "full-domain", k, 0.0, 0.0))
        line("ARX full-domain, all suppressible", arx(peer, adult, "full-domain", k, 1.0, 0.0))


DELTA = 1e-6


def bench_safepub(adult: Adult, epsilon: float, peer: Path | None) -> None:
    """Records not drawn count as suppressed; three runs each."""
    print(f"{adult.table.height:,} records, {len(adult.columns)} columns, epsilon = {epsilon:g}, delta = {DELTA:g}")
    method = SafePub(epsilon=epsilon, delta=DELTA)
    for seed in range(3):
        line("shoal safepub", carried_out(method, adult, seed))
    for _ in range(3 if peer is not None else 0):
        line("ARX safepub", arx(peer, adult, "safepub", epsilon, DELTA, epsilon * method.choice))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data" / "adult")
    parser.add_argument("--arx", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10, 50])
    parser.add_argument("--effort", type=int, default=0, help="changes a record of a longer search; 0 for none")
    parser.add_argument("--jittered", type=int, nargs="*", default=[], help="sizes of larger tables like it")
    parser.add_argument("--wide", action="store_true", help="the confidential column as a ninth quasi-identifier")
    parser.add_argument("--ten", action="store_true", help="age and education twice, of which --jittered makes two")
    parser.add_argument("--epsilon", type=float, nargs="*", default=[], help="differential privacy instead of k")
    given = parser.parse_args()
    if not (given.data / "adult.csv").is_file():
        sys.exit(f"There is no adult.csv in {given.data}: name the folder with --data.")
    if given.arx is None:
        print("ARX is not run: --arx names no folder with its classes and jars.")
    elif not (given.arx / "classes").is_dir():
        sys.exit(f"{given.arx} holds no classes/: build ARX as the head of this file says.")
    with tempfile.TemporaryDirectory() as place:
        more = with_columns_twice(given.data, Path(place)) if given.ten else MORE * given.wide
        data = Path(place) if given.ten else given.data
        for size in given.jittered or [None]:
            for epsilon in given.epsilon:
                bench_safepub(Adult(data, COLUMNS + MORE, size), epsilon, given.arx)
            for k in [] if given.epsilon else given.k:
                bench(Adult(data, COLUMNS + more, size), k, given.effort, given.arx)
