"""Rules over rows counted by hand: dictionaries and loops over the cells of files, nothing of the package.

Tables are lists of rows, persons (`p`: id, total, died), stays (`s`: id, p, ward, start, end) and items (`i`: s, cost).
Cells are numbers or None.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def _below(rows: Sequence[Row], link: str, key: Any) -> list[Row]:
    return [row for row in rows if row[link] == key]


def _stays(tables: Tables, person: Row) -> list[Row]:
    return _below(tables["s"], "p", person["id"])


def _items(tables: Tables, person: Row) -> list[Row]:
    return [item for stay in _stays(tables, person) for item in _below(tables["i"], "s", stay["id"])]


def _missing(*cells: Any) -> bool:
    return any(cell is None for cell in cells)


def sums(tables: Tables) -> int:
    """sum(i.cost) == p.total"""
    broken = 0
    for person in tables["p"]:
        costs = [item["cost"] for item in _items(tables, person)]
        if not _missing(person["total"], *costs):
            broken += round(sum(costs) * 10) != round(person["total"] * 10)
    return broken


def dead(tables: Tables) -> int:
    """s.end <= p.died"""
    broken = 0
    for stay in tables["s"]:
        (person,) = (person for person in tables["p"] if person["id"] == stay["p"])
        broken += not _missing(stay["end"], person["died"]) and stay["end"] > person["died"]
    return broken


def kinds(tables: Tables) -> int:
    """repeats(s.ward) == 0"""
    broken = 0
    for person in tables["p"]:
        wards = [stay["ward"] for stay in _stays(tables, person)]
        broken += not _missing(*wards) and len(set(wards)) < len(wards)
    return broken


def in_order(tables: Tables) -> int:
    """previous(s.end by s.start) <= s.start"""
    broken = 0
    for person in tables["p"]:
        stays = _stays(tables, person)
        if _missing(*(stay["start"] for stay in stays)):
            continue
        last = float("inf")
        stays = sorted(stays, key=lambda s: (s["start"], last if s["end"] is None else s["end"]))
        for before, after in zip(stays, stays[1:]):
            broken += before["end"] is not None and before["end"] > after["start"]
    return broken


def few(tables: Tables) -> int:
    """count(i per s where i.cost >= 1) <= 1"""
    broken = 0
    for stay in tables["s"]:
        costs = [item["cost"] for item in _below(tables["i"], "s", stay["id"])]
        broken += not _missing(*costs) and sum(cost >= 1 for cost in costs) > 1
    return broken


def largest(tables: Tables) -> int:
    """s.ward == 'a' -> max(i.cost) <= 2"""
    broken = 0
    for stay in tables["s"]:
        costs = [item["cost"] for item in _below(tables["i"], "s", stay["id"])]
        if stay["ward"] == "a" and costs and not _missing(*costs):
            broken += max(costs) > 2
    return broken


RULES: dict[str, Callable[[Tables], int]] = {
    "sum(i.cost) == p.total": sums,
    "s.end <= p.died": dead,
    "repeats(s.ward) == 0": kinds,
    "previous(s.end by s.start) <= s.start": in_order,
    "count(i per s where i.cost >= 1) <= 1": few,
    "s.ward == 'a' -> max(i.cost) <= 2": largest,
}
"""The rules, and the number of rows, or persons, that break each."""
