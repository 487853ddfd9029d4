"""No fact moves by more than it says when one record of the table that came in is left out or is another.

A fact with a bounded influence is published as a band of that width, so the bound is a promise about privacy. Here
every mask is carried out on a table and on neighbours of it, with the same random numbers.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from by_night import by_night
from contract.test_methods import columns_of, ids, made
from shoal.mask.base import Mask
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.facts import ByColumn, Count, Fact, Figure, Nested, Share
from shoal.vocabulary.registry import registered

ROLES = {
    "age": "quasi-identifier",
    "size": "quasi-identifier",
    "sex": "quasi-identifier",
    "income": "confidential",
    "illness": {"role": "confidential", "hierarchy": {"nested": {"acute": ["a", "b"], "chronic": ["c", "d"]}}},
}

BOUNDED = [
    (shoal.TopCode(value=60.0), ["age"]),
    (shoal.BottomCode(value={"age": 25.0, "size": 1.0}, together=True, replace="mean"), ["age", "size"]),
    (shoal.SuppressRecords(k=3, limit=1.0), ["age"]),
    (shoal.SuppressRecords(k=4, limit=1.0), ["sex", "illness"]),
    (shoal.Sample(fraction=0.3), ["age"]),
    (shoal.DataSwap(share=0.4), ["sex"]),
    (shoal.Pseudonymise(), ["illness"]),
    (shoal.Recode(level=1), ["illness"]),
    (shoal.Round(base=5), ["age"]),
    (shoal.Recode(groups={"ab": ("a", "b")}), ["illness"]),
    (shoal.Pram(matrix={"sex": ((0.9, 0.1), (0.2, 0.8))}, invariant=False), ["sex"]),
]
"""Masks, in settings in which some of their facts are bounded."""

STATED = re.compile(r"influence=(?!None[,)]|0\b)")
"""An influence that a source states of a fact."""

HOMES = ROLES | {"home": "household", "region": "stratum", "town": "other"}
BOUNDED_OF_HOMES = [
    (shoal.Sample(fraction=0.3), ["age"]),
    (shoal.Sample(size=3), ["age"]),
    (shoal.TargetedSwap(share=0.2), ["region", "town"]),
    (shoal.Calibrate(), ["age"]),
]
"""Masks that count households, and draw by strata."""


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 28, n) + 40 * (rng.random(n) < 0.3),
            "size": np.round(rng.lognormal(1, 0.5, n), 1),
            "sex": ["f", "m", *rng.choice(["f", "m"], n)][:n],
            "income": np.round(rng.lognormal(3, 1, n), 0),
            "illness": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )


def with_homes(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same people in households of one to three in six towns of two regions."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, len(table) // 2, len(table)))
    town = rng.integers(0, 6, len(table))[home]
    return table.with_columns(home=home, town=town, region=town // 3)


def neighbours(table: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    """The table without a record, and with another in its place: one that occurs, or one like nobody."""
    rng = np.random.default_rng(seed)
    stranger = {"age": 99, "size": 250.0, "sex": "m", "income": 1e6, "illness": "d"}
    stranger |= {name: 9 for name in ("home", "town", "region") if name in table.columns}
    for row in rng.choice(len(table), min(len(table), by_night(3, 6)), replace=False).tolist():
        rows = table.to_dicts()
        without = rows[:row] + rows[row + 1 :]
        for other in (without, [*without[:row], rows[rng.integers(len(rows))], *without[row:]], [stranger, *without]):
            yield pl.DataFrame(other, schema=table.schema)


def bounded(facts: Mapping[str, Any], within: str = "") -> dict[str, Count | Share | Figure]:
    """The facts with a bounded influence, by all their labels."""
    shown: dict[str, Count | Share | Figure] = {}
    for label, fact in facts.items():
        if isinstance(fact, Nested | ByColumn):
            shown |= bounded(fact.facts if isinstance(fact, Nested) else fact.columns, f"{within}{label}: ")
        elif isinstance(fact, Count | Share | Figure) and fact.influence is not None:
            shown[within + label] = fact
    return shown


def facts_of(mask: Mask, columns: list[str], table: pl.DataFrame) -> Mapping[str, Fact] | None:
    """What a mask tells of a table; None where it refuses it."""
    roles = {name: role for name, role in HOMES.items() if name in table.columns}
    try:
        return mask.apply(Microdata.of(table, roles).records, columns, np.random.default_rng(5)).facts
    except ShoalError:
        return None


def check(mask: Mask, columns: list[str], table: pl.DataFrame, seed: int) -> int:
    """Compare a table with its neighbours; the number of comparisons made."""
    facts, compared = facts_of(mask, columns, table), 0
    for neighbour in neighbours(table, seed):
        others = facts_of(mask, columns, neighbour)
        if facts is None or others is None:
            continue
        there = bounded(others)
        assert bounded(facts).keys() == there.keys(), "whether a fact is bounded tells of the table too"
        for label, fact in bounded(facts).items():
            moved = abs(fact.private() - there[label].private())
            assert moved <= max(fact.influence, there[label].influence) + 1e-9, (label, moved)  # type: ignore[type-var]
            compared += 1
    return compared


@pytest.mark.parametrize(("mask", "columns"), BOUNDED, ids=[mask.method_name for mask, _ in BOUNDED])
@given(n=st.integers(8, 40), seed=st.integers(0, 10**6))
def test_a_record_moves_a_fact_by_its_influence_at_most(mask: Mask, columns: list[str], n: int, seed: int) -> None:
    check(mask, columns, people(n, seed), seed)


@pytest.mark.parametrize(("mask", "columns"), BOUNDED_OF_HOMES)
def test_nor_does_one_of_a_household(mask: Mask, columns: list[str]) -> None:
    compared = [check(mask, columns, with_homes(people(30, seed), seed), seed) for seed in range(6)]
    assert sum(compared) > 0


def test_every_mask_that_bounds_a_fact_is_among_those_tried() -> None:
    """Read off the source: a mask that states an influence shows a bounded fact in one of the settings above."""
    stating = {
        entry.name
        for entry in registered("mask")
        for cls in entry.cls.__mro__
        if cls.__module__.startswith("shoal.mask") and STATED.search(inspect.getsource(inspect.getmodule(cls)))
    }
    assert stating <= {mask.method_name for mask, _ in (*BOUNDED, *BOUNDED_OF_HOMES)}


@pytest.mark.parametrize(("mask", "columns"), BOUNDED, ids=[mask.method_name for mask, _ in BOUNDED])
def test_there_is_something_to_compare(mask: Mask, columns: list[str]) -> None:
    assert check(mask, columns, people(40, 1), 1)


@pytest.mark.parametrize("entry", registered("mask"), ids=ids)
def test_so_do_the_examples_of_all_masks(entry: Any) -> None:
    for seed in range(by_night(1, 3)):
        check(made(entry), columns_of(entry), people(30, seed), seed)


def test_a_bound_that_is_too_small_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    original = shoal.SuppressRecords.apply

    def boastful(self: Any, *arguments: Any, **named: Any) -> Any:
        change = original(self, *arguments, **named)
        return type(change)(
            records=change.records, facts={"dropped": Count(n=change.details["records dropped"], influence=1)}
        )

    monkeypatch.setattr(shoal.SuppressRecords, "apply", boastful)
    with pytest.raises(AssertionError, match="dropped"):
        for seed in range(20):
            check(shoal.SuppressRecords(k=5, limit=1.0), ["age"], people(30, seed), seed)


def test_one_record_may_carry_many_that_lack_cells() -> None:
    """Two complete records make thirty safe that match both: without one of them all go, so no band is narrow."""
    cells = [("f", "a")] * 2 + [("f", None)] * 30 + [("m", "b")] * 4
    table = pl.DataFrame(cells, schema=["sex", "illness"], orient="row")
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in table.columns}
    mask = shoal.SuppressRecords(k=2, limit=1.0, missing="nothing")
    rng = np.random.default_rng(5)
    whole, without = (
        mask.apply(Microdata.of(one, roles).records, ["sex", "illness"], rng) for one in (table, table[1:])
    )
    assert [len(result.records) for result in (whole, without)] == [36, 4]
    assert not bounded(whole.facts)
