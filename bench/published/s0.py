"""Local synthesis: Tables 1 to 3 of Oganian & Domingo-Ferrer (2017) for THYROID beside our figures.

    python bench/published/s0.py [--repeats 30] [--mixed-repeats 4] [--out FILE]

FILE, s0.json beside this script if none is named, gets the figures from which docs/explanation/synthesis.md and
mixtures.md tell.

THYROID: 1947 records, age, TSH, T3, T4U, FTI. Methods as in the paper: Hybrid (Gaussian mixture, k = 60, normal draws
with exact moments), HybridMicro (MDAV with k = 324, the same draws), Noise (equation 10, c = .15), Synthetic
(sequential linear regression) and Micro (MDAV with k = 20). Hybrid stands here in five settings: six
groups with unconstrained covariances from the hierarchical start, as many as the paper has (BIC chooses the same six);
the same inside the observed range; the groups of our own BIC among 2 to 10; these as `local-synthesis` with
`class-conditional` makes them by default, inside the observed range; and inside the range of each group. Moments are
exact in all five.

The paper's propensity model, "main effects and interactions from first to third order" on raw values, does not give
the paper's own Table 1; several models are shown: polynomials of order 3 on ranks and on the values, their products
without powers, and a classification tree. 2N U_p is read as sum (p - 1/2)^2, N the records of one table. A tree finds
at once how values are written (TSH: .005, 1.3, 145), so it gets every table, of any method, written with the decimals
that the data have for values of that size; otherwise it would judge the number format.

Section 7 adds the fifteen binary columns: Hybrid is local synthesis by latent class regression with six classes,
Synthetic sequential regression with logistic models. The paper reports 121 and 690.55 for a model with "all main
effects and interactions between continuous variables, continuous - categorical interactions and some categorical
interactions". Beside each figure stands what a table drawn from the true law would reach (q coefficients, (q - 1)/8),
and an independent sample of the same population ((q - 1)/4).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.replace.decimals import Decimals
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from published.thyroid import BINARY, CONTINUOUS, thyroid  # noqa: E402

PRINTED = {
    "Hybrid": (23.07, 0.6, 0.35, 0.6, 1.6),
    "HybridMicro": (106.70, 0.7, 0.3, 1.9, 5.1),
    "Noise": (301.11, 4.6, 1.44, 1.1, 2.5),
    "Synthetic": (565.56, 12.53, 3.05, 17.0, 33.7),
    "Micro": (276.11, 8.94, 2.41, 1.4, 1.6),
}
"""2N U_p (Table 1); per cent change of coefficients, standard errors (Table 2), moments of order 3 and 4 (Table 3)."""

MODELS = {
    "rank, order 3": shoal.Propensity(order=3, scale="rank"),
    "raw, order 3": shoal.Propensity(order=3, scale="raw"),
    "raw, products": shoal.Propensity(order=3, scale="raw", powers=False),
}

MIXED = {
    f"{scale}, order {order}": shoal.Propensity(order=order, scale=scale)
    for scale in ("rank", "raw")
    for order in (2, 3)
}
"""With all products of a continuous and a binary column and of two binary ones. Main effects alone tell nothing."""

PRINTED_MIXED = {"Hybrid": 121.0, "Synthetic": 690.55}

TREE = shoal.Propensity(model="cart", shuffles=2)
LEAVES = "tree, as written"

HYBRIDS = ("Hybrid, paper", "Hybrid, range", "Hybrid, BIC", "Hybrid, default", "Hybrid, group")
"""Paper: 6 groups VVV, hierarchical start. Range: these inside the observed range. BIC: our choice. Default: the same,
inside the observed range. Group: inside each group's."""


class Methods:
    """The five methods, Hybrid in five settings."""

    def __init__(self, records: Records) -> None:
        self.records = records
        paper = shoal.GaussianMixture(k=60, groups=6, models=("VVV",), kmeans_starts=0).partition(records, seed=1)
        chosen = shoal.LocalSynthesis(k=60).partition(records, seed=1)
        self.partitions: dict[str, Partition] = {
            **dict(zip(HYBRIDS, (paper, paper, chosen, chosen, chosen))),
            "HybridMicro": shoal.MDAV(k=324).partition(records),
            "Synthetic": shoal.Whole().partition(records),
            "Micro": shoal.MDAV(k=20).partition(records),
        }
        ranged, grouped = (shoal.Normal(support=(rule,)) for rule in ("range", "group-range"))
        draws = (shoal.Normal(), ranged, shoal.Normal(), shoal.ClassConditional(), grouped)
        self.replacements = {
            **dict(zip(HYBRIDS, draws)),
            "HybridMicro": shoal.Normal(),
            "Synthetic": shoal.SequentialRegression(support=(), exclude=False),
            "Micro": shoal.Centroid(),
        }

    def released(self, name: str, seed: int) -> Records:
        rng = np.random.default_rng(seed)
        if name == "Noise":
            return (
                shoal.Noise(kind="kim", variance=0.15).apply(self.records, self.records.quasi_identifiers, rng).records
            )
        return (
            self.replacements[name]
            .apply(self.records, self.records.quasi_identifiers, self.partitions[name], rng)
            .records
        )


def figures(before: Records, after: Records) -> dict[str, float]:
    """Every figure of one realisation."""
    rng = np.random.default_rng(0)
    measured = {name: model.measure(before, after, seed=rng).details["2N U_p"] for name, model in MODELS.items()}
    measured[LEAVES] = TREE.measure(before, written(before, after), seed=rng).details["2N U_p"]
    regressions = shoal.Regressions().measure(before, after, seed=rng)
    if regressions.value is None:
        raise SystemExit(regressions.reason)
    measured |= {
        "coefficients": 100 * regressions.details["mean"]["coefficients"],
        "standard errors": 100 * regressions.details["mean"]["standard errors"],
    }
    for about in ("mean", "zero"):
        moments = shoal.Moments(about=about).measure(before, after, seed=rng).details
        for order in ("order 3", "order 4"):
            for kind in ("mean", "median"):
                measured[f"{order} about {about}, {kind}"] = 100 * moments[f"{kind} relative change"][order]
    return measured


def written(before: Records, after: Records) -> Records:
    """Released values with the decimals that original ones of that size have."""
    free = (np.array(-np.inf), np.array(np.inf))
    return after.with_raw(
        CONTINUOUS,
        np.column_stack(
            [Decimals.of(x).write(new, *free, keep_sign=False) for x, new in zip(before.raw().T, after.raw().T)]
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--mixed-repeats", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"), help="file for the figures")
    arguments = parser.parse_args()
    columns = thyroid()
    records = Records.from_array(np.column_stack([columns[name] for name in CONTINUOUS]), names=CONTINUOUS)
    methods = Methods(records)
    for name in (HYBRIDS[0], HYBRIDS[2], "HybridMicro", "Micro"):
        part = methods.partitions[name]
        model = f", {part.details['covariance model']}" if "covariance model" in part.details else ""
        print(f"{name}: {part.n_groups} groups{model}, sizes {sorted(part.sizes.tolist(), reverse=True)[:12]}")
    print("The paper's groups: 708, 440, 325, 232, 179, 63.\n")
    rows = [*HYBRIDS, "HybridMicro", "Noise", "Synthetic", "Micro"]
    table: dict[str, dict[str, float]] = {}
    errors: dict[str, dict[str, float]] = {}
    runs: dict[str, list[dict[str, float]]] = {}
    for name in rows:
        once = 1 if name == "Micro" else arguments.repeats
        runs[name] = [figures(records, methods.released(name, seed)) for seed in range(once)]
        table[name], errors[name] = summary(runs[name])
    models = [*MODELS, LEAVES]
    print("Table 1: 2N U_p, mean over realisations and its standard error")
    print(f"{'':16}{'printed':>9}" + "".join(f"{model:>20}" for model in models))
    for name in rows:
        print(
            f"{name:16}{printed_of(name, 0):>9}"
            + "".join(f"{table[name][model]:13.2f} +-{errors[name][model]:5.2f}" for model in models)
        )
    null = (
        MODELS["rank, order 3"].measure(records, methods.released(HYBRIDS[0], 0), seed=np.random.default_rng(0)).details
    )
    q, n = null["coefficients"], null["records compared"]
    print(
        f"with nothing to tell (q = {q}, {n} records stacked): {(q - 1) / 8:.1f} for synthesis from the true model, "
        f"{(q - 1) / 4:.1f} for an independent sample\n"
    )
    print("Table 2: mean change in per cent, printed / ours")
    for name in rows:
        pairs = zip((printed_of(name, 1), printed_of(name, 2)), ("coefficients", "standard errors"))
        print(f"{name:16}" + "".join(f"{f'{printed} / {table[name][key]:.3g}':>22}" for printed, key in pairs))
    print("\nTable 3: change of moments in per cent: printed; ours about zero, mean (median); about the mean, the same")
    for name in rows:
        cells = f"{name:16}"
        for place, order in enumerate(("order 3", "order 4")):
            ours = [
                "{:.3g} ({:.3g})".format(
                    *(table[name][f"{order} about {about}, {kind}"] for kind in ("mean", "median"))
                )
                for about in ("zero", "mean")
            ]
            cells += f"{order + ':':>11}{printed_of(name, 3 + place):>6};{ours[0]:>14};{ours[1]:>14}"
        print(cells)
    others = rows[len(HYBRIDS) :]
    print("\nTable 1: is Hybrid the hardest to tell from the original? (lowest of the other four)")
    for model in models:
        rival = min(others, key=lambda name: table[name][model])
        print(
            f"  {model:18}{rival} {table[rival][model]:.1f}; "
            + "; ".join(
                f"{name} {table[name][model]:.1f}, {'yes' if table[name][model] < table[rival][model] else 'no'}"
                for name in HYBRIDS
            )
        )
    print("\nThe same in single realisations: pairs of one of Hybrid and one of the other in which Hybrid is lower")
    for name in HYBRIDS:
        for model in models:
            below = [(other, *lower(runs[name], runs[other], model)) for other in others]
            print(f"  {name:18}{model:18}" + "; ".join(f"{other} {count} of {of}" for other, count, of in below))
    recorded = {
        "groups": {name: groups_of(methods.partitions[name]) for name in (HYBRIDS[0], HYBRIDS[2])},
        "distinguished": {name: {model: round(table[name][model], 1) for model in models} for name in rows},
        "nothing to tell": [round((q - 1) / 8, 1), round((q - 1) / 4, 1)],
        "moments about zero": {
            name: {
                kind: [round(table[name][f"{order} about zero, {kind}"], 1) for order in ("order 3", "order 4")]
                for kind in ("median", "mean")
            }
            for name in (HYBRIDS[0], HYBRIDS[3], "HybridMicro")
        },
        "Hybrid below Noise": {
            name: {model: lower(runs[name], runs["Noise"], model) for model in MODELS}
            for name in (HYBRIDS[0], HYBRIDS[3])
        },
        "other groups": by_other_groups(records),
        "mixed": mixed(columns, arguments.mixed_repeats),
    }
    arguments.out.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def groups_of(part: Partition) -> dict[str, object]:
    """Facts of a mixture's groups."""
    recorded = {name: part.details[name] for name in ("covariance model", "log-likelihood", "BIC", "start")}
    return {**recorded, "sizes": sorted(part.sizes.tolist(), reverse=True)}


def by_other_groups(records: Records) -> dict[str, dict[str, float]]:
    """2N U_p of Hybrid by other groups, and of HybridMicro with k = 60, mean over 10 realisations."""
    ways = {
        f"Hybrid, k = {k}": (shoal.LocalSynthesis(k=k).partition(records, seed=1), shoal.ClassConditional())
        for k in (200, 400)
    }
    mixture = shoal.GaussianMixture(k=60, models=("VVV",)).partition(records, seed=1)
    ways["Hybrid, VVV by BIC"] = mixture, shoal.Normal()
    ways["HybridMicro, k = 60"] = shoal.MDAV(k=60).partition(records), shoal.Normal()
    recorded = {}
    for name, (part, draw) in ways.items():
        drawn = [
            figures(records, draw.apply(records, records.quasi_identifiers, part, np.random.default_rng(seed)).records)
            for seed in range(10)
        ]
        mean = summary(drawn)[0]
        recorded[name] = {model: round(mean[model], 1) for model in (*MODELS, LEAVES)}
        print(name, recorded[name])
    return recorded


def summary(runs: list[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Means over realisations and their standard errors (0 for a single one)."""
    values = {key: np.array([f[key] for f in runs]) for key in runs[0]}
    return (
        {key: float(v.mean()) for key, v in values.items()},
        {key: float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else 0.0 for key, v in values.items()},
    )


def lower(these: list[dict[str, float]], those: list[dict[str, float]], model: str) -> tuple[int, int]:
    """Pairs of realisations in which the first is lower, and all pairs; a method without chance has one."""
    pairs = [(this[model], that[model]) for this in these for that in those]
    return sum(this < that for this, that in pairs), len(pairs)


def printed_of(name: str, place: int) -> str:
    """The paper's figure of a method; of Hybrid it stands beside the setting nearest to the paper's."""
    printed = PRINTED.get("Hybrid" if name == HYBRIDS[0] else name)
    return f"{printed[place]:g}" if printed else ""


def mixed(columns: dict[str, np.ndarray], repeats: int) -> dict[str, object]:
    """Section 7: five continuous and fifteen binary columns; the figures recorded."""
    names = (*CONTINUOUS, *BINARY)
    table = Microdata.of(pl.DataFrame(columns), dict.fromkeys(names, "quasi-identifier"))
    records = table.records
    settings = {
        "Hybrid, paper": (
            shoal.LocalSynthesis(k=60, groups=6, models=("VVV",), kmeans_starts=0),
            shoal.ClassConditional(continuous=shoal.Normal()),
        ),
        "Hybrid, default": (shoal.LocalSynthesis(k=60), shoal.ClassConditional()),
        "Hybrid, 16": (shoal.LocalSynthesis(k=60, classes=16), shoal.ClassConditional()),
        "Synthetic": (shoal.Whole(), shoal.SequentialRegression(support=(), exclude=False)),
    }
    rng = np.random.default_rng(0)
    print(
        f"\nSection 7, {len(names)} columns: 2N U_p, mean over {repeats} realisations and its standard error; "
        "'Hybrid, 16' has 16 latent classes, the default as many as groups"
    )
    print(f"{'':16}{'printed':>9}" + "".join(f"{model:>20}" for model in MIXED))
    table = {}
    for name, (partitioner, replacement) in settings.items():
        part = partitioner.partition(records, seed=1)
        new = [
            replacement.apply(records, records.quasi_identifiers, part, np.random.default_rng(seed)).records
            for seed in range(repeats)
        ]
        table[name], error = summary(
            [
                {key: model.measure(records, after, seed=rng).details["2N U_p"] for key, model in MIXED.items()}
                for after in new
            ]
        )
        printed = PRINTED_MIXED.get(name.removesuffix(", paper"))
        print(
            f"{name:16}{f'{printed:.2f}' if printed else '':>9}"
            + "".join(f"{table[name][key]:13.2f} +-{error[key]:5.2f}" for key in MIXED)
        )
    q = {key: model.measure(records, records, seed=rng).details["coefficients"] for key, model in MIXED.items()}
    for law, divisor in (("true law", 8), ("new sample", 4)):
        print(f"{law:25}" + "".join(f"{(q[key] - 1) / divisor:20.1f}" for key in MIXED))
    factor = PRINTED_MIXED["Synthetic"] / PRINTED_MIXED["Hybrid"]
    for name in list(settings)[:-1]:
        print(
            f"Synthetic over {name}: printed {factor:.2f}; ours "
            + ", ".join(f"{key} {table['Synthetic'][key] / table[name][key]:.1f}" for key in MIXED)
        )
    print(
        "Synthetic over a table from the true law, over a new sample: "
        + ", ".join(
            f"{key} {table['Synthetic'][key] * 8 / (q[key] - 1):.1f}, {table['Synthetic'][key] * 4 / (q[key] - 1):.1f}"
            for key in MIXED
        )
    )
    return {
        "distinguished": {name: {key: round(value, 1) for key, value in row.items()} for name, row in table.items()},
        "nothing to tell": {key: [round((count - 1) / 8, 1), round((count - 1) / 4, 1)] for key, count in q.items()},
    }


if __name__ == "__main__":
    main()
