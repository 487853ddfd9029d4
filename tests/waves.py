"""A registry released again and again, and an adversary who reads only release/ folders."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

K = 5


def registry(months: int, persons: int, seed: int) -> Iterator[pl.DataFrame]:
    """A registry month by month: births, deaths, movers, corrections; pay is one's own and never changes."""
    rng = np.random.default_rng(seed)
    people: list[dict[str, Any]] = []

    def born(number: int) -> None:
        for _ in range(number):
            cohort, region = int(rng.integers(4)), "NSEW"[rng.integers(4)]
            pay = round(float(rng.normal(3000, 800)), 2) + len(people) / 2**20
            people.append({"person": len(people), "cohort": cohort, "region": region, "pay": pay, "left": None})

    born(persons)
    for month in range(months):
        if month:
            born(int(rng.poisson(persons * 0.01)))
            alive = [person for person in people if person["left"] is None]
            for person in rng.choice(np.array(alive), rng.poisson(persons * 0.008), replace=False):
                person["left"] = month
            for person in rng.choice(np.array(alive), rng.poisson(persons * 0.01), replace=False):
                person["region"] = "NSEW"[rng.integers(4)]
            for person in rng.choice(np.array(alive), rng.poisson(persons * 0.002), replace=False):
                person["cohort"] = int(rng.integers(4))
        yield pl.DataFrame(people, schema_overrides={"left": pl.Int64})


def known_of(folders: Sequence[Path], names: Sequence[str]) -> dict[str, int]:
    """By pay, which nobody shares, the number of persons of whom all files tell the same in some columns."""
    known: dict[str, dict[int, tuple[str, ...]]] = defaultdict(dict)
    for number, folder in enumerate(folders):
        for pay, *cells in pl.read_csv(data(folder), infer_schema=False).select("pay", *names).iter_rows():
            known[pay][number] = tuple(cells)
    sequences = {pay: tuple(cells.get(number) for number in range(len(folders))) for pay, cells in known.items()}
    counts = Counter(sequences.values())
    return {pay: counts[sequence] for pay, sequence in sequences.items()}


def adversary(folders: Sequence[Path], names: Sequence[str] = ("cohort", "region"), k: int = K) -> tuple[int, int]:
    """Persons, paired by their pay, and those among fewer than k of whom all files tell the same."""
    known = known_of(folders, names)
    return len(known), sum(count < k for count in known.values())


def data(folder: Path) -> Path:
    return folder / "release" / "data.csv"
