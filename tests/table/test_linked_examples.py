"""Linked example tables: keys that link, stays in order, and the same tables again."""

import polars as pl
import pytest

import shoal
from shoal.plan.linked_guess import guess_links
from shoal.table.links import Key
from shoal.vocabulary.errors import ParameterError


def test_patients_come_again_and_everything_is_in_order() -> None:
    tables = shoal.example_tables(n=400, seed=1)
    patients, stays, labs = tables.values()
    assert list(tables) == ["patients", "stays", "labs"]
    assert len(patients) == 400 < len(stays) < len(labs)
    assert {name: guessed.key for name, guessed in guess_links(tables).tables.items()} == {
        "patients": Key(key="patient"),
        "stays": Key(key="stay", parent="patients", link="patient"),
        "labs": Key(parent="stays", link="stay"),
    }
    ordered = stays.sort("patient", "admission")
    next_one = ordered.select(pl.col("admission").shift(-1).over("patient"))["admission"]
    assert (ordered["discharge"] < next_one).all(), "stays do not overlap"
    during = labs.join(stays, on="stay")
    assert ((during["admission"] <= during["taken"]) & (during["taken"] < during["discharge"])).all()
    dead = patients.filter(pl.col("died").is_not_null())
    assert 5 < len(dead) < 40
    assert (dead.join(stays, on="patient").select(pl.col("discharge") <= pl.col("died"))["discharge"]).all()
    assert patients["household"].n_unique() < 300
    areas = patients.group_by("household").agg(pl.col("area").n_unique())["area"]
    assert areas.max() == 1, "a household lives in one area"


def test_the_same_seed_gives_the_same_tables() -> None:
    first, again = (shoal.example_tables(n=20, seed=3) for _ in range(2))
    assert all(first[name].equals(again[name]) for name in first)
    assert not first["stays"].equals(shoal.example_tables(n=20, seed=4)["stays"])
    with pytest.raises(ParameterError, match="n must be an integer of 1 or more; got 0"):
        shoal.example_tables(n=0)
