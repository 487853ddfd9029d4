"""Tables 1 to 3 and figures 6 and 7 of Soria-Comas, Domingo-Ferrer, Sanchez & Martinez (2015) beside ours, on Census.

python bench/published/s1.py [CENSUS.CSV [FIGURE.svg or .png]]

Quasi-identifiers TAXINC and POTHVAL. The paper calls FEDTAX its moderately correlated (MCD, 0.52) and FICA its highly
correlated data set (HCD, 0.92); in the file it is FICA that has 0.528 and FEDTAX 0.920, so FICA stands beside MCD and
FEDTAX beside HCD here. Table 3 is equal in every cell, whatever the scale. s1.json beside this script gets the figures
from which docs/explanation/t-closeness.md tells.

How the paper scaled the quasi-identifiers for tables 1 and 2 is not stated; here by range, as its formula (5) does. No
scale brings table 1 near the printed one if groups are merged with the nearest group, as Algorithm 1 says. FEDTAX
follows TAXINC (0.98), so neighbours pay the same tax; a group of equal values is at least 0.25 from the table, and the
printed averages of 5 records at t = 0.25 and 31 at t = 0.09 cannot come from uniting neighbours. Uniting with the
farthest group gives figures of that size. Both are printed, with the cells in which the order of the algorithms and the
fall with t hold; the paper's own tables 1 and 2 do not fall with t in every cell either.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import as_records
from shoal.table.records import Records
from shoal.table.schema import Scale

TS = (0.01, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25)
KS = (2, 5, 10, 15, 20, 25, 30)
COLUMNS = {"MCD": "FICA", "HCD": "FEDTAX"}
ALGORITHMS = {1: shoal.TClosenessMerge, 2: shoal.KAnonymityFirst, 3: shoal.TClosenessFirst}
PARTNERS = ("nearest", "farthest")

PAPER = {
    1: """1080/1080 1080/1080  56/120 36/98        20/42 16/31      8/20 8/52       4/10 4/9     4/7 4/7     2/8 2/5
          1080/1080 1080/1080  385/540 200/216     40/154 40/60     20/47 20/80     10/24 10/21  10/17 10/15 5/12 5/11
          1080/1080 1080/1080  1080/1080 1080/1080 110/270 180/216 40/108 40/190 20/57 20/47 20/35 20/31 10/24 10/20
          1080/1080 1080/1080  1080/1080 495/540   135/360 195/270  45/90 60/270    30/64 30/68  30/45 30/54 15/33 15/33
          1080/1080 1080/1080  380/540 240/360     160/216 180/216  80/154 60/140   40/83 40/72  40/54 40/60 20/37 20/40
          1080/1080 1080/1080 1080/1080 1080/1080 1080/1080 230/360 455/540 50/250 50/180 50/98 50/90 50/72 25/72 25/48
          1080/1080 1080/1080 540/540 1080/1080 270/360 330/540 120/180 150/390 60/98 60/108 60/77 60/90 30/57 30/57""",
    2: """164/216 156/360 8/10 8/11   4/7 4/7     4/6 4/4     2/3 2/3     2/3 2/3     2/3 2/3
          40/64 80/154    10/16 10/10 5/7 5/8     5/7 5/8     5/7 5/7     5/7 5/8     5/6 5/7
          40/108 80/135   10/17 10/17 10/17 10/17 10/15 10/16 10/15 10/14 10/13 10/14 10/12 10/12
          30/57 30/60     15/28 15/30 15/25 15/26 15/23 15/23 15/23 15/22 15/19 15/21 15/16 15/17
          40/54 40/49     20/37 20/43 20/35 20/36 20/32 20/32 20/31 20/29 20/26 20/28 20/22 20/23
          50/51 50/51     25/51 25/51 25/43 25/43 25/39 25/39 25/40 25/37 25/32 25/35 25/28 25/26
          30/57 60/64     30/68 30/64 30/54 30/54 30/49 30/47 30/47 30/43 30/37 30/42 30/34 30/34""",
    3: """49/49 49/49 10/10 10/10 6/6 6/6     4/4 4/4     3/3 3/3     3/3 3/3     2/2 2/2
          49/49 49/49 10/10 10/10 6/6 6/6     5/5 5/5     5/5 5/5     5/5 5/5     5/5 5/5
          49/49 49/49 10/10 10/10 10/10 10/10 10/10 10/10 10/10 10/10 10/10 10/10 10/10 10/10
          49/49 49/49 15/15 15/15 15/15 15/15 15/15 15/15 15/15 15/15 15/15 15/15 15/15 15/15
          49/49 49/49 20/20 20/20 20/20 20/20 20/20 20/20 20/20 20/20 20/20 20/20 20/20 20/20
          49/49 49/49 25/25 25/25 25/25 25/25 25/25 25/25 25/25 25/25 25/25 25/25 25/25 25/25
          49/49 49/49 30/30 30/30 30/30 30/30 30/30 30/30 30/30 30/30 30/30 30/30 30/30 30/30""",
}
"""Minimum and average size by k (rows) and by t and data set (columns), as printed."""

FIGURE_TS = tuple(round(0.02 + 0.01 * i, 2) for i in range(24))


def published(table: int) -> dict[tuple[int, float, str], str]:
    cells = iter(PAPER[table].split())
    return {(k, t, name): next(cells) for k in KS for t in TS for name in COLUMNS}


def rounded(size: float) -> int:
    return int(size + 0.5)


def sizes(part: shoal.Partition) -> str:
    """Minimum and average size, as the paper prints them (1080/19 = 56.8 as 57, 1080/16 = 67.5 as 68)."""
    return f"{part.k}/{rounded(len(part) / part.n_groups)}"


def census(path: Path, confidential: str, scale: Scale = "sd") -> Records:
    table = pl.read_csv(path).select(["TAXINC", "POTHVAL", confidential])
    return as_records(table, [confidential], scale)


Cell = tuple[int, float, str]


def partitions(number: int, records: dict[str, Records], **options: str) -> dict[Cell, shoal.Partition]:
    return {
        (k, t, name): ALGORITHMS[number](k=k, t=t, **options).partition(records[name])
        for k in KS
        for t in TS
        for name in COLUMNS
    }


def averages(parts: dict[Cell, shoal.Partition]) -> dict[Cell, float]:
    return {cell: len(part) / part.n_groups for cell, part in parts.items()}


def printed_averages(table: int) -> dict[Cell, float]:
    return {cell: float(text.split("/")[1]) for cell, text in published(table).items()}


def out_of_order(smaller: dict[Cell, float], larger: dict[Cell, float]) -> list[Cell]:
    return [cell for cell in smaller if smaller[cell] > larger[cell]]


def rising(average: dict[Cell, float]) -> list[tuple[Cell, float]]:
    """Cells, with the next t, from which on the average size rises with t."""
    return [
        ((k, t, name), u)
        for k in KS
        for name in COLUMNS
        for t, u in zip(TS, TS[1:])
        if average[k, u, name] > average[k, t, name]
    ]


def print_table(number: int, parts: dict[Cell, shoal.Partition], how: str = "") -> int:
    """Print a table beside the paper's; the number of equal cells."""
    paper, equal = published(number), 0
    print(f"\nTable {number}, algorithm {number}{how}: minimum/average size, ours (paper)")
    print("        " + "".join(f"t = {t:<29}" for t in TS))
    print("        " + f"{'FICA (MCD)':<17}{'FEDTAX (HCD)':<16}" * len(TS))
    for k in KS:
        row = []
        for t in TS:
            for name in COLUMNS:
                ours = sizes(parts[k, t, name])
                equal += ours == paper[k, t, name]
                row.append(f"{ours} ({paper[k, t, name]})")
        print(f"k = {k:<4}" + "".join(f"{cell:<17}" if i % 2 == 0 else f"{cell:<16}" for i, cell in enumerate(row)))
    print(f"{equal} of {len(paper)} cells equal the paper's")
    return equal


def print_order(what: str, average: dict[int, dict[Cell, float]]) -> None:
    def named(cell: Cell) -> str:
        return f"k = {cell[0]}, t = {cell[1]}, {COLUMNS[cell[2]]}"

    print(f"\n{what}: cells of {len(average[3])} that break the order of average sizes, or the fall with t")
    for less, more in ((3, 2), (2, 1)):
        cells = [
            f"{named(c)} ({average[less][c]:.2f} > {average[more][c]:.2f})"
            for c in out_of_order(average[less], average[more])
        ]
        print(f"  algorithm {less} <= algorithm {more}: {'; '.join(cells) or 'all hold'}")
    for number, values in average.items():
        cells = [f"{named(c)} to {u} ({values[c]:.1f} to {values[c[0], u, c[2]]:.1f})" for c, u in rising(values)]
        print(f"  table {number} falls with t: {'; '.join(cells) or 'all hold'}")


def print_tables(records: dict[str, Records]) -> dict[str, object]:
    """The tables; the figures recorded."""
    first = partitions(3, records)
    recorded: dict[str, object] = {"cells of table 3 that are equal": print_table(3, first)}
    print_order("The paper's printed tables", {a: printed_averages(a) for a in ALGORITHMS})
    for partner in PARTNERS:
        parts = {a: partitions(a, records, partner=partner) for a in (1, 2)}
        for number in parts:
            print_table(number, parts[number], f", merging with the {partner} group")
        average = {**{a: averages(parts[a]) for a in parts}, 3: averages(first)}
        print_order(f"Ours, merging with the {partner} group", average)
        recorded[f"{partner}: cells with algorithms 2, 3 or 1, 2 out of order, and that rise with t"] = [
            len(out_of_order(average[3], average[2])),
            len(out_of_order(average[2], average[1])),
            sum(len(rising(values)) for values in average.values()),
        ]
    return recorded


def normalised_sse(part: shoal.Partition, raw: np.ndarray) -> float:
    """Formula (5): mean over records and attributes of the squared difference over the range."""
    scaled = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0)
    return part.sse(scaled) / scaled.size


def print_losses(records: dict[str, Records]) -> dict[str, dict[str, list[float]]]:
    """Losses by confidential column and t: those of the three algorithms and of the refined partition."""
    recorded: dict[str, dict[str, list[float]]] = {column: {} for column in COLUMNS.values()}
    print("\nInformation loss of the quasi-identifiers, 100 SSE/SST, k = 2; refined: default budget, seed 1")
    for name, column in COLUMNS.items():
        for t in TS:
            start = time.process_time()
            refined = shoal.TClosenessRefined(k=2, t=t).partition(records[name], seed=1)
            seconds = time.process_time() - start
            x = records[name].matrix()
            losses = [ALGORITHMS[a](k=2, t=t).partition(records[name]).information_loss(x) for a in ALGORITHMS]
            print(
                f"  {column:7s} t = {t:.2f}  algorithms 1, 2, 3: "
                + " ".join(f"{loss:6.2f}" for loss in losses)
                + f"   refined {refined.information_loss(x):6.2f} ({refined.n_groups} groups, {seconds:.1f} CPU s)"
            )
            recorded[column][f"{t}"] = [round(loss, 2) for loss in (*losses, refined.information_loss(x))]
    return recorded


def surface(records: Records) -> list[dict[str, object]]:
    """Normalised SSE of figure 7."""
    raw = records.raw()
    return [
        {"k": k, "t": t, "SSE": normalised_sse(cls(k=k, t=t).partition(records), raw), "how": f"Algorithm {a}"}
        for a, cls in ALGORITHMS.items()
        for k in KS
        for t in FIGURE_TS[::2]
    ]


def lowest(rows: list[dict[str, object]]) -> list[int]:
    """Cells of figure 7 in which each algorithm is the lowest, the first of equals."""
    sse = np.array([row["SSE"] for row in rows]).reshape(len(ALGORITHMS), -1)
    return np.bincount(sse.argmin(axis=0), minlength=len(ALGORITHMS)).tolist()


def figures(records: dict[str, Records]) -> dict[str, object]:
    """Figures 6 and 7 as one Vega-Lite specification."""
    names = {1: "Algorithm 1", 2: "Algorithm 2", 3: "Algorithm 3"}
    rows = []
    for name, column in COLUMNS.items():
        raw = records[name].raw()
        for t in FIGURE_TS:
            for a, cls in ALGORITHMS.items():
                part = cls(k=2, t=t).partition(records[name])
                rows.append({"data": f"{name} ({column})", "t": t, "SSE": normalised_sse(part, raw), "how": names[a]})
            part = shoal.TClosenessRefined(k=2, t=t, moves=1_000_000).partition(records[name], seed=1)
            rows.append({"data": f"{name} ({column})", "t": t, "SSE": normalised_sse(part, raw), "how": "refined"})
    axis = {
        "x": {"field": "t", "type": "quantitative"},
        "y": {"field": "SSE", "type": "quantitative", "title": "normalised SSE"},
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "vconcat": [
            {
                "title": "Figure 6: k = 2",
                "data": {"values": rows},
                "facet": {"column": {"field": "data", "title": None}},
                "spec": {
                    "width": 330,
                    "height": 240,
                    "mark": {"type": "line", "point": True},
                    "encoding": {**axis, "color": {"field": "how", "title": None}},
                },
            },
            {
                "title": "Figure 7: MCD (FICA)",
                "data": {"values": surface(records["MCD"])},
                "facet": {"column": {"field": "how", "title": None}},
                "spec": {
                    "width": 210,
                    "height": 240,
                    "mark": {"type": "line"},
                    "encoding": {**axis, "color": {"field": "k", "type": "ordinal", "scale": {"scheme": "viridis"}}},
                },
            },
        ],
        "resolve": {"scale": {"color": "independent"}},
    }


def print_figures(specification: dict[str, object]) -> None:
    """In how many of the cells that figures 6 and 7 draw algorithm 3 is below 2 below 1, as the paper reads them."""
    for panel in specification["vconcat"]:
        cells: dict[tuple[object, ...], dict[str, float]] = {}
        for row in panel["data"]["values"]:
            cells.setdefault((row.get("data"), row.get("k"), row["t"]), {})[row["how"]] = row["SSE"]
        first, second, third = ([cell[f"Algorithm {a}"] for cell in cells.values()] for a in (1, 2, 3))
        inside = sum(c <= b <= a for a, b, c in zip(first, second, third))
        reversed_order = sum(c > b > a for a, b, c in zip(first, second, third))
        best = sum(c <= min(a, b) for a, b, c in zip(first, second, third))
        print(
            f"{panel['title']}: algorithm 3 below 2 below 1 in {inside} of {len(cells)} cells, algorithm 3 lowest in "
            f"{best}, the order reversed in {reversed_order}"
        )


def draw(specification: dict[str, object], path: Path) -> None:
    import vl_convert

    if path.suffix == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(specification, scale=1.5))
    else:
        path.write_text(vl_convert.vegalite_to_svg(specification))


def main(arguments: list[str]) -> None:
    default = Path(__file__).parents[3] / "shared" / "data" / "census.csv"
    path = Path(arguments[0]) if arguments else default
    recorded = print_tables({name: census(path, column, "range") for name, column in COLUMNS.items()})
    records = {name: census(path, column) for name, column in COLUMNS.items()}
    recorded["losses of algorithms 1, 2, 3 and refined, k = 2"] = print_losses(records)
    recorded["cells of figure 7 in which each algorithm is lowest"] = lowest(surface(records["MCD"]))
    Path(__file__).with_suffix(".json").write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    if len(arguments) > 1:
        specification = figures(records)
        print()
        print_figures(specification)
        draw(specification, Path(arguments[1]))
        print(f"\nFigures 6 and 7 are in {arguments[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
