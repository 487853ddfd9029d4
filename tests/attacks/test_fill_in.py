"""An attacker who fills in what a released file leaves open, by every way there is, finds no one among fewer than k.

Nothing here shares code with shoal: the attacker reads the file as text and knows the plan's rules and hierarchies. A
cell is what its value may be: one value, the leaves of a label, or anything. Then, again and again until nothing more
comes of it:

- members of a household share a column if no two of them contradict each other anywhere and some household has two
  known cells;
- any other column determines one, or the level of its hierarchy, if no two records contradict that and so few
  exceptions by chance would be less likely than one in a million;
- of `net + tax == gross` the third follows from two, and `stay` is none where `care` is 'day'.
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.vocabulary.errors import Refused

TOWNS = {
    "north": {"ostland": ["oa", "ob"], "westland": ["wa", "wb"]},
    "south": {"hill": ["ha", "hb"], "dale": ["da", "db"]},
}
PATHS = [(leaf, *((mid, top, "*"))) for top, mids in TOWNS.items() for mid, leaves in mids.items() for leaf in leaves]
RULES = ["net + tax == gross", "care == 'day' -> stay == 'none'"]
TRIALS = by_night(4, 8)
Row = dict[str, Any]


def people(rng: np.random.Generator) -> pl.DataFrame:
    """Households with a town; net, tax and gross; how one was cared for."""
    sizes = rng.integers(1, 4, int(rng.integers(40, 80)))
    home = np.repeat(np.arange(len(sizes)), sizes)
    n = len(home)
    town = np.array([path[0] for path in PATHS])[rng.integers(0, len(PATHS), len(sizes))][home]
    net, tax = rng.integers(1, 4, n) * 10, rng.integers(0, 3, n) * 5
    care = rng.choice(["day", "bed"], n)
    return pl.DataFrame(
        {
            "home": home,
            "town": town,
            "province": [next(path[1] for path in PATHS if path[0] == t) for t in town],
            "sex": rng.choice(["f", "m"], n),
            "net": net,
            "tax": tax,
            "gross": net + tax,
            "care": care,
            "stay": np.where(care == "day", "none", rng.choice(["short", "long"], n)),
        }
    )


def plan(rng: np.random.Generator, missing: str) -> dict[str, Any]:
    """Some quasi-identifiers, the others known to nobody but in the file; up to three steps; k by one reading."""
    key = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}
    town = {**key, "hierarchy": {"nested": TOWNS}}
    chosen = set(rng.choice(["sex", "care", "stay", "province"], int(rng.integers(1, 3))).tolist())
    chosen |= {str(rng.choice(["net", "tax", "gross"]))} if rng.random() < 0.3 else set()
    columns: dict[str, Any] = {"home": str(rng.choice(["household", "household", "other"]))}
    for name in ("town", "province", "sex", "net", "tax", "gross", "care", "stay"):
        columns[name] = town if name == "town" else key if name in chosen else "other"
    for name in ("net", "tax", "gross"):
        if isinstance(columns[name], dict):
            columns[name] = {"role": "quasi-identifier", "missing": "keep", "decimals": 0}
    keys = [name for name, column in columns.items() if isinstance(column, dict)]
    k = int(rng.integers(2, 4))
    categories = [name for name in keys if name not in ("net", "tax", "gross")]
    suppress = {"mask": "suppress", "k": k, "missing": missing, "columns": keys}
    generalise = {"mask": "generalise", "k": k, "recoding": "local", "suppression": 0.3, "columns": ["town"]}
    rare = {"mask": "recode", "rare": 8, "columns": [name for name in categories if name != "town"]}
    steps = [[suppress], [generalise, suppress], [rare, suppress], [generalise], [rare, generalise, suppress]]
    return {
        "columns": columns,
        "steps": [step for step in steps[int(rng.integers(0, len(steps)))] if step["columns"]],
        "constraints": RULES,
        "requirements": [{"privacy": "k-anonymity", "k": k, "missing": missing}],
        "accept": [name for name, column in columns.items() if column == "other"],
        "output": {"format": "csv"},
    }


def cells_of(path: Path, columns: dict[str, Any]) -> list[Row]:
    """The cells as sets of what they may be; None for anything."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for towns in PATHS:
        for label in towns:
            nodes[label].add(towns[0])
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[Row] = list(csv.DictReader(file))
    for row in rows:
        for name, cell in row.items():
            number = name in ("net", "tax", "gross")
            row[name] = (
                None
                if cell == ""
                else frozenset(
                    [Decimal(cell)] if number else set().union(*(nodes.get(part, {part}) for part in cell.split(" | ")))
                )
            )
    return rows


def single(cell: Any) -> bool:
    return cell is not None and len(cell) == 1


def unlikely(pairs: list[tuple[Any, Any]]) -> bool:
    """Whether equal causes would have equal effects less than once in a million times, were effects drawn anew."""
    counts = Counter(effect for _, effect in pairs)
    shares = [count / len(pairs) for count in counts.values()]
    chance = sum(math.log(sum(p**m for p in shares)) for m in Counter(cause for cause, _ in pairs).values())
    return chance < math.log(1e-6)


def law(rows: list[Row], by: str, on: str, unit: bool) -> dict[Any, frozenset[Any]]:
    """For each cell of one column what another may be at most, if the one determines the other."""
    known = [(row[by], row[on]) for row in rows if single(row[by]) and row[on] is not None]
    common: dict[Any, frozenset[Any]] = {}
    for cause, effect in known:
        common[cause] = common.get(cause, effect) & effect
    if not known or not all(common.values()):
        return {}
    if unit:
        return common if max(Counter(cause for cause, _ in known).values()) > 1 else {}
    pairs = [(cause, effect) for cause, effect in known if len(effect) == 1]
    return common if pairs and unlikely(pairs) else {}


def given(rows: list[Row], by: str, on: str, unit: bool) -> dict[Any, frozenset[Any]]:
    """For each cell of one column that of another, if all records agree on it: what fills a missing cell in."""
    known = [(row[by], row[on]) for row in rows if single(row[by]) and row[on] is not None]
    cell = dict(known)
    if not known or any(cell[cause] != effect for cause, effect in known):
        return {}
    agreed = max(Counter(cause for cause, _ in known).values()) > 1 if unit else unlikely(known)
    return cell if agreed else {}


def levels(rows: list[Row], by: str, unit: bool) -> Iterator[dict[Any, frozenset[Any]]]:
    """For each level above the towns the node that a cell of one column determines, where it does."""
    for level in (1, 2):
        nodes = [frozenset(p[0] for p in PATHS if p[level] == label) for label in {p[level] for p in PATHS}]
        pairs = [
            (row[by], node) for row in rows for node in nodes if single(row[by]) and row["town"] and row["town"] <= node
        ]
        node_of = dict(pairs)
        if not pairs or any(node_of[cause] != node for cause, node in pairs):
            continue
        if max(Counter(cause for cause, _ in pairs).values()) > 1 if unit else unlikely(pairs):
            yield node_of


def narrow(rows: list[Row], by: str, on: str, bounds: dict[Any, frozenset[Any]]) -> int:
    """Known cells narrowed down."""
    changed = 0
    for row in rows:
        left = row[on] & bounds[row[by]] if row[on] is not None and row[by] in bounds else None
        if left and left != row[on]:
            row[on], changed = left, changed + 1
    return changed


def fill(rows: list[Row], by: str, on: str, cells: dict[Any, frozenset[Any]]) -> int:
    """Missing cells filled in."""
    changed = [row for row in rows if row[on] is None and row[by] in cells]
    for row in changed:
        row[on] = cells[row[by]]
    return len(changed)


def by_rules(row: Row) -> int:
    """The one missing term of a sum, and what a condition that is met demands."""
    changed = 0
    missing = [name for name in ("net", "tax", "gross") if row[name] is None]
    if len(missing) == 1:
        value = {name: next(iter(row[name])) for name in ("net", "tax", "gross") if row[name] is not None}
        if missing == ["gross"]:
            row["gross"] = frozenset([value["net"] + value["tax"]])
        else:
            other = {"net": "tax", "tax": "net"}[missing[0]]
            row[missing[0]] = frozenset([value["gross"] - value[other]])
        changed += 1
    if row["care"] == frozenset(["day"]) and row["stay"] is None:
        row["stay"], changed = frozenset(["none"]), changed + 1
    return changed


def fill_in(rows: list[Row], household: bool) -> int:
    """Everything, until nothing more comes of it; how many cells changed."""
    total = 0
    while True:
        changed = sum(by_rules(row) for row in rows)
        for on in rows[0]:
            for by in rows[0]:
                if by != on:
                    unit = by == "home" and household
                    changed += narrow(rows, by, on, law(rows, by, on, unit))
                    changed += fill(rows, by, on, given(rows, by, on, unit))
                    if on == "town":
                        changed += sum(narrow(rows, by, on, bounds) for bounds in levels(rows, by, unit))
        total += changed
        if not changed:
            return total


def smallest(rows: list[Row], keys: list[str], missing: str) -> int:
    """The fewest records that one of them may stand for."""
    table = [tuple(row[key] for key in keys) for row in rows]
    if missing == "equal":
        return min(Counter(table).values())

    def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return all(a == b or (a is None or b is None) for a, b in zip(one, other))

    def counts(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return all(a is None or a == b for a, b in zip(one, other)) and None not in other

    if missing == "wildcard":
        return min(sum(alike(one, other) for other in table) for one in table)
    return min(sum(counts(one, other) or one is other for other in table) for one in table)


def attack(path: Path, said: dict[str, Any]) -> tuple[int, int, int]:
    """How few records share what is written, and what can be filled in, and how many cells could be."""
    asked = said["requirements"][0]
    keys = [name for name, column in said["columns"].items() if isinstance(column, dict)]
    rows = cells_of(path, said["columns"])
    before = smallest(rows, keys, asked["missing"])
    changed = fill_in(rows, said["columns"]["home"] == "household")
    return before, smallest(rows, keys, asked["missing"]), changed


@pytest.mark.parametrize("missing", ["equal", "wildcard", "nothing"])
def test_k_holds_on_all_that_can_be_filled_in(missing: str, tmp_path: Path) -> None:
    released = 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([20261122, trial])
        table, said = people(rng), plan(rng, missing)
        try:
            release = shoal.protect(table, said, seed=1)
        except Refused:
            continue
        path = release.write(tmp_path / f"{trial}") / "release" / "data.csv"
        before, after, _ = attack(path, said)
        k = said["requirements"][0]["k"]
        assert before >= k
        assert after >= k, said
        released += 1
    assert released >= TRIALS // 4


KEY = {"role": "quasi-identifier", "missing": "keep"}
TOWN = {**KEY, "level": "nominal", "hierarchy": {"nested": TOWNS}}
NOBODY: dict[str, list[Any]] = {"net": [10], "tax": [5], "gross": [15], "care": ["bed"], "stay": ["long"]}
WAYS: dict[str, tuple[dict[str, list[Any]], dict[str, Any]]] = {
    "household": (
        {
            "home": [*[h for h in range(8) for _ in "fm"], 8, 9, 9],
            "town": [*["oa", None] * 5, *["wa", None] * 3, "wa", "wa", "wa"],
            "sex": [*["f", "m"] * 8, "f", "f", "f"],
        },
        {"town": TOWN, "sex": KEY},
    ),
    "rule": ({"net": [10, 20, 30, 40], "tax": [1, 2, 3, 4], "gross": [None] * 4}, {"gross": KEY}),
    "condition": ({"care": ["day", "bed"] * 3, "stay": [None] * 6}, {"stay": {**KEY, "level": "nominal"}}),
    "another column": (
        {
            "province": [*["p", "q", "r", "s"] * 15, "p", "q", "r", "s"],
            "town": [*["oa", "oa", "wb", "wb"] * 15, *[None] * 4],
            "sex": [*["f"] * 60, *["m"] * 4],
        },
        {"town": TOWN, "sex": KEY},
    ),
    "hierarchy": (
        {
            "home": [i // 2 for i in range(42)],
            "town": ["oa | wa", "ostland"] * 10 + ["oa | wa", "westland"] + ["wb", "westland"] * 10,
        },
        {"town": TOWN},
    ),
}
"""For each way to fill cells in a table whose classes are of 4 and more as it is written, and its quasi-identifiers."""


@pytest.mark.parametrize("way", WAYS)
def test_the_attacker_and_the_audit_know_every_way(way: str, tmp_path: Path) -> None:
    """What stands as it is written falls to the attacker; the audit says so before he comes."""
    columns, keys = WAYS[way]
    frame = pl.DataFrame(columns)
    n = len(frame)
    absent = {name: cells * n for name, cells in NOBODY.items() if name not in columns}
    absent |= {name: list(range(n)) for name in ("home",) if name not in columns}
    absent |= {name: ["oa"] * n for name in ("town",) if name not in columns}
    full = frame.with_columns(**{name: pl.Series(cells) for name, cells in absent.items()})
    path = tmp_path / "theirs.csv"
    full.write_csv(path)
    roles: dict[str, Any] = {**dict.fromkeys(full.columns, "other"), "home": "household", **keys}
    said = {"columns": roles, "requirements": [{"privacy": "k-anonymity", "k": 4, "missing": "equal"}]}
    before, after, changed = attack(path, said)
    assert before >= 4
    assert after < 4
    assert changed
    ruled = {**said, "constraints": RULES if way in ("rule", "condition") else []}
    assert not shoal.audit(path, ruled).verdicts[0].holds
    unaware = {name: TOWN["role"] if name == "town" and "town" in keys else role for name, role in roles.items()}
    blind = {**said, "columns": {**unaware, "home": "other"}}
    if way != "another column":  # which nobody can be told not to look at
        assert shoal.audit(path, blind).verdicts[0].holds
