"""The transparency attack on crisp and fuzzy microaggregation of the Census: does fuzzy microaggregation resist?

    python bench/published/transparency.py [--data FOLDER] [--seeds 3] [--plot FILE.svg]

Torra's claim is that an intruder who knows method, parameters and centres cannot tell which centre a record drew.
Every method is attacked with its parameters known, on all 13 columns, standardised. The success rate is that of the
best of three attacks (nearest centre, counting, replay); the loss is 100 SSE/SST of what is released, group means
of the crisp methods, drawn centres of the fuzzy ones. Fuzzy figures are means over seeds; the interval is that of one
draw. Seeds begin at 1: replay runs with seed 0, and would make a release of that seed again. MDAV with larger k shows
what the same safety costs without fuzziness. The figures replace those in transparency.json beside this program, which
docs/explanation/fuzzy-and-constraints.md gives.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.table.records import Records

FIGURES = Path(__file__).with_suffix(".json")
SHARED = Path(__file__).parents[3] / "shared" / "data"


def methods(k: int) -> dict[str, Any]:
    """By what a reader calls them."""
    chosen = {"MDAV": shoal.MDAV(k=k), "V-MDAV": shoal.VMDAV(k=k, gamma=0.2)}
    chosen["Refined"] = shoal.Refined(k=k, start="mdav")
    for m2 in (1.1, 1.3, 2.0):
        chosen[f"FCM, m2 = {m2}"] = shoal.FuzzyCMeans(k=k, m1=1.1, m2=m2)
    for lambda2 in (10.0, 1.0, 0.3):
        chosen[f"EFCM, lambda2 = {lambda2:g}"] = shoal.EntropyFuzzyCMeans(k=k, lambda1=10.0, lambda2=lambda2)
    chosen["FCM, m2 = 1.3, plain draw"] = shoal.FuzzyCMeans(k=k, m1=1.1, m2=1.3, balanced=False)
    return chosen


def attacked(records: Records, method: Any, seeds: int) -> dict[str, Any]:
    """Loss, success of the attack, how often the class is named, and the smallest group; means over seeds."""
    fuzzy = "fuzzy" in method.method_name
    figures = []
    for seed in range(1, 1 + (seeds if fuzzy else 1)):
        part = method.partition(records, seed=seed)
        replacement = shoal.FuzzyCentre() if fuzzy else shoal.Centroid()
        released = replacement.apply(records, records.quasi_identifiers, part, np.random.default_rng(seed)).records
        x, y = records.matrix(), released.matrix_like(records, records.names())
        finding = shoal.TransparencyAttack(knows=method).measure(records, released)
        named = finding.details["classes named rightly, by attack"]
        figures.append(
            (
                100 * ((x - y) ** 2).sum() / ((x - x.mean(axis=0)) ** 2).sum(),
                finding.value,
                finding.interval.low,
                finding.interval.high,
                named["nearest"],
                named["counting"],
                named["replay"],
                part.k,
            )
        )
    names = ("loss", "linked", "low", "high", "nearest", "counting", "replay", "smallest")
    return dict(zip(names, np.mean(figures, axis=0).tolist()))


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Loss against success: MDAV as a line over k, the fuzzy methods as points with their intervals."""
    import vl_convert

    x = {
        "field": "loss",
        "type": "quantitative",
        "title": "information loss, % of variance",
        "scale": {"domain": [0, 55]},
    }
    y = {
        "field": "linked",
        "type": "quantitative",
        "title": "records found by the attacker, %",
        "scale": {"type": "log", "domain": [1.5, 40]},
        "axis": {"values": [2, 3, 5, 10, 20, 33]},
    }
    tone = {
        "field": "k",
        "type": "nominal",
        "title": "fuzzy, k =",
        "scale": {"range": ["#c8553d", "#7a4988", "#2e8b57"]},
    }
    shape = {
        "field": "kind",
        "type": "nominal",
        "title": "method",
        "scale": {"domain": ["FCM", "EFCM", "FCM, plain draw"], "range": ["circle", "square", "triangle-up"]},
    }
    crisp = {"filter": "datum.kind == 'MDAV'"}
    fuzzy = {"filter": "datum.kind != 'MDAV' && datum.kind != 'other' && datum.loss <= 55"}
    layers = [
        {
            "transform": [crisp],
            "mark": {"type": "line", "color": "#1b6ca8", "point": {"color": "#1b6ca8"}},
            "encoding": {"x": x, "y": y},
        },
        {
            "transform": [crisp],
            "mark": {"type": "text", "dx": -6, "dy": 12, "align": "right", "color": "#1b6ca8"},
            "encoding": {"x": x, "y": y, "text": {"field": "label"}},
        },
        {
            "transform": [fuzzy],
            "mark": {"type": "rule", "opacity": 0.6},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": tone},
        },
        {
            "transform": [fuzzy],
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": tone, "shape": shape},
        },
        {
            "transform": [fuzzy],
            "mark": {"type": "text", "align": "left", "dx": 7, "dy": -6, "fontSize": 10},
            "encoding": {"x": x, "y": y, "text": {"field": "label"}, "color": tone},
        },
    ]
    specification = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "width": 560,
        "height": 380,
        "data": {"values": rows},
        "layer": layers,
        "config": {"view": {"stroke": None}, "axis": {"gridColor": "#eee"}, "font": "sans-serif"},
    }
    path.write_text(vl_convert.vegalite_to_svg(json.dumps(specification)) + "\n", encoding="utf-8")


def described(name: str, k: int) -> dict[str, str]:
    """How a method is shown in the plot."""
    kind, _, rest = name.partition(", ")
    if kind not in ("FCM", "EFCM"):
        return {"kind": kind if kind == "MDAV" else "other", "label": f"MDAV, k = {k}"}
    label = rest.split(",")[0].replace("lambda2 = ", "\u03bb ").replace("m2 = ", "m ")
    return {"kind": "FCM, plain draw" if "plain" in rest else kind, "label": label}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    table = pl.read_csv(options.data / "census.csv")
    records = Records.from_array(table.to_numpy().astype(float), names=table.columns)
    rows: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []
    for k in (3, 5, 10, 20, 40):
        print(f"\nCensus, k = {k}; 1/k = {100 / k:.1f} %")
        print(
            f"{'method':28s} {'loss %':>7s} {'found %':>8s} {'95 % interval':>14s}   class named by: "
            f"{'nearest':>8s} {'counting':>8s} {'replay':>7s}  smallest group"
        )
        for name, method in methods(k).items() if k <= 10 else [("MDAV", shoal.MDAV(k=k))]:
            row = attacked(records, method, options.seeds)
            linked = {key: 100 * row[key] for key in ("linked", "low", "high")}
            rows.append({"k": k, "loss": row["loss"], **linked, **described(name, k)})
            figures.append({"k": k, "method": name, **{key: round(value, 5) for key, value in row.items()}})
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
            print(
                f"{name:28s} {row['loss']:7.2f} {linked['linked']:8.2f} {linked['low']:6.2f} - {linked['high']:5.2f}"
                f"                   {100 * row['nearest']:8.1f} {100 * row['counting']:8.1f}"
                f" {100 * row['replay']:7.1f}  {row['smallest']:.1f}"
            )
    if options.plot:
        plot(rows, options.plot)
        print(f"\nwritten to {options.plot}")


if __name__ == "__main__":
    main()
