"""What several copies of one table give away together, found from the files of their `release` folder alone.

Four attacks. *Joined*: a blank of one copy is filled from records of others with the same value in a column that
stays. *Together*: whoever one copy leaves out stands in another. *Averaged*: what is drawn about a person's own cell
comes near to it in the mean of many draws; where no column says who is who, in the mean of the records nearest to what
is known of a person. *Linked*: the mean of all copies, row by row where their order is kept, is matched with what is
known of people. People of whom the copies were made are compared with others like them.

Each is tried on what is admitted, and on what is refused, which is made one copy at a time. Trees tell of the ten
records of a leaf, and copies tell more of these than one table does (whoever knows a size that is nobody else's finds
the town of 42 % of the people in one copy, of 58 % in eight, of 35 % of strangers), but give nobody's own cells.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.vocabulary.errors import PlanError

COPIES, K = 8, 5
KEYS = ["age", "town", "work"]
COLUMNS = {**dict.fromkeys(KEYS, "quasi-identifier"), "size": "confidential", "secret": "confidential"}
ROLES = {**COLUMNS, **{name: {"role": "quasi-identifier", "level": "nominal"} for name in ("town", "work")}}


def people(n: int, seed: int) -> pl.DataFrame:
    """Whose `secret` nothing else explains, and whose `size` is nobody else's."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "town": rng.geometric(0.4, n).astype(str),
            "work": rng.geometric(0.4, n).astype(str),
            "size": rng.permutation(n * 10)[:n] / 10,
            "secret": np.round(rng.normal(0, 1, n), 3),
        }
    )


TABLE, STRANGERS = people(300, 1), people(300, 2)
BLANKS = [{"mask": "suppress", "k": K, "columns": ["town", "work"]}]
SPREAD = TABLE["size"].std()
MOST_FREQUENT = TABLE["town"].value_counts()["count"].max() / len(TABLE)
SAMPLE = [{"mask": "sample", "fraction": 0.4}]
NOISE = [{"mask": "noise", "variance": 1.0, "columns": ["secret"]}]


def trees(**parameters: Any) -> list[dict[str, Any]]:
    replace = {"method": "cart", **parameters}
    return [{"partition": "whole", "replace": replace, "columns": list(COLUMNS)}]


def plan(steps: list[dict[str, Any]], copies: int) -> dict[str, Any]:
    return {"columns": ROLES, "steps": steps, "output": {"copies": copies}}


def admitted(steps: list[dict[str, Any]], folder: Path) -> list[pl.DataFrame]:
    """The files of a release in copies."""
    shoal.protect(TABLE, plan(steps, COPIES), seed=1).write(folder / "out", unproved=True)
    return [pl.read_csv(path) for path in sorted((folder / "out" / "release").glob("data-*.csv"))]


def refused(steps: list[dict[str, Any]]) -> list[pl.DataFrame]:
    """What would be in the files if the copies were not refused."""
    with pytest.raises(PlanError, match="copies must be 1"):
        shoal.protect(TABLE, plan(steps, COPIES), seed=1)
    return [shoal.protect(TABLE, plan(steps, 1), seed=seed).data for seed in range(COPIES)]


def filled(copies: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The first copy, blanks of its keys filled with what records of the same `size` have elsewhere, if that is one."""
    elsewhere = [
        pl.concat(copies).select("size", name).drop_nulls().unique().filter(pl.col("size").is_unique())
        for name in KEYS[1:]
    ]
    table = copies[0]
    for name, known in zip(KEYS[1:], elsewhere):
        table = table.join(known, on="size", how="left", suffix="_known")
        table = table.with_columns(pl.coalesce(name, f"{name}_known").alias(name)).drop(f"{name}_known")
    return table


def learned(copies: Sequence[pl.DataFrame]) -> float:
    """The share of people whose town is what the records with their `size` have most often, of those who have some."""
    towns = pl.concat(copies).drop_nulls("town").group_by("size").agg(pl.col("town").mode().min().cast(pl.String))
    both = TABLE.join(towns, on="size", suffix="_released")
    return (both["town"] == both["town_released"]).mean()


def seen(copies: Sequence[pl.DataFrame], targets: pl.DataFrame = TABLE) -> float:
    """The share of people whose `size` stands in some copy."""
    return len(targets.join(pl.concat(copies), on="size", how="semi")) / len(targets)


def places(frame: pl.DataFrame) -> Any:
    """Shape (n, 4); what is known of people, in units of about a standard deviation."""
    numbers = frame.select(pl.col("age") / 12, pl.col("size") / SPREAD, pl.col("town", "work").cast(pl.Float64))
    return numbers.to_numpy()


def distance(copies: Sequence[pl.DataFrame], targets: pl.DataFrame) -> float:
    """Mean distance of people's secrets from the mean of those nearest to what is known of them, one record a copy."""
    released, secrets = places(pl.concat(copies)), pl.concat(copies)["secret"].to_numpy()
    near = [np.argsort(((released - one) ** 2).sum(axis=1))[: len(copies)] for one in places(targets)]
    return float(np.abs(secrets[np.array(near)].mean(axis=1) - targets["secret"].to_numpy()).mean())


def advantage(copies: Sequence[pl.DataFrame]) -> float:
    """How far off one is with people of whom the copies were made, in parts of what one is with strangers."""
    return distance(copies, TABLE) / distance(copies, STRANGERS)


def below(table: pl.DataFrame, k: int) -> int:
    """Records that fewer than k share their keys with, a missing cell matching every value."""
    rows = table.select("town", "work").cast(pl.String).rows()
    alike = [sum(all(a is None or b is None or a == b for a, b in zip(x, y)) for y in rows) for x in rows]
    return sum(count < k for count in alike)


def test_blanks_are_filled_where_a_column_stays() -> None:
    copies = refused(BLANKS)
    assert max(below(copy, K) for copy in copies[: by_night(2, COPIES)]) == 0
    table = filled(copies)
    assert table.null_count().sum_horizontal().item() < 0.6 * copies[0].null_count().sum_horizontal().item()
    assert below(table, K) > 10
    assert learned(copies) == 1


def test_records_that_are_made_up_have_nothing_to_be_joined_on(tmp_path: Path) -> None:
    copies = admitted([*trees(), *BLANKS], tmp_path)
    assert learned(copies) < MOST_FREQUENT + 0.25


def test_samples_show_everybody_and_made_up_records_nobody_in_particular(tmp_path: Path) -> None:
    assert seen(refused(SAMPLE)) > 0.95
    copies = admitted([*trees(), *SAMPLE], tmp_path)
    assert seen(copies) < 0.5
    assert seen(copies) - seen(copies, STRANGERS) < 0.25  # numbers near the people's own are drawn


def test_noise_averages_out_and_trees_do_not(tmp_path: Path) -> None:
    """With one record a leaf trees give a person's own cells in every copy, and are refused."""
    noisy = refused(NOISE)
    mean = pl.concat(noisy).group_by("size").agg(pl.col("secret").mean())
    one, averaged = (
        (both["secret"] - both["secret_right"]).abs().mean()
        for both in (released.join(TABLE, on="size", suffix="_right") for released in (noisy[0], mean))
    )
    assert averaged < 0.5 * one
    assert advantage(refused(trees(min_leaf=1))) < 0.6
    assert advantage(admitted(trees(), tmp_path)) > 0.8


def linked(copies: Sequence[pl.DataFrame]) -> float:
    """The share of people whose row is nearest to what is known of them, in the mean of copies in the table's order."""
    released = np.mean([places(copy) for copy in copies], axis=0)
    nearest = [np.argmin(((released - one) ** 2).sum(axis=1)) for one in places(TABLE)]
    return float(np.mean(np.array(nearest) == np.arange(len(TABLE))))


def test_a_mean_of_noisy_copies_is_linked_and_of_made_up_ones_is_not() -> None:
    """A gate of one copy says little of many, so that noise is refused; made-up rows are nobody's in any number."""
    noise = [{"mask": "noise", "variance": 0.5, "columns": ["age", "size"]}]
    order = {"shuffle": False}
    with pytest.raises(PlanError, match="copies must be 1"):
        shoal.protect(TABLE, plan(noise, COPIES), seed=1)
    noisy = [shoal.protect(TABLE, plan(noise, 1) | {"output": order}, seed=seed).data for seed in range(COPIES)]
    assert linked(noisy[:1]) < 0.5 * linked(noisy)
    made = shoal.protect(TABLE, plan(trees(), COPIES) | {"output": {"copies": COPIES, **order}}, seed=1)
    assert max(linked([copy.data for copy in made.copies[:count]]) for count in (1, COPIES)) < 0.03
