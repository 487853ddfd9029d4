"""Sequential synthesis by trees beside synthpop, and beside published submissions on NIST's national2019.

    python bench/peers/synthesis.py --national national2019.csv [--library folder] [--seeds 3]

national2019 is the excerpt of the American Community Survey of the NIST Collaborative Research Cycle (27 253 records,
24 columns, 'N' for not applicable). The 21 columns are those without the weights and without PUMA, which DENSITY
tells as well; the number of originals that are unique on them, 25 774, is the one printed for synthpop's submission.

- k-marginal: 1000 (1 - mean over all pairs of columns of half the sum of absolute differences of shares), incomes and
  poverty ratios in 20 parts of equal frequency, INDP left out, as SDNist 2.5 has it.
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
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from published.thyroid import BINARY, CONTINUOUS, thyroid  # noqa: E402

LEFT_OUT = ("PUMA", "PWGTP", "WGTP")
NUMBERS = ("PINCP", "POVPIP")
CODES = ("AGEP", "INDP", "INDP_CAT", "EDU", "PINCP_DECILE", "NOC", "NPF", "DVET", "DENSITY")
"""Columns that synthpop gets as numbers, beside NUMBERS, 'N' as missing: with categories of so many levels as
predictors its trees do not end."""

SUBMISSIONS = {
    "synthpop CART, 21 columns": (923, 2.54, 5),
    "SDV FastML, 23 columns": (638, 0.0, 22564),
    "synthcity ARF, 24 columns": (691, 0.01, 4419),
    "SmartNoise AIM, epsilon 1, 10 columns": (976, 14.11, 1345),
}
"""Printed k-marginal and unique exact matches in per cent; inconsistent rows counted on the submitted tables."""

R = """
.libPaths(c(Sys.getenv("SYNTHPOP"), .libPaths())); suppressMessages(library(synthpop))
a <- commandArgs(TRUE); numbers <- strsplit(a[4], ",")[[1]]
d <- read.csv(a[1], stringsAsFactors = TRUE, check.names = FALSE, na.strings = "")
for (n in names(d)) if (!(n %in% numbers)) d[[n]] <- factor(d[[n]])
t <- system.time(s <- syn(d, method = "cart", seed = as.integer(a[3]), print.flag = FALSE, maxfaclevels = 400))
write.csv(s$syn, a[2], row.names = FALSE, na = "")
cat(t[["user.self"]] + t[["sys.self"]])
"""


def cart(frame: pl.DataFrame, seed: int, numbers: tuple[str, ...] = ()) -> tuple[pl.DataFrame, float]:
    """The table synthesised by `cart` with its defaults, and the CPU time that took, encoding included."""
    start = time.process_time()
    table = Microdata.of(frame, {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns})
    whole = Partition(labels=np.zeros(len(frame), dtype=np.int32))
    method = shoal.Cart(numbers=numbers)
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


def k_marginal(original: pl.DataFrame, released: pl.DataFrame) -> float:
    """Score over all pairs of columns but INDP and PUMA."""
    names = [name for name in original.columns if name not in ("INDP", "PUMA")]
    before, after = {}, {}
    for name in names:
        before[name], after[name] = _binned(original[name], released[name], parts=20 if name in NUMBERS else 0)
    gaps = []
    for one, other in combinations(names, 2):
        width = int(max(before[other].max(), after[other].max())) + 1
        cells = [t[one].astype(np.int64) * width + t[other] for t in (before, after)]
        size = int(max(c.max() for c in cells)) + 1
        shares = [np.bincount(c, minlength=size) / len(c) for c in cells]
        gaps.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return 1000 * (1 - float(np.mean(gaps)))


def _binned(original: pl.Series, released: pl.Series, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of both columns: categories, or parts of equal frequency of the original's numbers."""
    tables = [original, released]
    if not parts:
        codes = {value: code for code, value in enumerate(sorted({str(v) for t in tables for v in t}))}
        return tuple(np.array([codes[str(v)] for v in t]) for t in tables)
    apart = {"N": parts, "501": parts + 1} if original.name == "POVPIP" else {"N": parts}
    known = np.array([float(v) for v in original if v not in apart])
    edges = np.quantile(known, np.arange(1, parts) / parts)
    return tuple(
        np.array([apart[v] if v in apart else int(np.searchsorted(edges, float(v), "left")) for v in t]) for t in tables
    )


def exact_matches(original: pl.DataFrame, released: pl.DataFrame) -> tuple[int, float]:
    """Records unique on all columns, and the share of them, in per cent, that the release holds."""
    names = original.columns
    unique = original.group_by(names).len().filter(pl.col("len") == 1)
    found = unique.join(released.unique(), on=names, how="semi").height
    return unique.height, 100 * found / unique.height


def inconsistent(table: pl.DataFrame) -> int:
    """Rows of people that cannot be."""
    age = pl.col("AGEP").cast(pl.Int64)
    child = (age < 15) & (
        (pl.col("MSP") != "N")
        | (pl.col("PINCP") != "N")
        | (pl.col("PINCP_DECILE") != "N")
        | (pl.col("INDP_CAT") != "N")
    )
    adult = (age >= 15) & ((pl.col("MSP") == "N") | (pl.col("PINCP") == "N"))
    learned = ((age < 3) & (pl.col("EDU") != "N")) | ((age >= 3) & (pl.col("EDU") == "N"))
    graduate = (age < 15) & pl.col("EDU").is_in(["10", "11", "12"])
    quarters = (pl.col("HOUSING_TYPE") != "1") != (pl.col("OWN_RENT") == "0")
    quarters |= (pl.col("HOUSING_TYPE") != "1") & ((pl.col("NOC") != "N") | (pl.col("NPF") != "N"))
    return table.filter(child | adult | learned | graduate | quarters).height


def pmse_ratio(original: pl.DataFrame, released: pl.DataFrame, numbers: tuple[str, ...]) -> float:
    """pMSE over its expectation in a logistic model: numbers with a flag for missing, indicators of categories."""
    from sklearn.linear_model import LogisticRegression

    stacked = pl.concat([original.cast(pl.String), released.select(original.columns).cast(pl.String)])
    parts = []
    for name in original.columns:
        column = stacked[name]
        if name in numbers:
            values = column.cast(pl.Float64, strict=False).to_numpy()
            gone = np.isnan(values)
            scaled = np.where(gone, np.nanmean(values), values)
            parts += [(scaled - scaled.mean()) / (scaled.std() or 1.0)] + ([gone * 1.0] if gone.any() else [])
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


def national(path: Path, seeds: int) -> pl.DataFrame:
    """Published figures and ours; gives the table in the form that synthpop takes."""
    frame = pl.read_csv(path, infer_schema=False).drop(LEFT_OUT)
    print(f"{'':40s}k-marginal  unique exact matches  inconsistent rows")
    for name, (score, share, rows) in SUBMISSIONS.items():
        print(f"{name + ' (published)':45s}{score:5.0f}{share:20.2f} %{rows:17d}")
    for seed in range(1, seeds + 1):
        released, spent = cart(frame.with_columns(pl.col("AGEP").cast(pl.Int64)), seed, NUMBERS)
        released = released.cast(pl.String)
        unique, share = exact_matches(frame, released)
        print(
            f"{f'cart, seed {seed}: {spent:.1f} CPU s':45s}{k_marginal(frame, released):5.0f}{share:20.2f} %"
            f"{inconsistent(released):17d}"
        )
    print(f"{unique} of {len(frame)} originals are unique; {inconsistent(frame)} of them are inconsistent\n")
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
