"""Rules on the order of cells in linked tables."""

import numpy as np
import pytest

from shoal.table.links import Key, Links
from shoal.table.order_rules import OrderRule, OrderRules, TableColumn, succession

KEYS = {
    "patients": Key(key="patient"),
    "stays": Key(key="stay", parent="patients", link="patient"),
    "labs": Key(parent="stays", link="stay"),
    "visits": Key(parent="patients", link="patient"),
}
COLUMNS = {
    "patients": ("born", "died"),
    "stays": ("ward", "discharge", "admission"),
    "labs": ("value", "taken"),
    "visits": ("day",),
}


def rule(text: str) -> OrderRule:
    low, high = (TableColumn(*cell.split(".")) for cell in text.split(" <= "))
    return OrderRule(low, high)


def rules(*given: str, order: dict[str, tuple[str, ...]] | None = None) -> OrderRules:
    return OrderRules(keys=KEYS, order=order or {}, given=tuple(map(rule, given)))


def test_what_is_drawn_after_the_rows_below() -> None:
    """The death comes after the stays, and a discharge after the values; so does what these bound in the same row."""
    order = rules("stays.discharge <= patients.died", "labs.taken <= stays.discharge", "stays.admission <= labs.taken")
    assert order.late == {TableColumn("patients", "died"), TableColumn("stays", "discharge")}
    assert not list(order.faults(COLUMNS))
    further = rules("visits.day <= patients.born", "patients.born <= patients.died")
    assert further.late == {TableColumn("patients", "born"), TableColumn("patients", "died")}


def test_columns_in_turn() -> None:
    order = rules(order={"stays": ("admission", "discharge")})
    assert order.rules == (rule("stays.admission <= stays.discharge"),)
    assert not list(order.faults(COLUMNS)), "cells of one row may be compared"
    assert order.in_turn("stays", COLUMNS["stays"]) == ["admission", "ward", "discharge"]
    assert order.in_turn("patients", COLUMNS["patients"]) == ["born", "died"]


@pytest.mark.parametrize(
    ("given", "order", "sentence"),
    [
        (("rooms.day <= stays.admission",), {}, "there is no table 'rooms'"),
        (("stays.day <= stays.admission",), {}, "has no such column that is made up; it has 'ward'"),
        ((), {"stays": ("day",)}, "'stays.day': the table has no such column"),
        (("labs.taken <= visits.day",), {}, "none of the two tables hangs on the other"),
        (("stays.admission <= stays.discharge", "stays.discharge <= stays.admission"), {}, "in a circle through"),
        (("stays.discharge <= patients.died", "patients.died <= visits.day"), {}, "both before the rows below it and"),
        (("labs.taken <= stays.admission",), {"stays": ("admission",)}, "'stays.admission' is in order"),
        ((), {"patients": ("born",)}, "'patients' has one row a person"),
    ],
)
def test_what_cannot_be_made_up(given: tuple[str, ...], order: dict[str, tuple[str, ...]], sentence: str) -> None:
    assert any(sentence in fault for fault in rules(*given, order=order).faults(COLUMNS))


def test_rows_in_succession_against_sorting_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    start, end, above = (
        rng.integers(0, 5, 60).astype(float),
        rng.integers(0, 3, 60).astype(float),
        rng.integers(0, 8, 60),
    )
    place, previous = succession([start, end], above)
    for one in range(8):
        own = sorted(np.flatnonzero(above == one), key=lambda row: (start[row], end[row], row))
        assert [place[row] for row in own] == list(range(len(own)))
        assert [previous[row] for row in own] == [*own[:1], *own[:-1]]


def test_broken_rules_by_hand() -> None:
    """Ann died on day 5 with a stay until 6; Bob's second stay begins before the first one ends."""
    links = Links(
        keys={name: KEYS[name] for name in ("patients", "stays")},
        sizes={"patients": 2, "stays": 4},
        above={"stays": np.array([0, 1, 1, 0])},
    )
    order = OrderRules(
        keys=links.keys,
        order={"stays": ("admission", "discharge")},
        given=(OrderRule(TableColumn("stays", "discharge"), TableColumn("patients", "died")),),
    )
    values = {
        TableColumn("patients", "died"): np.array([5.0, np.nan]),
        TableColumn("stays", "admission"): np.array([4.0, 3.0, 1.0, 1.0]),
        TableColumn("stays", "discharge"): np.array([6.0, 9.0, 4.0, 0.0]),
    }
    wrong = {text: np.flatnonzero(rows).tolist() for text, rows in order.broken(values, links)}
    assert wrong == {
        "stays.admission <= stays.discharge": [3],
        "stays.discharge <= patients.died": [0],
        "stays.admission not before the last stays.discharge": [1],
    }
