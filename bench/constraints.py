"""What every method does to edit constraints, without and with keeping them, and what keeping them costs.

    python bench/constraints.py [--n 1000]

An invented hospital: charge = room + drugs + procedures, discharge on or after admission, nothing negative. Columns
are released as whole numbers. Shown are the records of the release that break a rule (without and with
constraints in the plan) and the loss of the changed columns, 100 SSE/SST of the standardised columns.
"""

import argparse
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.constraints import Constraints
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import InputError, Refused
from shoal.vocabulary.registry import MISSING, Entry, registered

RULES = [
    "room + drugs + procedures == charge",
    "room >= 0",
    "drugs >= 0",
    "procedures >= 0",
    "discharge >= admission",
    "0 <= age <= 110",
]
MONEY = ["charge", "room", "drugs", "procedures"]
REQUIRED: dict[str, Any] = {
    "k": 12,
    "t": 0.3,
    "p": 0.1,
    "l": 2,
    "n": 20,
    "epsilon": 1.0,
    "variance": 0.1,
    "share": 0.1,
    "start": {"method": "mdav", "k": 12},
    "limit": 0.9,
    "alpha": 0.5,
    "degrees_of_freedom": 5,
    "bounds": {c: [0, 30000] for c in MONEY},
}
"""Parameters without a default; groups are large enough for every synthesiser to draw from."""
OF_METHOD: dict[str, dict[str, Any]] = {"p-sensitive": {"p": 2}, "refined": {"start": REQUIRED["start"]}}
"""Where a parameter of the same name means something else."""


def table(n: int) -> Microdata:
    frame = shoal.example("hospital", n=n, seed=1)
    frame = frame.select("age", "admission", "discharge", *(pl.col(c).round().cast(pl.Int64) for c in MONEY[1:]))
    frame = frame.with_columns(charge=pl.col("room") + pl.col("drugs") + pl.col("procedures"))
    return Microdata.of(frame, columns(frame.columns))


def columns(names: list[str]) -> dict[str, Any]:
    known = ("age", "charge", "admission")
    return {
        c: {
            "role": "quasi-identifier" if c in known else "confidential",
            **({"decimals": 0} if c in (*MONEY, "age") else {}),
        }
        for c in names
    }


def steps(entry: Entry) -> list[dict[str, Any]]:
    wanted = {p for p, default in entry.parameters.items() if default is MISSING or p in ("k", "degrees_of_freedom")}
    given = {p: value for p, value in (REQUIRED | OF_METHOD.get(entry.name, {})).items() if p in wanted}
    if entry.kind == "partition":
        replace = "fuzzy-centre" if "fuzzy" in entry.name else "centroid"
        chosen = ["charge"] if entry.name == "univariate" else ["age", "charge", "admission"]
        return [{"partition": entry.name, **given, "replace": replace, "columns": chosen}]
    if entry.kind == "replace":
        replacement = {"method": entry.name, **given}
        return [{"partition": "mdav", "k": 12, "replace": replacement, "columns": MONEY[1:], "by": ["age", "charge"]}]
    return [{"mask": entry.name, **given, "columns": MONEY}]


def row(data: Microdata, entry: Entry) -> str:
    rules = Constraints.parse(RULES, data.records)
    before = data.records.matrix([*MONEY, "age", "admission"])
    total = ((before - before.mean(axis=0)) ** 2).sum()
    shown = []
    for constraints in ([], RULES):
        plan = {
            "columns": columns(data.frame.columns),
            "steps": steps(entry),
            "constraints": constraints,
            "output": {"shuffle": False},
        }
        after = Microdata.of(shoal.protect(data, plan, seed=1).data, data.schema).encoded
        if len(after) < len(data):
            return "releases only some of the records"
        if any(after[c].missing.any() for c in MONEY):
            return "releases only some of the cells"
        broken = np.logical_or.reduce(list(rules.violations(after).values()))
        moved = after.matrix_like(data.records, [*MONEY, "age", "admission"])
        shown += [f"{int(broken.sum()):6d}", f"{100 * ((moved - before) ** 2).sum() / total:8.2f}"]
    return f"{shown[0]}{shown[2]}   {shown[1]}{shown[3]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    data = table(parser.parse_args().n)
    print(f"{len(data):,} records{'':36s}records that break a rule   loss, %\n{'':50s}without  with   without   with")
    for kind in ("partition", "replace", "mask"):
        for entry in registered(kind):
            try:
                line = row(data, entry)
            except (InputError, Refused) as refusal:
                line = f"not for these columns: {str(refusal)[:90]}"
            print(f"{kind:10s} {entry.name:38s} {line}", flush=True)


if __name__ == "__main__":
    main()
