"""Sequential synthesis by trees beside synthpop, and beside published submissions on NIST's national2019.

    python bench/peers/synthesis.py --national national2019.csv [--library folder] [--seeds 3]

national2019 is the excerpt of the American Community Survey of the NIST Collaborative Research Cycle (27 253 records,
24 columns, 'N' for not applicable). The 21 columns of synthpop's submission are those without the weights and without
DENSITY, which PUMA tells as well. Beside the submissions `cart` makes these 21; beside synthpop itself both make those
with DENSITY and without PUMA.

- k-marginal: as SDNist 2.5 has it (`sdnist.py`): of all pairs of columns in each PUMA, where a submission has PUMA, and
  of all pairs of columns (`of the whole`), which is a higher figure by far.
- unique exact matches: share of the original records unique on all columns that are in the release.
- inconsistent rows: children with work, income, marriage or a degree; group quarters with household figures.
- pMSE ratio: mean squared difference of propensities from 1/2 over its expectation for synthesis from the true model,
  in a logistic model with main effects (Snoke et al. 2018); the same judge for both programmes.

synthpop runs where `Rscript` finds it (`--library` names a folder of R packages); without it its rows are left out.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from peers.sdnist import records  # noqa: E402
from published.thyroid import BINARY, CONTINUOUS, thyroid  # noqa: E402

SUBMITTED_WITHOUT = ("DENSITY", "PWGTP", "WGTP")
LEFT_OUT = ("PUMA", "PWGTP", "WGTP")
NUMBERS = ("PINCP", "POVPIP")
CODES = ("AGEP", "INDP", "INDP_CAT", "EDU", "PINCP_DECILE", "NOC", "NPF", "DVET", "DENSITY")
"""Columns that synthpop gets as numbers, beside NUMBERS, 'N' as missing: with categories of so many levels as
predictors its trees do not end."""

SUBMISSIONS = {
    "synthpop CART, 21 columns": ("923", "979", 2.54, 5),
    "SDV FastML, 23 columns": ("638", "", 0.0, 22564),
    "synthcity ARF, 24 columns": ("691", "", 0.01, 4419),
    "SmartNoise AIM, epsilon 1, 10 columns": ("", "976", 14.11, 1345),
}
"""Printed k-marginal by PUMA and unique exact matches in per cent; of the whole, where it is printed or was measured on
the submitted table (`sdnist.py`); inconsistent rows counted on the submitted tables."""

R = """
.libPaths(c(Sys.getenv("SYNTHPOP"), .libPaths())); suppressMessages(library(synthpop))
a <- commandArgs(TRUE); numbers <- strsplit(a[4], ",")[[1]]
d <- read.csv(a[1], stringsAsFactors = TRUE, check.names = FALSE, na.strings = "")
for (n in names(d)) if (!(n %in% numbers)) d[[n]] <- factor(d[[n]])
t <- system.time(s <- syn(d, method = "cart", seed = as.integer(a[3]), print.flag = FALSE, maxfaclevels = 400))
write.csv(s$syn, a[2], row.names = FALSE, na = "")
cat(t[["user.self"]] + t[["sys.self"]])
"""


def cart(frame: pl.DataFrame, seed: int, numbers: tuple[str, ...] = (), **more: Any) -> tuple[pl.DataFrame, float]:
    """The table synthesised by `cart`, by default with its defaults, and the CPU time that took, encoding included."""
    start = time.process_time()
    table = Microdata.of(frame, {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns})
    whole = Partition(labels=np.zeros(len(frame), dtype=np.int32))
    method = shoal.Cart(numbers=numbers, **more)
    change = method.apply(table.records, table.records.names(), whole, np.random.default_rng(seed))
    return pl.DataFrame(table.rebuild(change.records).native), time.process_time() - start


def synthpop(
    frame: pl.DataFrame, seed: int, numbers: tuple[str, ...], library: str
) -> tuple[pl.DataFrame, float] | None:
    """The same by synthpop, and the CPU time of `syn` alone; None where R or the package is not there."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        frame.write_csv(here / "in.csv")
        (here / "run.R").write_text(R, encoding="utf-8")
        command = ["Rscript", str(here / "run.R"), str(here / "in.csv"), str(here / "out.csv"), str(seed)]
        done = subprocess.run(
            [*command, ",".join(numbers)],
            capture_output=True,
            text=True,
            env={"SYNTHPOP": library, "PATH": "/usr/bin:/bin"},
        )
        if done.returncode:
            return None
        return pl.read_csv(here / "out.csv", infer_schema=False), float(done.stdout.split()[-1])


def exact_matches(original: Records, released: Records) -> tuple[int, float]:
    """Records unique on all columns, and the share of them, in per cent, that the release holds."""
    finding = shoal.UniqueExactMatches().measure(original, released)
    return finding.details["unique originals"], 100 * float(finding.value or 0.0)


def inconsistent(table: pl.DataFrame) -> int:
    """Rows of people that cannot be, as far as the table has the columns."""
    age = pl.col("AGEP").cast(pl.Int64)
    quarters = pl.col("HOUSING_TYPE") != "1"
    learned = ((age < 3) & (pl.col("EDU") != "N")) | ((age >= 3) & (pl.col("EDU") == "N"))
    broken = {
        "MSP": (age < 15) != (pl.col("MSP") == "N"),
        "PINCP": (age < 15) != (pl.col("PINCP") == "N"),
        "PINCP_DECILE": (age < 15) & (pl.col("PINCP_DECILE") != "N"),
        "INDP_CAT": (age < 15) & (pl.col("INDP_CAT") != "N"),
        "EDU": learned | ((age < 15) & pl.col("EDU").is_in(["10", "11", "12"])),
        "OWN_RENT": quarters != (pl.col("OWN_RENT") == "0"),
        "NOC": quarters & (pl.col("NOC") != "N"),
        "NPF": quarters & (pl.col("NPF") != "N"),
    }
    return table.filter(pl.any_horizontal(broken[name] for name in broken if name in table.columns)).height


def pmse_ratio(original: pl.DataFrame, released: pl.DataFrame, numbers: tuple[str, ...]) -> float:
    """pMSE over its expectation in a logistic model: numbers with a flag for missing, indicators of categories."""
    from sklearn.linear_model import LogisticRegression

    stacked = pl.concat([original.cast(pl.String), released.select(original.columns).cast(pl.String)])
    parts = []
    for name in original.columns:
        column = stacked[name]
        if name in numbers:
            values = column.cast(pl.Float64, strict=False).to_numpy()
            missing = np.isnan(values)
            scaled = np.where(missing, np.nanmean(values), values)
            parts += [(scaled - scaled.mean()) / (scaled.std() or 1.0)] + ([missing * 1.0] if missing.any() else [])
        else:
            codes = column.fill_null("").rank("dense").to_numpy() - 1
            parts += [(codes == code) * 1.0 for code in range(1, int(codes.max()) + 1)]
    x = np.column_stack(parts)
    x = x[:, x.std(axis=0) > 0]
    y = np.repeat([0, 1], [len(original), len(released)])
    p = LogisticRegression(C=1e6, max_iter=2000).fit(x, y).predict_proba(x)[:, 1]
    n, q = len(x), np.linalg.matrix_rank(x) + 1
    return float(((p - 0.5) ** 2).mean() / ((q - 1) / (8 * n)))


def compare(name: str, frame: pl.DataFrame, numbers: tuple[str, ...], seeds: int, library: str) -> None:
    """pMSE ratios and CPU times of both programmes on one table."""
    for label, run in (
        ("cart", lambda seed: cart(frame, seed)),
        ("synthpop", lambda seed: synthpop(frame, seed, numbers, library)),
    ):
        made = [run(seed) for seed in range(1, seeds + 1)]
        if any(one is None for one in made):
            print(f"{name:14s}{label:10s} not run: Rscript, or its package synthpop, is not here")
            continue
        ratios = [pmse_ratio(frame, table, numbers) for table, _ in made]
        print(
            f"{name:14s}{label:10s} pMSE ratio {np.mean(ratios):7.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
            f"{np.mean([spent for _, spent in made]):6.2f} CPU s"
        )


VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"no_exact_matches": True},
    {"no_exact_matches": True, "min_leaf": 5},
    {"no_exact_matches": True, "min_leaf": 3},
    {"no_exact_matches": True, "candidates": 3, "by": "PUMA"},
)
"""Parameters of `cart` that are tried."""


def board_line(frame: pl.DataFrame, seed: int, more: dict[str, Any]) -> None:
    """The figures of one synthesis of a table."""
    numeric = [pl.col(name).cast(pl.Float64) for name in SUBMITTED_WITHOUT if name in frame.columns]
    released, spent = cart(frame.with_columns(pl.col("AGEP").cast(pl.Int64), *numeric), seed, NUMBERS, **more)
    released = released.cast(pl.String)
    numbers = ("AGEP", *NUMBERS, *(name for name in ("PWGTP", "WGTP") if name in frame.columns))
    before, after = (records(table, frame.columns, numbers) for table in (frame, released))
    scores = [shoal.KMarginal(group=group).measure(before, after).value for group in ("PUMA", None)]
    unique, share = exact_matches(before, after)
    words = ", ".join(f"{name} {value}" for name, value in more.items())
    name = f"{len(frame.columns)} columns, {words or 'defaults'}, seed {seed}: {spent:.1f} CPU s"
    print(
        f"{name:75s}{scores[0]:7.1f}{scores[1]:10.0f}{share:12.3f} % of {unique}{inconsistent(released):8d}", flush=True
    )


def national(path: Path, seeds: int) -> pl.DataFrame:
    """Published figures and ours; gives the table in the form that synthpop takes."""
    whole = pl.read_csv(path, infer_schema=False)
    frame = whole.drop(SUBMITTED_WITHOUT)
    print(f"{'':40s}k-marginal by PUMA, of the whole; unique exact matches; inconsistent rows")
    for name, (by_area, score, share, rows) in SUBMISSIONS.items():
        print(f"{name + ' (published)':45s}{by_area:>7s}{score:>10s}{share:20.2f} %{rows:17d}")
    for made in (frame, whole):
        for more in VARIANTS:
            for seed in range(1, seeds + 1):
                board_line(made, seed, more)
    frame = whole.drop(LEFT_OUT)
    gaps = [
        pl.when(pl.col(name) == "N").then(None).otherwise(pl.col(name)).cast(pl.Float64).alias(name)
        for name in (*NUMBERS, *CODES)
    ]
    return frame.with_columns(gaps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--national", type=Path, help="national2019.csv of the NIST Collaborative Research Cycle")
    parser.add_argument("--library", default="", help="a folder of R packages that holds synthpop")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    columns = thyroid()
    tables = {
        "Census": (pl.read_csv(ROOT / "tests/published/data/census.csv.gz"), None),
        "Thyroid": (pl.DataFrame({name: columns[name] for name in (*CONTINUOUS, *BINARY)}), tuple(CONTINUOUS)),
    }
    if arguments.national is None:
        print("national2019 is left out: give --national, the file of the NIST Collaborative Research Cycle")
    else:
        tables["national2019"] = (national(arguments.national, arguments.seeds), (*NUMBERS, *CODES))
    for name, (frame, numbers) in tables.items():
        compare(name, frame, numbers or tuple(frame.columns), arguments.seeds, arguments.library)


if __name__ == "__main__":
    main()
