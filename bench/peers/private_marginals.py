"""Differentially private synthesis on NIST's national2019: k-marginal by PUMA, exact matches, inconsistent rows, cost.

    python bench/peers/private_marginals.py --national national2019.csv --codebook national2019.json [--demographic]

Both files are those of the NIST Collaborative Research Cycle. The categories come from its codebook, the ends of
intervals and the rules from here: what the codebook of the American Community Survey says of age, housing and industry
codes. Nothing is read off the table. Figures are those of `sdnist.py` and `synthesis.py`. `--demographic` takes the ten
columns of the submission of AIM by SmartNoise at epsilon 1: k-marginal 976, 1 345 inconsistent rows.
"""

import argparse
import json
import re
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from peers.sdnist import DENSITY_CLASSES, NUMBERS, records  # noqa: E402
from peers.synthesis import exact_matches, inconsistent  # noqa: E402

NOT_APPLICABLE = -100_000
"""Stands for N in PINCP, so that rules can name it."""

DEMOGRAPHIC = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")

WEIGHTS = (15, 30, 40, 50, 60, 70, 80, 90, 100, 120, 140, 170, 200, 250, 300, 400, 600, 9999)

ENDS = {
    "AGEP": (0, 3, 5, 10, 15, 16, 18, 20, 22, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 99),
    "PINCP": (
        *(NOT_APPLICABLE, NOT_APPLICABLE, -20_000, 0, 0, 1000, 3000, 5000, 7500, 10_000, 12_500, 15_000, 20_000),
        *(25_000, 30_000, 35_000, 40_000, 50_000, 60_000, 75_000, 100_000, 150_000, 300_000, 1_500_000),
    ),
    "POVPIP": (0, 25, 50, 75, 100, 125, 150, 175, 200, 230, 260, 300, 340, 380, 420, 460, 501, 501, None),
    "DENSITY": (*DENSITY_CLASSES.tolist(),),
    "PWGTP": (1, *WEIGHTS),
    "WGTP": (0, 1, *WEIGHTS),
}
"""Ends of intervals; null where N is a missing number."""

INDUSTRIES = (
    *((170, 290), (370, 490), (570, 690), (770, 770), (1070, 3990), (4070, 4590), (4670, 5790), (6070, 6390)),
    *((6470, 6780), (6870, 7190), (7270, 7790), (7860, 7890), (7970, 8290), (8370, 8470), (8560, 8690)),
    *((8770, 9290), (9370, 9590), (9670, 9870), (9920, 9920)),
)
"""First and last code of each category of industries, 0 to 18."""

RULES = (
    *(f"AGEP <= 14 -> {name} == 'N'" for name in ("MSP", "PINCP_DECILE", "INDP_CAT", "DVET")),
    *(f"AGEP >= 15 -> {name} != 'N'" for name in ("MSP", "PINCP_DECILE")),
    f"AGEP <= 14 -> PINCP <= {NOT_APPLICABLE}",
    "AGEP >= 15 -> PINCP >= -20000",
    "AGEP <= 2 -> EDU == 'N'",
    "AGEP >= 3 -> EDU != 'N'",
    "AGEP <= 4 -> EDU in ('N', '1', '2', '3', '4')",
    *(f"AGEP <= 14 -> EDU != '{code}'" for code in (10, 11, 12)),
    *(f"AGEP <= 4 -> {name} == 'N'" for name in ("DPHY", "DREM")),
    *(f"AGEP >= 5 -> {name} != 'N'" for name in ("DPHY", "DREM")),
    *(f"HOUSING_TYPE != '1' -> {name}" for name in ("OWN_RENT == '0'", "NOC == 'N'", "NPF == 'N'")),
    "HOUSING_TYPE == '1' -> OWN_RENT != '0'",
)


def domain(codebook: Path) -> dict[str, tuple[object, ...]]:
    """By column, its categories or the ends of its intervals."""
    columns = json.loads(codebook.read_text())["schema"]
    return {name: ENDS[name] if name in ENDS else tuple(map(str, said["values"])) for name, said in columns.items()}


def industries(codes: tuple[object, ...]) -> list[str]:
    """Rules by which an industry has its category's codes, and these no other category."""
    rules = ["INDP_CAT == 'N' -> INDP == 'N'", "INDP == 'N' -> INDP_CAT == 'N'"]
    for number, (first, last) in enumerate(INDUSTRIES):
        own = ", ".join(f"'{code}'" for code in codes if code != "N" and first <= int(str(code)) <= last)
        rules += [f"INDP_CAT == '{number}' -> INDP in ({own})", f"INDP in ({own}) -> INDP_CAT == '{number}'"]
    return rules


def private(frame: pl.DataFrame, method: shoal.PrivateMarginals, seed: int) -> tuple[pl.DataFrame, float]:
    """The table made anew, as text, and the CPU time that took."""
    start = time.process_time()
    ends = [name for name in ENDS if name in frame.columns]
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in ends]
    absent = [pl.col("PINCP").fill_null(NOT_APPLICABLE)] if "PINCP" in ends else []
    table = frame.with_columns(numbers).with_columns(absent)
    data = shoal.Microdata.of(table, {name: {"role": "other"} for name in frame.columns})
    change = method.apply(data.records, frame.columns, np.random.default_rng(seed))
    new = pl.DataFrame(data.rebuild(change.records).native)
    new = new.with_columns(pl.col(name).cast(pl.Float64 if name == "DENSITY" else pl.Int64) for name in ends)
    new = new.cast(pl.String).with_columns(pl.col(name).replace(str(NOT_APPLICABLE), "N") for name in ends)
    return new.with_columns(pl.col(ends).fill_null("N")), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--national", type=Path, required=True, help="national2019.csv")
    parser.add_argument("--codebook", type=Path, required=True, help="national2019.json")
    parser.add_argument("--demographic", action="store_true", help="ten columns alone")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    frame = pl.read_csv(arguments.national, infer_schema=False)
    listed = domain(arguments.codebook)
    rules = (*RULES, *industries(listed["INDP"]))
    if arguments.demographic:
        frame = frame.select(DEMOGRAPHIC)
        rules = tuple(rule for rule in rules if {*re.findall("[A-Z][A-Z0-9_]+", rule)} <= {*DEMOGRAPHIC})
    by = "PUMA" if "PUMA" in frame.columns else None
    for epsilon in arguments.epsilon:
        method = shoal.PrivateMarginals(epsilon=epsilon, delta=arguments.delta, domain=listed, by=by, rules=rules)
        for seed in range(1, arguments.seeds + 1):
            released, spent = private(frame, method, seed)
            before, after = (records(table, frame.columns, NUMBERS) for table in (frame, released))
            groups = {"of the whole": None, **({} if by is None else {f"by {by}": by})}
            scores = {name: shoal.KMarginal(group=g).measure(before, after).value for name, g in groups.items()}
            _, share = exact_matches(before, after)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"epsilon {epsilon:g}, seed {seed}: k-marginal {', '.join(f'{v:.0f} {k}' for k, v in scores.items())}; "
                f"unique exact matches {share:.2f} %; inconsistent rows {inconsistent(released)} of {len(released)}; "
                f"{spent:.1f} CPU s, {peak:.2f} GB"
            )


if __name__ == "__main__":
    main()
