"""Somebody who has `release/` alone estimates how many households the original had, from the numbers that are left."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import crossed
from shoal.table.files.tables import read_table

COLUMNS = {"home": "household", "town": "quasi-identifier", "ill": {"role": "confidential", "missing": "keep"}}
FEW = {"mask": "suppress-records", "k": 5, "limit": 1}
WAYS: dict[str, dict[str, Any]] = {
    "too few": {"steps": [FEW]},
    "sample": {"steps": [{"mask": "sample", "fraction": 0.5}]},
    "no answer": {"columns": {**COLUMNS, "ill": {"role": "confidential", "missing": "drop"}}},
    "in order": {"steps": [FEW], "output": {"shuffle": False}},
}
REQUIRED = [{"privacy": "k-anonymity", "k": 5}]


def homes(rng: np.random.Generator) -> pl.DataFrame:
    """Households of one to four people, of which some live where nobody else does, and some do not say how they are."""
    sizes = rng.integers(1, 5, int(rng.integers(60, 120)))
    home = np.repeat(rng.permutation(len(sizes)), sizes)
    alone = rng.random(len(sizes)) < 0.4
    return pl.DataFrame(
        {
            "home": [f"H{number:04}" for number in home],
            "town": [f"lonely {h}" if alone[h] else f"town {h % 3}" for h in home],
            "ill": [None if alone[h] else "flu" if h % 2 else "gout" for h in home],
        }
    )


def numbers(folder: Path) -> list[int]:
    """The household numbers of a released table, record by record."""
    files = [path for path in sorted((folder / "release").rglob("*")) if path.suffix in (".csv", ".parquet", ".sav")]
    return [int(number) for path in files for number in read_table(path).frame["home"].drop_nulls().to_list()]


def estimates(folder: Path) -> Iterator[float]:
    """How many households there were: the largest number, the serial-number estimate, the gaps."""
    left = np.unique(numbers(folder))
    yield float(left.max())
    yield left.max() * (1 + 1 / len(left)) - 1  # Goodman (1952)
    yield float(left.max() - left.min() + 1)
    yield len(left) + float((np.diff(left) - 1).sum())


@pytest.mark.parametrize(("way", "format_and_memory"), crossed(WAYS, product(["csv", "parquet"], [True, False])))
def test_numbers_left_tell_how_many_households_were_released(
    way: str, format_and_memory: tuple[str, bool], tmp_path: Path
) -> None:
    format, memory = format_and_memory
    table = homes(np.random.default_rng(5))
    before = table["home"].n_unique()
    said = WAYS[way]
    output = {"format": format, **said.get("output", {})}
    plan = {"columns": COLUMNS, "requirements": [] if way == "sample" else REQUIRED, **said, "output": output}
    if memory:
        shoal.protect(table, plan, seed=1).write(tmp_path / "out", unproved=True)
    else:
        table.write_parquet(tmp_path / "homes.parquet")
        in_parts = {**plan, "exact": False}
        shoal.protect(tmp_path / "homes.parquet", in_parts, tmp_path / "out", seed=1, workers=1, unproved=True)
    left = set(numbers(tmp_path / "out"))
    assert left == set(range(1, len(left) + 1)) and len(left) < before
    guesses = set(estimates(tmp_path / "out"))
    assert guesses == {len(left)}, "whatever is guessed is what everybody can count"


def test_who_was_dropped_moves_no_number() -> None:
    """The same households are released with the same numbers, whether or not others were dropped among them.

    Records stay in their order: a random one is drawn by row, which those that are dropped move.
    """
    table = homes(np.random.default_rng(6))
    usual = table.filter(~pl.col("town").str.starts_with("lonely"))
    plan = {"columns": COLUMNS, "requirements": REQUIRED, "steps": [FEW], "output": {"shuffle": False}}
    with_others, alone = (shoal.protect(t, plan, seed=2).to_frame() for t in (table, usual))
    assert usual["home"].n_unique() < table["home"].n_unique()
    assert with_others.equals(alone)


def test_the_order_of_numbers_is_drawn_anew() -> None:
    """What a number says of the place of its household in the original is what a drawn one says: nothing."""
    table = homes(np.random.default_rng(7))
    plan = {"columns": COLUMNS, "requirements": REQUIRED, "steps": [FEW], "output": {"shuffle": False}}
    ranks = []
    for seed in range(20):
        order = (
            shoal.protect(table, plan, seed=seed).to_frame()["home"].cast(int).unique(maintain_order=True).to_numpy()
        )
        ranks.append(np.corrcoef(np.arange(len(order)), order)[0, 1])
    assert abs(np.mean(ranks)) < 4 / np.sqrt(len(ranks) * len(order))
    assert len({round(rank, 6) for rank in ranks}) == len(ranks)


def test_labels_of_household_codes_do_not_leave(tmp_path: Path) -> None:
    """SPSS may label the code of a household by its name: a new number that is the same would bear it."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = homes(np.random.default_rng(8)).with_columns(pl.col("home").str.tail(4).cast(pl.Float64) + 1)
    frame = frame.with_columns(pl.col("ill").fill_null(""))
    names = {code: f"Family {code:.0f}" for code in frame["home"].unique().to_list()}
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_value_labels={"home": names})
    table = read_table(tmp_path / "in.sav")
    assert table.value_labels["home"]
    output = {"format": "sav"}
    plan = {"columns": COLUMNS, "requirements": REQUIRED, "steps": [FEW], "output": output}
    shoal.protect(table, plan, seed=1).write(tmp_path / "out", labels=table)
    assert "home" not in read_table(tmp_path / "out" / "release" / "data.sav").value_labels
    assert not [p.name for p in (tmp_path / "out" / "release").iterdir() if b"Family" in p.read_bytes()]
    left = set(numbers(tmp_path / "out"))
    assert left == set(range(1, len(left) + 1))
