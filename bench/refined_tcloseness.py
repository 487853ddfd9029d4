"""By how much refinement lowers the information loss of Algorithm 3 under t-closeness, on every file of shared/data.

python bench/refined_tcloseness.py [--moves N] [FILE ...]

Every file with numeric confidential columns is tried with each of them alone and with two together, the other columns
being quasi-identifiers (continuous ones z-scored, codes nominal); k = 2, 3, 5, t = .05 .. .25. Moves are a record,
the default 10 000 (20 million in all at most).
"""

import argparse
import itertools
import time
from pathlib import Path

import polars as pl

import shoal
from shoal.table.microdata import as_records
from shoal.table.records import Records

DATA = Path(__file__).parents[2] / "shared" / "data"
TS = (0.05, 0.09, 0.13, 0.17, 0.25)
KS = (2, 3, 5)

CONFIDENTIAL = {
    "census": ["FICA", "FEDTAX"],
    "tarragona": None,
    "eia": ["INDREVENUE", "INDSALES"],
    "free1": ["INCOME", "DEBTS"],
    "testdata": ["expend", "income"],
    "testdata2": ["expend", "income"],
    "francdat": ["Num1", "Num3"],
    "thyroid": ["TSH", "T3"],
}
"""Confidential columns; the first two of Tarragona. FICA and FEDTAX also with TAXINC and POTHVAL alone."""

IDENTIFIERS = {
    "UTILITYID",
    "UTILNAME",
    "STATE",
    "YEAR",
    "MONTH",
    "WEIGHT",
    "w",
    "ori_hid",
    "sampling_weight",
    "household_weights",
    "REGION",
    "hhid",
}
MOST_CODES = 12
"""A whole-numbered column of so few values is taken for codes, where the file has codes at all."""


def load(name: str) -> pl.DataFrame:
    if name == "thyroid":
        names = {0: "age", 17: "TSH", 19: "T3", 23: "T4U", 25: "FTI"}
        table = pl.read_csv(DATA / "thyroid_allbp.data", has_header=False, null_values="?", infer_schema_length=None)
        table = table.select([table.columns[j] for j in names]).cast(pl.Float64, strict=False)
        return table.rename(dict(zip(table.columns, names.values()))).drop_nulls()
    return pl.read_csv(DATA / f"{name}.csv", infer_schema_length=None).drop(IDENTIFIERS, strict=False).drop_nulls()


def cases(name: str) -> list[tuple[str, Records]]:
    table = load(name)
    columns = CONFIDENTIAL[name] or table.columns[:2]
    codes = name in {"free1", "testdata", "testdata2", "francdat"}
    if codes:
        table = table.with_columns(
            pl.col(c).cast(pl.String) for c in table.columns if table[c].n_unique() <= MOST_CODES and c not in columns
        )
    settings = [
        (" and ".join(chosen), as_records(table, list(chosen)))
        for chosen in ((columns[0],), (columns[1],), tuple(columns))
    ]
    if name == "census":
        small = table.select(["TAXINC", "POTHVAL", *columns])
        settings += [
            (f"{' and '.join(c)}, two quasi-identifiers", as_records(small.select(["TAXINC", "POTHVAL", *c]), list(c)))
            for c in ((columns[0],), (columns[1],), tuple(columns))
        ]
    return settings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", default=list(CONFIDENTIAL))
    parser.add_argument("--moves", type=int, default=10_000, help="moves a record")
    arguments = parser.parse_args()
    gains = {}
    for name in arguments.files:
        for what, records in cases(name):
            x = records.matrix()
            for k, t in itertools.product(KS, TS):
                first = shoal.TClosenessFirst(k=k, t=t).partition(records)
                begun = time.process_time()
                method = shoal.TClosenessRefined(k=k, t=t, moves=min(arguments.moves * len(records), 20_000_000))
                part = method.partition(records, seed=1)
                seconds = time.process_time() - begun
                assert part.k >= k and part.details["t"] <= t
                before, after = first.information_loss(x), part.information_loss(x)
                gain = gains[name, what, k, t] = 1 - after / before if before else 0.0
                print(
                    f"{name:10s} {len(records):5d} x {x.shape[1]:2d}  {what:28s} k = {k} t = {t:.2f}  "
                    f"{before:6.2f} -> {after:6.2f} %  {100 * gain:5.1f} % less  {seconds:5.1f} CPU s",
                    flush=True,
                )
    least = sorted(gains, key=gains.__getitem__)[:10]
    print(
        f"\nLeast gains of {len(gains)}: "
        + "; ".join(f"{n}, {what}, k = {k}, t = {t}: {100 * gains[n, what, k, t]:.1f} %" for n, what, k, t in least)
    )


if __name__ == "__main__":
    main()
