"""Loss of persons whose records are made alike, beside full-domain generalisation of the join.

    python bench/profiles.py [--data FOLDER] [--sets NAME ...] [--k 2 3 5 10] [--figure FILE.svg]

Four sets: the invented hospital (patients, stays, laboratory values), and where --data has their files, eusilcP
(households and their members; `eusilcP.csv`, written by R from the data of simPop), Synthea (patients, conditions,
medications; `patients.csv`, `conditions.csv`, `medications.csv`) and Berka (accounts, orders, loans, cards; `*.asc`).

All promise the same: whoever knows all rows of a person is left with k. `profiles` is the product's step, which leaves
nobody out. `full domain` gives each column of the join one level for the whole release, and leaves out the persons who
then stand among fewer than k, however many, where that loses least. `rows cut` is the same and may keep the first rows
of each person alone, so many for all. Both go downhill over their combinations of levels, and of numbers of rows, from
several sides. All lose, on average over the columns of all tables and one more a table for the row itself: (u - 1) /
(v - 1) for a label of u of v leaves, the width of the interval over that of the column for a number (for a mean, that
of the numbers that it is the mean of), and 1 for a cell of a row that is gone.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import vl_convert

import shoal
from shoal.judges.joined import Joined
from shoal.plan.linked import LinkedPlan
from shoal.run.linked import carry_out_linked
from shoal.table.examples import DIAGNOSES, REGIONS
from shoal.table.links import Links, root_of
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable

NUMBER = {"role": "quasi-identifier", "level": "continuous"}
WIDTHS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
"""Widths of intervals, as shares of a column's range."""

MOST_ROWS = (0, 1, 2, 3, 5, 8, 12)
"""Numbers of rows of a table that everybody keeps at most where rows are cut; beside all."""


@dataclass(frozen=True)
class Case:
    """A set of linked tables, and what is known of their columns."""

    name: str
    tables: Mapping[str, pl.DataFrame]
    keys: Mapping[str, Mapping[str, str]]
    known: Mapping[str, Mapping[str, Any]]

    def plan(self, k: int) -> dict[str, Any]:
        """Profiles made alike, and k required of everybody."""
        described = {}
        for name, table in self.tables.items():
            keys = self._keys_of(name, table)
            others = [column for column in table.columns if column not in keys and column not in self.known[name]]
            columns = {**self.known[name], **dict.fromkeys(others, "identifier")}
            described[name] = {**self.keys[name], "columns": columns}
        required = {"privacy": "k-anonymity", "k": k}
        return {"tables": described, "steps": [{"mask": "profiles", "k": k}], "requirements": [required]}

    def _keys_of(self, name: str, table: pl.DataFrame) -> set[str]:
        """The columns of a table that hold keys."""
        own = self.keys[name]
        upper = self.keys[own["parent"]]["key"] if "parent" in own else None
        return {own.get("key", ""), own.get("link", upper or "")} & set(table.columns)


def nominal(cells: pl.Series, tree: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A column of categories, under a tree, or under nothing but the root."""
    flat = [[label, "*"] for label in sorted(set(cells.cast(pl.String).to_list()))]
    return {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"nested": tree} if tree else {"paths": flat}}


def hospital(data: Path | None) -> Case:
    tables = shoal.example_tables(n=1000)
    known = {
        "patients": {
            "sex": nominal(tables["patients"]["sex"]),
            "area": nominal(tables["patients"]["area"], REGIONS),
            "born": NUMBER,
        },
        "stays": {"admission": NUMBER, "diagnosis": nominal(tables["stays"]["diagnosis"], DIAGNOSES)},
        "labs": {"test": nominal(tables["labs"]["test"])},
    }
    keys = {"patients": {"key": "patient"}, "stays": {"key": "stay", "parent": "patients"}, "labs": {"parent": "stays"}}
    return Case("hospital", tables, keys, known)


def eusilc(data: Path) -> Case:
    frame = pl.read_csv(data / "eusilcP.csv", infer_schema_length=None, null_values="NA")
    frame = frame.select("hid", "region", "age", "gender", pl.col("citizenship").fill_null("none"))
    homes, members = (
        frame.unique("hid", keep="first", maintain_order=True).select("hid", "region"),
        frame.drop("region"),
    )
    parts = {
        "east": ["Burgenland", "Lower Austria", "Vienna"],
        "south": ["Carinthia", "Styria"],
        "west": ["Upper Austria", "Salzburg", "Tyrol", "Vorarlberg"],
    }
    known = {
        "homes": {"region": nominal(homes["region"], parts)},
        "members": {
            "age": NUMBER,
            "gender": nominal(members["gender"]),
            "citizenship": nominal(members["citizenship"]),
        },
    }
    return Case(
        "eusilcP",
        {"homes": homes, "members": members},
        {"homes": {"key": "hid"}, "members": {"parent": "homes"}},
        known,
    )


def synthea(data: Path) -> Case:
    people = pl.read_csv(data / "patients.csv", infer_schema=False).rename(str.lower)
    people = people.select("id", "gender", "race", born=pl.col("birthdate").str.slice(0, 4).cast(pl.Int64))
    tables, known = (
        {"patients": people},
        {"patients": {"born": NUMBER, "gender": nominal(people["gender"]), "race": nominal(people["race"])}},
    )
    for name in ("conditions", "medications"):
        rows = pl.read_csv(data / f"{name}.csv", infer_schema=False).rename(str.lower)
        year = pl.col("start").str.slice(0, 4).cast(pl.Int64)
        tables[name] = rows.select(id=pl.col("patient"), year=year, code=pl.col("description"))
        known[name] = {"year": NUMBER, "code": nominal(tables[name]["code"])}
    keys = {"patients": {"key": "id"}, "conditions": {"parent": "patients"}, "medications": {"parent": "patients"}}
    return Case("Synthea", tables, keys, known)


def berka(data: Path) -> Case:
    def read(name: str) -> pl.DataFrame:
        return pl.read_csv(data / f"{name}.asc", separator=";", infer_schema_length=None)

    owners = read("disp").filter(pl.col("type") == "OWNER").join(read("client"), on="client_id")
    month = pl.col("birth_number").cast(pl.Int64) // 100 % 100
    owners = owners.select(
        "account_id",
        born=pl.col("birth_number").cast(pl.Int64) // 10_000,
        sex=pl.when(month > 50).then(pl.lit("f")).otherwise(pl.lit("m")),
    )
    place = read("district").select(district_id="A1", region="A3")
    accounts = read("account").join(place, on="district_id").join(owners, on="account_id")
    accounts = accounts.select("account_id", "district_id", "frequency", "born", "sex", opened=pl.col("date") // 10_000)
    tree = {name: [str(i) for i in ids] for name, ids in place.group_by("region", maintain_order=True).all().rows()}
    orders = read("order").select("account_id", "bank_to", "k_symbol", "amount")
    loans = read("loan").select("account_id", "amount", "duration", "status", year=pl.col("date") // 10_000)
    cards = read("card").join(read("disp").select("disp_id", "account_id"), on="disp_id")
    cards = cards.select("account_id", "type", year=pl.col("issued").str.slice(0, 2).cast(pl.Int64))
    tables = {"accounts": accounts, "orders": orders, "loans": loans, "cards": cards}
    known = {
        "accounts": {
            "district_id": nominal(accounts["district_id"], tree),
            **{name: nominal(accounts[name]) for name in ("frequency", "sex")},
            **dict.fromkeys(("born", "opened"), NUMBER),
        },
        "orders": {**{name: nominal(orders[name]) for name in ("bank_to", "k_symbol")}, "amount": NUMBER},
        "loans": {"status": nominal(loans["status"]), **dict.fromkeys(("amount", "duration", "year"), NUMBER)},
        "cards": {"type": nominal(cards["type"]), "year": NUMBER},
    }
    keys = {
        "accounts": {"key": "account_id"},
        **{name: {"parent": "accounts"} for name in ("orders", "loans", "cards")},
    }
    return Case("Berka", tables, keys, known)


CASES: Mapping[str, Callable[[Any], Case]] = {
    "hospital": hospital,
    "eusilcP": eusilc,
    "Synthea": synthea,
    "Berka": berka,
}


class Column:
    """One column as the baseline sees it: a code at each level, and what a cell loses there."""

    def __init__(self, variable: Variable) -> None:
        if variable.hierarchy is None:
            values = variable.values
            low, span = np.nanmin(values), float(np.ptp(values[~np.isnan(values)])) or 1.0
            whole = np.unique(values, return_inverse=True)[1]
            share = np.nan_to_num((values - low) / span, nan=-1)
            self.codes = [
                whole,
                *(np.minimum(share // width, np.ceil(1 / width) - 1).astype(np.int64) for width in WIDTHS),
            ]
            self.losses = [np.zeros(len(values)), *(np.full(len(values), width) for width in WIDTHS)]
        else:
            tree, labels = variable.hierarchy, [str(category) for category in variable.categories]
            leaf = tree.codes(labels)[variable.values]
            losses = tree.losses()
            self.codes = [tree.level_codes(level)[0][leaf].astype(np.int64) for level in range(tree.height + 1)]
            self.losses = [losses[level][leaf] for level in range(tree.height + 1)]


class Baseline:
    """Full-domain generalisation of the join, with persons left out, and rows kept up to some numbers."""

    def __init__(self, records: Mapping[str, Records], links: Links, most_rows: tuple[int, ...] = ()) -> None:
        self.links = links
        self.columns = {name: [Column(table[c]) for c in table.quasi_identifiers] for name, table in records.items()}
        self.root = root_of(links.keys)
        self.people = links.sizes[self.root]
        self.axes = [(name, place) for name in links.keys for place in range(len(self.columns[name]))]
        self.lower = [name for name in links.keys if name != self.root]
        self.place = {name: _places(links.above[name]) for name in self.lower}
        all_rows = {name: int(self.place[name].max(initial=-1)) + 1 for name in self.lower}
        self.most = {name: [most, *(m for m in reversed(most_rows) if m < most)] for name, most in all_rows.items()}
        levels = [len(self.columns[name][place].codes) for name, place in self.axes]
        self.shape = (*levels, *(len(self.most[name]) for name in self.lower))

    def best(self, k: int) -> float:
        """The least loss of those looked at."""
        top = tuple(size - 1 for size in self.shape)
        starts = [top, *((*top[:axis], 0, *top[axis + 1 :]) for axis in range(len(top)))]
        seen: dict[tuple[int, ...], float] = {}
        return min(self._downhill(start, k, seen) for start in starts)

    def _downhill(self, node: tuple[int, ...], k: int, seen: dict[tuple[int, ...], float]) -> float:
        loss = self._loss_at(node, k, seen)
        while True:
            steps = [_moved(node, axis, by) for axis in range(len(node)) for by in (-1, 1)]
            inside = [step for step in steps if all(0 <= level < size for level, size in zip(step, self.shape))]
            losses = [self._loss_at(step, k, seen) for step in inside]
            if not losses or min(losses) >= loss:
                return loss
            loss, node = min(zip(losses, inside))

    def _loss_at(self, node: tuple[int, ...], k: int, seen: dict[tuple[int, ...], float]) -> float:
        if node not in seen:
            kinds = self._kinds(node)
            seen[node] = self.loss(node, np.bincount(kinds)[kinds] < k)
        return seen[node]

    def _kept(self, node: tuple[int, ...]) -> dict[str, Any]:
        kept = {self.root: np.ones(self.people, dtype=bool)}
        for name, level in zip(self.lower, node[len(self.axes) :]):
            upper = str(self.links.keys[name].parent)
            kept[name] = (self.place[name] < self.most[name][level]) & kept[upper][self.links.above[name]]
        return kept

    def _kinds(self, node: tuple[int, ...]) -> Any:
        """Shape (u,); equal numbers for persons who are alike in all that is left of their rows."""
        kept, records = self._kept(node), {}
        for name in self.links.keys:
            rows = np.flatnonzero(kept[name])
            levels = [level for (table, _), level in zip(self.axes, node) if table == name]
            variables = []
            for number, (column, level) in enumerate(zip(self.columns[name], levels)):
                codes = np.unique(column.codes[level], return_inverse=True)[1].astype(np.int32)
                labels = tuple(range(int(codes.max(initial=0)) + 1))
                variables.append(
                    Variable(
                        name=str(number),
                        role="quasi-identifier",
                        level="nominal",
                        values=codes[rows],
                        categories=labels,
                    )
                )
            records[name] = Records(variables=tuple(variables), rows=rows)
        left = self.links.taken({name: table.rows for name, table in records.items()})
        return Joined.of(records, left).branches(None)[self.root]

    def loss(self, node: tuple[int, ...], dropped: Any) -> float:
        kept, losses = self._kept(node), []
        for name in self.links.keys:
            there = kept[name] & ~dropped[self.links.persons[name]]
            losses.append(1 - there.mean())
            levels = [level for (table, _), level in zip(self.axes, node) if table == name]
            losses += [
                np.where(there, column.losses[level], 1).mean() for column, level in zip(self.columns[name], levels)
            ]
        return float(np.mean(losses))


def _places(above: Any) -> Any:
    """Shape (n,); place of each row among those that hang on the same one."""
    by = np.argsort(above, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(above))])
    places = np.empty(len(above), dtype=np.int64)
    places[by] = np.arange(len(above)) - starts[above[by]]
    return places


def _moved(node: tuple[int, ...], axis: int, by: int) -> tuple[int, ...]:
    return (*node[:axis], node[axis] + by, *node[axis + 1 :])


def loss_of_profiles(done: Any, records: Mapping[str, Records]) -> float:
    """The loss of a plan that was carried out, were a mean released as the interval of its numbers."""
    losses: list[float] = []
    for name, outcome in done.tables.items():
        before, rows = records[name], outcome.released.rows
        part = outcome.course.results[-1].grouping.among(rows)
        losses.append(1 - len(rows) / len(before))
        for column in before.quasi_identifiers:
            own = before[column].take(rows)
            cells = (
                _range(own, before[column], part)
                if own.hierarchy is None
                else _ancestors(own, outcome.released[column])
            )
            losses.append(1 - (1 - cells).sum() / len(before))
    return float(np.mean(losses))


def _range(own: Variable, whole: Variable, part: Partition) -> Any:
    least, most = np.full(part.n_groups, np.inf), np.full(part.n_groups, -np.inf)
    np.minimum.at(least, part.labels, own.values)
    np.maximum.at(most, part.labels, own.values)
    return (np.nan_to_num(most - least, nan=np.inf) / (np.nanmax(whole.values) - np.nanmin(whole.values))).clip(0, 1)[
        part.labels
    ]


def _ancestors(own: Variable, released: Variable) -> Any:
    tree = own.hierarchy
    assert tree is not None
    under = {label: len(leaves) for label, leaves in tree.nodes().items()}
    lost = np.array([(under[str(label)] - 1) / max(len(tree.paths) - 1, 1) for label in released.categories])
    return lost[released.values]


def frontier(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The losses over k, a panel a set."""
    encoding = {
        "x": {"field": "k", "type": "ordinal", "title": "k", "axis": {"labelAngle": 0}},
        "y": {"field": "loss", "type": "quantitative", "title": "loss", "scale": {"domain": [0, 1]}},
        "color": {"field": "method", "type": "nominal", "title": None},
    }
    return {
        "data": {"values": points},
        "facet": {"field": "set", "type": "nominal", "title": None},
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "config": {"axis": {"gridColor": "#eee"}, "font": "sans-serif"},
        "columns": 2,
        "spec": {"width": 230, "height": 150, "mark": {"type": "line", "point": True}, "encoding": encoding},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=CASES, default=["hospital"])
    parser.add_argument("--k", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    points = []
    for name in asked.sets:
        case = CASES[name](asked.data)
        sizes = ", ".join(f"{len(table):,} {kind}" for kind, table in case.tables.items())
        print(f"{case.name}: {sizes}")
        for k in asked.k:
            began = time.process_time()
            plan = LinkedPlan.of(case.plan(k))
            done = carry_out_linked(case.tables, plan, 1, lambda stage, fraction: None)
            assert all(over.verdict.holds for over in done.over_tables)
            records = {name: outcome.before for name, outcome in done.tables.items()}
            loss, spent = loss_of_profiles(done, records), time.process_time() - began
            links = done.original_links
            whole, cut = Baseline(records, links).best(k), Baseline(records, links, MOST_ROWS).best(k)
            print(
                f"  k = {k:>2}  profiles {loss:.3f} ({spent:.1f} s)  "
                f"full domain {whole:.3f} ({loss / whole:.2f} of it)  "
                f"rows cut {cut:.3f} ({loss / cut:.2f} of it)",
                flush=True,
            )
            losses = {"profiles": loss, "full domain": whole, "full domain, rows cut": cut}
            points += [{"set": case.name, "k": k, "method": name, "loss": lost} for name, lost in losses.items()]
    if asked.figure is not None:
        asked.figure.write_text(vl_convert.vegalite_to_svg(json.dumps(frontier(points))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
