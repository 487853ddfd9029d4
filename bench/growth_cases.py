"""What `bench/growth.py` measures: calls as plain values, from which a process of its own makes them again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from shoal.desk.protect import protect
from shoal.judges.table_pair import TablePair
from shoal.plan import Plan
from shoal.run.carry_out import carry_out
from shoal.table.group_models import Centres
from shoal.table.hierarchy import Hierarchy
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ShoalError
from shoal.vocabulary.registry import Entry, build

SIX = (2, 5, 8, 20, 40, 60)
"""Categories of six nominal columns, 135 together."""


def case(kind: str, name: str, n: int, numbers: int = 0, nominals: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    """A call: a method with its parameters on a table of so many records, numbers and nominal columns.

    `more`: `secret` (categories of the confidential column; 0: a number), `hierarchies`, and parameters of the method.
    """
    table = {"n": n, "numbers": numbers, "nominals": list(nominals)}
    table |= {key: more.pop(key) for key in ("secret", "hierarchies", "secrets", "others") if key in more}
    return {"kind": kind, "method": name, "parameters": more, "table": table}


def variables(
    n: int,
    numbers: int,
    nominals: list[int],
    secret: int = 0,
    secrets: int = 1,
    others: int = 0,
    hierarchies: bool = False,
    seed: int = 1,
    positive: bool = False,
    roles: Sequence[str] = (),
) -> list[Variable]:
    """Correlated numbers with two decimals, skewed nominal columns, and confidential ones that depend on the first.

    `roles`: of further columns, by which records belong together or count several times.
    """
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(numbers, numbers)) + 2 * np.eye(numbers)
    x = np.round(rng.normal(size=(n, numbers)) @ mixing, 2) if numbers else np.empty((n, 0))
    if positive:
        x = np.abs(x)
    out = [continuous(f"x{j}", x[:, j], "quasi-identifier") for j in range(numbers)]
    for j, m in enumerate(nominals):
        share = 1 / np.arange(1, m + 1) ** 0.5
        codes = rng.choice(m, n, p=share / share.sum())
        out.append(nominal(f"c{j}", codes, m, "quasi-identifier", hierarchies))
    lead = x[:, 0] if numbers else out[0].values.astype(np.float64)
    for j in range(secrets):
        drawn = lead / max(lead.std(), 1e-9) + rng.normal(size=n)
        name = f"s{j}"
        if secret:
            out.append(
                nominal(
                    name, np.digitize(drawn, np.quantile(drawn, np.arange(1, secret) / secret)), secret, "confidential"
                )
            )
        else:
            out.append(continuous(name, np.round(100 * drawn), "confidential"))
    out += [continuous(f"o{j}", rng.integers(0, 10, n), "other") for j in range(others)]
    return out + [
        continuous(role, 10.0 * np.ones(n) if role == "weight" else np.arange(n) // 4, role) for role in roles
    ]


def continuous(name: str, values: np.ndarray, role: Any) -> Variable:
    return Variable(name=name, role=role, level="continuous", values=np.ascontiguousarray(values, dtype=np.float64))


def nominal(name: str, codes: np.ndarray, m: int, role: Any, tree: bool = False) -> Variable:
    categories = tuple(f"{name}-{i:05d}" for i in range(m))
    hierarchy = Hierarchy.from_masking(categories) if tree else None
    values = codes.astype(np.int32)
    return Variable(name=name, role=role, level="nominal", categories=categories, values=values, hierarchy=hierarchy)


def released(records: Records) -> Records:
    """A table as it may be after masking: numbers averaged over ten neighbours, one category in ten drawn anew."""
    rng = np.random.default_rng(2)
    changed = []
    for v in records.variables:
        values = v.values.copy()
        if v.role == "quasi-identifier" and v.continuous:
            order = np.argsort(values, kind="stable")
            whole = len(values) // 10 * 10
            values[order[:whole]] = np.repeat(values[order[:whole]].reshape(-1, 10).mean(axis=1), 10)
        elif v.role == "quasi-identifier":
            values = np.where(rng.random(len(values)) < 0.1, rng.permutation(values), values)
        changed.append(replace(v, values=values))
    return replace(records, variables=tuple(changed))


@cache
def pair(table: str) -> tuple[Records, Records]:
    """An original and what became of it, from the arguments of `variables` as JSON."""
    records = Records.of(variables(**json.loads(table)))
    return records, released(records)


def call_of(given: dict[str, Any]) -> Callable[[], Any]:
    """The call that is measured; tables and methods are made before it."""
    kind, records = given["kind"], pair(json.dumps(given["table"]))[0]
    if kind == "account":
        return account_of(given["method"], records)
    name, table = given["method"], given["table"]
    further = FURTHER.get(name, {}).get("parameters") if given.get("further") else None
    method = build(kind, {kind: name, **given["parameters"], **(further(records, table) if further else {})})
    columns = records.quasi_identifiers[: 1 if name in OF_ONE_COLUMN else None]
    if kind == "partition":
        return lambda: method.partition(records, columns=columns, seed=1)
    if kind == "mask":
        return lambda: method.apply(records, columns, np.random.default_rng(1))
    if kind == "replace":
        partition = (
            drawn_groups(records) if name == "fuzzy-centre" else Partition(labels=np.zeros(len(records), np.int32))
        )
        return lambda: method.apply(records, columns, partition, np.random.default_rng(1))
    after = pair(json.dumps(table))[1]
    if name == "downcoding":
        after = build("mask", {"mask": "recode", "level": 1}).apply(records, columns, np.random.default_rng(1)).records
    if kind == "privacy":
        return lambda: method.check(after, original=records)
    both = TablePair.of(records, after)
    if name == "shadow-models":
        both = replace(both, again=lambda others, mine, theirs, seed, course: released(records.take(np.sort(mine))))
    return lambda: method.finding_on(both, np.random.default_rng(0))


def drawn_groups(records: Records) -> Partition:
    """Five records each, as if they had drawn the centres of fuzzy clusters."""
    groups = np.arange(len(records)) // 5
    centres = Centres(columns={v.name: v.values[::5].copy() for v in records.variables})
    return Partition(labels=groups.astype(np.int32), model=centres)


def bounds(records: Records, table: dict[str, Any]) -> dict[str, Any]:
    return {"bounds": dict.fromkeys(records.quasi_identifiers, (-50.0, 50.0)), "clamp": True}


def domain(records: Records, table: dict[str, Any]) -> dict[str, Any]:
    keys = (records[name] for name in records.quasi_identifiers)
    return {"domain": {v.name: list(range(-50, 51, 10)) if v.continuous else list(v.categories) for v in keys}}


def holdout(records: Records, table: dict[str, Any]) -> dict[str, Any]:
    return {"holdout": Records.of(variables(**(table | {"seed": 3})))}


def given(**parameters: Any) -> Callable[[Records, dict[str, Any]], dict[str, Any]]:
    return lambda records, table: parameters


PEOPLE = {"roles": ["person"], "others": 1}

FURTHER: dict[str, dict[str, Any]] = {
    **{key: {"parameters": bounds} for key in ("geometric", "laplace", "staircase", "private-microaggregation")},
    "private-marginals": {"parameters": domain},
    **{key: {"table": {"hierarchies": True}} for key in ("generalise", "safepub", "downcoding")},
    **{key: {"parameters": holdout} for key in ("closest-record", "density-ratio", "membership-inference")},
    "shadow-models": {"parameters": holdout},
    **{key: {"table": {"roles": ["household"]}} for key in ("household-risk", "household-uniques")},
    **{key: {"table": {"roles": ["weight"]}} for key in ("journalist", "log-linear-risk", "population-uniques")},
    "intersection": {"parameters": lambda records, table: {"others": (released(records),)}},
    **{key: {"table": PEOPLE} for key in ("known-records", "records-per-person")},
    "gaps": {"table": PEOPLE, "parameters": given(order="o0")},
    "transitions": {"table": PEOPLE, "parameters": given(column="s0", order="o0")},
    **{key: {"table": {"positive": True}} for key in ("calibrate", "gini")},
    "inconsistencies": {"parameters": given(rules=["x0 <= 100"])},
    "lower-bound": {"parameters": given(k=5)},
    "train-test": {"parameters": given(target="s0")},
}
"""What methods need beside the tables that most take: more in the table, and parameters that are made of it."""

OF_ONE_COLUMN = ("univariate", "calibrate")


def account_of(which: str, records: Records) -> Callable[[], Any]:
    """A plan carried out alone ("masking"), or with all that a release is judged by and tells of itself ("protect").

    Columns with a hierarchy or categories are suppressed, numbers are microaggregated; `others` stay as they are.
    """
    keys = records.quasi_identifiers
    numbers = [name for name in keys if records[name].continuous]
    step = {"partition": "mdav", "k": 5} if numbers else {"mask": "suppress", "k": 5}
    missing = {} if numbers else {"missing": "wildcard"}
    columns = {v.name: v.role if v.continuous else {"role": v.role, "level": "nominal"} for v in records.variables}
    plan = Plan.of(
        {"columns": columns, "steps": [step], "requirements": [{"privacy": "k-anonymity", "k": 5, **missing}]}
    )
    frame = pl.DataFrame({v.name: v.values for v in records.variables})
    if which == "masking":
        return lambda: carry_out(frame, plan, 1, None)
    return lambda: protect(frame, plan, seed=1)


def _rows() -> dict[str, dict[str, Any]]:
    """The rows of the table, by name."""
    out: dict[str, dict[str, Any]] = {}
    for n in (10_000, 50_000):
        for name, more in WIDE.items():
            out[f"800 categories: {name} {n:,}"] = case("partition", name, n, 2, (800,), **more)
    for n in (10_000, 50_000):
        for name, more in WIDE.items():
            out[f"numeric: {name} {n:,}"] = case("partition", name, n, 3, **more)
    for n in (10_000, 100_000, 1_000_000):
        out[f"k-anonymity-first {n:,}"] = case("partition", "k-anonymity-first", n, 3, k=5, t=0.2)
    for n in (100_000, 1_000_000):
        for name in ("tcloseness-merge", "tcloseness-first"):
            out[f"{name} {n:,}"] = case("partition", name, n, 5, k=10, t=0.1)
    for n in (20_000, 50_000):
        out[f"propensity, six nominals {n:,}"] = case("utility", "propensity", n, 0, SIX)
    out["sequential-regression, 5 and 6 nominals 5,000"] = case("replace", "sequential-regression", 5_000, 5, SIX)
    out["sequential-regression, 5 and 6 nominals 100,000"] = case("replace", "sequential-regression", 100_000, 5, SIX)
    out["sequential-regression, one of 60 10,000"] = case("replace", "sequential-regression", 10_000, 1, (60,))
    out["sequential-regression, 20 and 40 10,000"] = case("replace", "sequential-regression", 10_000, 1, (20, 40))
    out["cart, 5 and 6 nominals 5,000"] = case("replace", "cart", 5_000, 5, SIX)
    for n in (100_000, 1_000_000):
        for name in ("cart", "forest"):
            out[f"{name} x 11 {n:,}"] = case("replace", name, n, 11, secrets=0)
    for which in ("masking", "protect"):
        out[f"{which}, mdav 1,000,000 x 5"] = case("account", which, 1_000_000, 5, secrets=0)
        out[f"{which}, 5 keys of 800 columns 100,000"] = case("account", which, 100_000, 5, secrets=0, others=795)
        out[f"{which}, suppress 15 keys 10,000"] = case("account", which, 10_000, 0, (4,) * 15, secrets=0)
    for n in (5_000, 20_000):
        out[f"attribute-inference, six nominals {n:,}"] = case("risk", "attribute-inference", n, 0, SIX, secret=5)
    for n in (5_000, 20_000, 100_000):
        out[f"fuzzy-c-means {n:,}"] = case("partition", "fuzzy-c-means", n, 3, k=10)
        out[f"entropy-fuzzy-c-means {n:,}"] = case("partition", "entropy-fuzzy-c-means", n, 3, k=10)
    out["probabilistic-linkage 20,000"] = case("risk", "probabilistic-linkage", 20_000, 0, SIX)
    for n in (100_000, 1_000_000):
        out[f"suppress, equal {n:,}"] = case("mask", "suppress", n, 0, (5, 7, 8, 10, 12, 20), k=3, missing="equal")
        out[f"mdav, six nominals {n:,}"] = case("partition", "mdav", n, 0, SIX, k=5)
        out[f"mdav, 3 numbers and 30 categories {n:,}"] = case("partition", "mdav", n, 3, (30,), k=5)
    out["suppress, 15 keys 10,000"] = case("mask", "suppress", 10_000, 0, (4,) * 15, k=3)
    out["gaussian-mixture 10,000 x 5"] = case("partition", "gaussian-mixture", 10_000, 5, k=10, secrets=0)
    out["latent-class 10,000 x 6"] = case("partition", "latent-class", 10_000, 0, (2, 3, 4, 5, 6, 8), k=10)
    out["local-synthesis 10,000 x 3 and 3"] = case("partition", "local-synthesis", 10_000, 3, (2, 4, 8), k=10)
    for n in (10_000, 100_000):
        out[f"tcloseness-refined {n:,}"] = case("partition", "tcloseness-refined", n, 3, k=5, t=0.15)
    for n in (5_000, 80_000):
        out[f"l-diverse {n:,}"] = case("partition", "l-diverse", n, 3, secret=6, k=5, l=3)
    for d in (50, 200):
        out[f"mdav 100,000 x {d}"] = case("partition", "mdav", 100_000, d, k=5)
    return out


WIDE: dict[str, dict[str, Any]] = {
    "mdav": {"k": 5},
    "vmdav": {"k": 5},
    "mu-approx": {"k": 5},
    "k-anonymity-first": {"k": 5, "t": 0.2},
    "tcloseness-first": {"k": 5, "t": 0.2},
    "tcloseness-merge": {"k": 5, "t": 0.2},
    "tcloseness-refined": {"k": 5, "t": 0.2},
    "l-diverse": {"k": 5, "l": 3, "secret": 6},
}
"""Partitions that are measured with a key of 800 categories, and beside it with numbers alone."""

ROWS = _rows()


AXES: dict[str, tuple[int, ...]] = {
    "records": (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000),
    "categories": (4, 40, 400, 4_000),
    "columns": (4, 16, 64),
    "k": (3, 30, 300),
}
"""Sizes along which every method is measured; beside them tables have 4 000 records, 4 columns and 8 categories."""

KINDS_OF_TABLES = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
"""Shares of numbers and of nominal columns, tried one after the other until a method takes the table."""


def along(entry: Entry, axis: str, size: int, shares: tuple[float, float]) -> dict[str, Any]:
    """The call of a method at one size of an axis."""
    parameters = dict(entry.example) | ({"k": size} if axis == "k" else {})
    table = table_along(entry, axis, size, shares)
    return {"kind": entry.kind, "method": entry.name, "parameters": parameters, "table": table, "further": True}


def table_along(entry: Entry, axis: str, size: int, shares: tuple[float, float]) -> dict[str, Any]:
    """The table at one size of an axis, as arguments of `variables`."""
    more = FURTHER.get(entry.name, {}).get("table", {})
    at = {"records": 4_000, "categories": 8, "columns": 4} | {axis: size}
    numbers, nominals = (round(share * at["columns"]) for share in shares)
    return {"n": at["records"], "numbers": numbers, "nominals": [at["categories"]] * nominals, "secret": 5} | more


def made_before(entry: Entry, axis: str, shares: tuple[float, float]) -> None:
    """Make the tables of an axis, which copies of this process then have."""
    for size in AXES[axis]:
        pair(json.dumps(table_along(entry, axis, size, shares)))


def table_for(entry: Entry) -> tuple[float, float]:
    """The first kind of table that a method takes; raises ValueError if it takes none."""
    for shares in KINDS_OF_TABLES:
        try:
            if getattr(call_of(along(entry, "records", 200, shares))(), "value", 0) is not None:
                return shares
        except (ShoalError, ImportError):
            continue
    raise ValueError("takes none of the tables")


def measured_axes(entry: Entry, shares: tuple[float, float]) -> list[str]:
    """The axes along which a method can grow on such a table."""
    has_k = entry.kind == "partition" and "k" in entry.parameters
    columns = [] if entry.name in OF_ONE_COLUMN else ["columns"]
    return ["records", *columns, *(["categories"] if shares[1] else []), *(["k"] if has_k else [])]
