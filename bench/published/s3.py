"""Hybrid microdata: the tables of Domingo-Ferrer & Gonzalez-Nicolas (2010), Section 5.3, beside our figures.

    python bench/published/s3.py [--data FOLDER] [--repeats 10] [--out FILE]

FILE, s3.json beside this script if none is named, gets the figures from which docs/explanation/synthesis.md tells
(tests/published/test_s3_figures.py compares the two).

Census: X = FICA, FEDTAX, Y = INTVAL, POTHVAL; EIA: X = INDREVENUE, INDSALES, Y = TOTREVENUE, TOTSALES. Hybrid data
replace X given Y: microaggregation on X and IPSO inside the groups (k), or Muralidhar-Sarathy on the whole table
(alpha).

As in the paper, linkage joins each hybrid pair X' to the original pair X at the shortest Euclidean distance (raw
units) and counts a match where Y agrees, averaged over the repeats; Delta is the mean variation over 100 samples of
10 %. Two readings of the printed tables are needed: their rows called m3 and m4 hold m3(X1), m4(X1), m3(X2), m4(X2) in
this order, and the rows of correct matches of Tables 2 and 3 are exchanged. EIA's alpha_2 leaves a noise covariance
that is not positive semidefinite; it is clipped here, and the line says so.

Under every setting a line tells how many of the twelve statistics vary less here than in print; for hybrid data also
whether the printed figures can be: what sum of squares within groups (of columns with variance 1, after regression on
Y) the printed variation of the two means needs, what our groups have, and what *any* partition into groups of k or
more has at the least, before regression. With D = X' - X, a sample of m of n records has a mean of D with variance
(1 - m/n)/m S_D^2, and S_D^2 is twice the residual sum of squares over n - 1, as a random rotation makes X' and X
uncorrelated given Y; so Delta(mean) is about .798 times its root over the mean.

Table 1 is then made anew from our own matches: the k whose share of correct matches is nearest to that of each alpha,
and how many times as much as hybrid data with that k the Muralidhar-Sarathy data vary.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.spatial import cKDTree

import shoal
from shoal.table.partition import Partition
from shoal.table.records import Records

SHARED = Path(__file__).parents[3] / "shared" / "data"

ROWS = ("m1", "m2", "s2 1", "s2 2", "s11", "s12", "s21", "s22", "m3 1", "m4 1", "m3 2", "m4 2")
"""Statistics in the order of the printed rows: mean, variance, covariance of Y_i and X_j, third, fourth moments."""

ALPHAS = {"alpha_1": 0.9, "alpha_2": (0.8, 0.3), "alpha_3": 0.0}


@dataclass(frozen=True)
class Study:
    """One data set of the paper.

    `printed` maps a setting (an alpha or a k) to the printed per cent of correct matches and the twelve rows of
    Tables 2 to 5; `plain` holds the matches printed for plain microaggregation.
    """

    file: str
    x: tuple[str, str]
    y: tuple[str, str]
    printed: dict[str, tuple[float, tuple[float, ...]]]
    plain: dict[int, float]
    sizes: tuple[int, ...]
    """Values of k among which ours for Table 1 are found."""


CENSUS = Study(
    file="census.csv", x=("FICA", "FEDTAX"), y=("INTVAL", "POTHVAL"),
    sizes=(20, 24, 30, 35, 40, 50, 60, 80, 100, 120, 150, 200, 300, 540, 1080),
    plain={7: 11.11, 10: 7.69, 15: 5.00, 20: 3.70, 22: 3.52, 23: 3.43, 24: 2.87},
    printed={
        "alpha_1": (0.2, (.0168, .0203, .0694, .0625, .2097, .1722, .3600, .2437, 3.4807, .1990, .5597, .1830)),
        "alpha_2": (0.1, (.0175, .0215, .0747, .0770, .2584, .2522, .4364, .3223, 5.1872, .2303, .6987, .2458)),
        "alpha_3": (0.0, (.0584, .0699, .1253, .1188, .5267, .4723, 1.2375, 1.2618, 62.6002, .5332, 1.9927, .4939)),
        "k = 7": (3.3, (.0012, .0017, .0042, .0063, .0084, .0070, .0144, .0220, .1940, .0108, .0404, .0202)),
        "k = 10": (2.0, (.0016, .0024, .0074, .0110, .0126, .0137, .0247, .0261, .2377, .0200, .0853, .0412)),
        "k = 15": (1.0, (.0023, .0033, .0101, .0151, .0206, .0219, .0488, .0407, .3057, .0236, .1059, .0473)),
        "k = 20": (0.4, (.0035, .0052, .0151, .0230, .0464, .0507, .0584, .0513, .6841, .0376, .1066, .0517)),
        "k = 22": (0.2, (.0029, .0048, .0131, .0200, .0293, .0346, .0595, .0736, .5501, .0309, .1192, .0600)),
        "k = 23": (0.1, (.0036, .0056, .0155, .0246, .0333, .0524, .0870, .2937, .8345, .0345, .2022, .0901)),
        "k = 24": (0.0, (.0048, .0066, .0199, .0347, .0443, .0488, .1619, .1637, .5509, .0427, .2412, .1165)),
    },
)  # fmt: skip

EIA = Study(
    file="eia.csv", x=("INDREVENUE", "INDSALES"), y=("TOTREVENUE", "TOTSALES"),
    sizes=(60, 80, 90, 100, 120, 150, 200, 300, 500, 1000, 4092),
    plain={10: 7.50, 15: 5.06, 20: 3.76, 80: .93, 90: .83, 120: .64},
    printed={
        "alpha_1": (0.6, (.0129, .0118, .0195, .0172, .0128, .0132, .0116, .0112, .0691, .0807, .0532, .0552)),
        "alpha_2": (0.4, (.0150, .0231, .0276, .0164, .0204, .0204, .0300, .0289, .0860, .0949, .0695, .0695)),
        "alpha_3": (0.0, (.0444, .0378, .0919, .0812, .0670, .0641, .0608, .0599, .3225, .3493, .2482, .2668)),
        "k = 10": (7.8, (.0047, .0035, .0311, .0154, .0174, .0116, .0131, .0090, .0929, .1683, .0363, .0570)),
        "k = 15": (4.5, (.0079, .0060, .0408, .0262, .0232, .0159, .0190, .0135, .0975, .1604, .0627, .1005)),
        "k = 20": (3.3, (.0080, .0060, .0426, .0297, .0238, .0177, .0201, .0159, .1200, .2126, .0728, .1145)),
        "k = 80": (0.6, (.0147, .0113, .0705, .0435, .0363, .0344, .0303, .0297, .1838, .2854, .1259, .1978)),
        "k = 90": (0.4, (.0150, .0123, .0732, .0559, .0424, .0387, .0378, .0330, .1964, .3379, .1381, .2272)),
        "k = 120": (0.0, (.0165, .0155, .0849, .0665, .0509, .0443, .0442, .0391, .2170, .3671, .1520, .2390)),
    },
)  # fmt: skip


def partitioner(k: int):
    """mu-Approx as in the paper."""
    return shoal.MuApprox(k=k)


def load(study: Study, folder: Path) -> Records:
    frame = pl.read_csv(folder / study.file)
    values = frame[[*study.x, *study.y]].to_numpy().astype(float)
    return Records.from_array(values, names=[*study.x, *study.y])


def hybrid(records: Records, study: Study, setting: str, seed: int) -> tuple[Records, Partition, str]:
    """The hybrid table of one setting, its partition, and what has to be told about it."""
    rng = np.random.default_rng(seed)
    if setting in ALPHAS:
        part = shoal.Whole().partition(records)
        method = shoal.MuralidharSarathy(alpha=ALPHAS[setting], given=study.y, clip=True)
        change = method.apply(records, study.x, part, rng)
        lowest = change.details.get("smallest eigenvalue of the noise covariance that was clipped")
        return change.records, part, f"clipped at eigenvalue {lowest:.3f}" if lowest is not None else ""
    part = partitioner(int(setting.removeprefix("k = "))).partition(records, columns=study.x)
    change = shoal.IPSO(given=study.y, small="merge").apply(records, study.x, part, rng)
    merged = change.details["groups merged because too small"]
    return change.records, part, f"{merged} groups merged" if merged else ""


def matches(records: Records, new: Records, study: Study) -> float:
    """Per cent of correct matches as the paper counts them."""
    x, y = records.raw(study.x), records.raw(study.y)
    _, near = cKDTree(x).query(new.raw(study.x))
    return float(100 * (y[near] == y).all(axis=1).mean())


def delta(records: Records, new: Records, study: Study, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean variation of the twelve statistics, and the same with medians over the samples."""
    finding = shoal.MeanVariation().measure(records, new, seed=np.random.default_rng(seed))
    (a, b), (u, v) = study.x, study.y
    labels = [
        f"mean of {a}",
        f"mean of {b}",
        f"variance of {a}",
        f"variance of {b}",
        f"covariance of {a} and {u}",
        f"covariance of {b} and {u}",
        f"covariance of {a} and {v}",
        f"covariance of {b} and {v}",
        f"third moment of {a}",
        f"fourth moment of {a}",
        f"third moment of {b}",
        f"fourth moment of {b}",
    ]
    return tuple(
        np.array([finding.details[kind][label] for label in labels])
        for kind in ("mean over samples", "median over samples")
    )


FRACTION = 0.1
HALF_NORMAL = float(np.sqrt(2 / np.pi))
"""Mean absolute value of a standard normal variable."""


def residual_squares(records: Records, part: Partition, study: Study) -> float:
    """Sum of squares of X within groups after regression on Y, columns of variance 1."""
    x, y = records.raw(study.x), records.raw(study.y)
    total = 0.0
    for rows in part.members():
        design = np.column_stack([np.ones(len(rows)), y[rows]])
        rest = x[rows] - design @ np.linalg.lstsq(design, x[rows], rcond=None)[0]
        total += float((rest**2 / x.var(axis=0, ddof=1)).sum())
    return total


def needed_squares(records: Records, study: Study, printed: tuple[float, ...]) -> float:
    """The sum of squares from which the printed variation of the two means would come."""
    x, n = records.raw(study.x), len(records)
    per_mean = (1 - FRACTION) / (FRACTION * n)
    deviation = np.array(printed[:2]) * x.mean(axis=0) / HALF_NORMAL
    return float((deviation**2 / per_mean * (n - 1) / 2 / x.var(axis=0, ddof=1)).sum())


def least_squares_within(records: Records, study: Study, k: int) -> float:
    """Bound from below on the sum of squares within groups of any partition into groups of k or more.

    A group of s records has sum_pairs d^2 / s, so each record adds at least its k - 1 nearest squared distances / 2k.
    """
    z = records.raw(study.x) / records.raw(study.x).std(axis=0, ddof=1)
    distance, _ = cKDTree(z).query(z, k=k)
    return float((distance**2).sum() / (2 * k))


def run(study: Study, folder: Path, repeats: int) -> dict:
    """Print the study's tables; their figures, as the documentation gives them."""
    records = load(study, folder)
    print(
        f"\n{study.file}: X = {', '.join(study.x)} given Y = {', '.join(study.y)}; {len(records):,} records; "
        f"links made at random are right for {100 / len(records):.2f} %"
    )
    print(f"{'':9}{'':9}{'match %':>9}" + "".join(f"{row:>8}" for row in ROWS))
    ours, figures = {}, {}
    for setting, (printed_matches, printed) in study.printed.items():
        ours[setting] = share, mean, median, part, note = repeated(records, study, setting, repeats)
        print(line(setting, "printed", printed_matches, printed))
        print(line("", "ours", share, mean) + (f"  {note}" if note else ""))
        print(line("", "(median)", None, median))
        lower = int((mean < np.array(printed)).sum())
        note = f"{'':9}ours vary less in {lower} of 12"
        figures[setting] = {"matches": round(share, 2), "vary less": lower}
        if setting not in ALPHAS:
            plain = shoal.Centroid().apply(records, records.quasi_identifiers, part, np.random.default_rng(0)).records
            k = int(setting.removeprefix("k = "))
            needed, own = needed_squares(records, study, printed), residual_squares(records, part, study)
            least, linked = least_squares_within(records, study, k), matches(records, plain, study)
            note += (
                f"; squares within groups: printed needs {needed:.2f}, ours {own:.2f}, any groups before regression "
                f"{least:.2f} or more; matches of plain microaggregation: printed "
                f"{study.plain.get(k, float('nan')):.2f} %, ours {linked:.2f} %"
            )
            squares = {"needed": round(needed, 1), "ours": round(own, 1), "least": round(least, 1)}
            figures[setting] |= {"squares": squares, "matches of plain microaggregation": round(linked, 2)}
        print(note)
    return {"settings": figures, "comparison": comparable(records, study, ours, repeats)}


def repeated(
    records: Records, study: Study, setting: str, repeats: int
) -> tuple[float, np.ndarray, np.ndarray, Partition, str]:
    """Matches, mean variations and their medians, averaged; the partition, and what has to be told."""
    shares, means, medians = [], [], []
    for seed in range(repeats):
        new, part, note = hybrid(records, study, setting, seed)
        shares.append(matches(records, new, study))
        mean, median = delta(records, new, study, seed)
        means.append(mean)
        medians.append(median)
    return float(np.mean(shares)), np.mean(means, axis=0), np.mean(medians, axis=0), part, note


def comparable(records: Records, study: Study, ours: dict, repeats: int) -> dict:
    """Table 1 from our matches, and MS over microhybrid at those k; printed, and its figures."""
    figures = {}
    hybrids = {k: repeated(records, study, f"k = {k}", repeats) for k in study.sizes}
    print("Table 1 from our matches; below it, how many times as much as microhybrid MS varies (medians over samples)")
    print(f"{'':9}{'':9}{'match %':>9}" + "".join(f"{row:>8}" for row in ROWS))
    for alpha in ALPHAS:
        k = min(hybrids, key=lambda k: abs(hybrids[k][0] - ours[alpha][0]))
        ratio = ours[alpha][2] / hybrids[k][2]
        print(f"{alpha:9}{'':9}{ours[alpha][0]:9.2f}")
        print(
            f"{'':4}k = {k:<10}{hybrids[k][0]:9.2f}"
            + "".join(f"{value:8.2f}" for value in ratio)
            + f"  MS varies more in {int((ratio > 1).sum())} of 12"
        )
        figures[alpha] = {
            "matches": round(ours[alpha][0], 2),
            "k": k,
            "matches of k": round(hybrids[k][0], 2),
            "varies more": int((ratio > 1).sum()),
            "by": [round(float(ratio.min()), 2), round(float(ratio.max()), 2)],
        }
    return figures


def line(setting: str, whose: str, matched: float | None, values) -> str:
    share = "" if matched is None else f"{matched:.2f}"
    return f"{setting:9}{whose:9}{share:>9}" + "".join(f"{value:8.4f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with census.csv and eia.csv")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"), help="file for the figures")
    arguments = parser.parse_args()
    print(f"Clusters on X by {partitioner(10).method_name}.")
    figures = {study.file: run(study, arguments.data, arguments.repeats) for study in (CENSUS, EIA)}
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
