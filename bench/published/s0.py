"""Local synthesis: Tables 1 to 3 of Oganian & Domingo-Ferrer (2017) for THYROID beside our figures.

    python bench/published/s0.py [--data FOLDER] [--repeats 30]

THYROID: 1947 records, age, TSH, T3, T4U, FTI. Methods as in the paper: Hybrid (Gaussian mixture, k = 60, normal draws
with exact moments), HybridMicro (MDAV with k = 324, the same draws), Noise (equation 10, c = .15), Synthetic
(sequential linear regression) and Micro (MDAV with k = 20). The paper took six groups with unconstrained covariances,
found by BIC among 2 to 10 groups; that model is shown, the choice of our own BIC, and the latter with values kept
inside the observed range (moments stay exact).

Section 7 adds the fifteen binary columns: Hybrid is local synthesis by latent class regression with six classes,
Synthetic sequential regression with logistic models. The paper reports 121 and 690.55 for a model whose terms it does
not list.

The paper's propensity model, "main effects and interactions from first to third order" on raw values, does not give
the paper's own Table 1; several models are shown: polynomials of order 3 on ranks, on the values, their products
without powers, and a classification tree. 2N U_p is read as sum (p - 1/2)^2, N the records of one table.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.groups import Partition
from shoal.microdata import Microdata
from shoal.records import Records

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "tests" / "published"))

from thyroid import BINARY, CONTINUOUS, thyroid  # noqa: E402

PRINTED = {
    "Hybrid": (23.07, 0.6, 0.35, 0.6, 1.6), "HybridMicro": (106.70, 0.7, 0.3, 1.9, 5.1),
    "Noise": (301.11, 4.6, 1.44, 1.1, 2.5), "Synthetic": (565.56, 12.53, 3.05, 17.0, 33.7),
    "Micro": (276.11, 8.94, 2.41, 1.4, 1.6),
}
"""2N U_p (Table 1); per cent change of coefficients, standard errors (Table 2), moments of order 3 and 4 (Table 3)."""

MODELS = {
    "rank, order 3": shoal.Propensity(order=3, scale="rank"),
    "raw, order 3": shoal.Propensity(order=3, scale="raw"),
    "raw, products": shoal.Propensity(order=3, scale="raw", powers=False),
}

MIXED = {
    "rank, order 1": shoal.Propensity(order=1), "rank, order 2": shoal.Propensity(order=2),
    "rank, order 3": shoal.Propensity(order=3), "raw, order 2": shoal.Propensity(order=2, scale="raw"),
}
"""From order 2 on with all products of a continuous and a binary column and of two binary ones."""

PRINTED_MIXED = {"Hybrid": 121.0, "Synthetic": 690.55}

TREE = shoal.Propensity(model="cart", shuffles=2)

DECIMALS = (0, 2, 1, 2, 0)
"""How the columns are written in the data. A tree finds heaped values at once, so it compares rounded tables."""


class Methods:
    """The five methods, and Hybrid with the groups of our own BIC, plain and inside the observed range."""

    def __init__(self, records: Records) -> None:
        self.records = records
        whole = shoal.Whole().partition(records)
        mixture = shoal.GaussianMixture(k=60, groups="2..10")
        self.partitions: dict[str, Partition] = {
            "Hybrid": shoal.GaussianMixture(k=60, groups=6, models=("VVV",)).partition(records, seed=1),
            "Hybrid (BIC)": (chosen := mixture.partition(records, seed=1)),
            "Hybrid (range)": chosen,
            "HybridMicro": shoal.MDAV(k=324).partition(records),
            "Synthetic": whole,
            "Micro": shoal.MDAV(k=20).partition(records),
        }
        self.replacements = {
            "Hybrid": shoal.Normal(), "Hybrid (BIC)": shoal.Normal(), "HybridMicro": shoal.Normal(),
            "Hybrid (range)": shoal.Normal(support=("range",)),
            "Synthetic": shoal.SequentialRegression(), "Micro": shoal.Centroid(),
        }

    def released(self, name: str, seed: int) -> Records:
        rng = np.random.default_rng(seed)
        if name == "Noise":
            return shoal.Noise(kind="kim", variance=0.15).apply(self.records, rng).records
        return self.replacements[name].apply(self.records, self.partitions[name], rng).records


def figures(before: Records, after: Records) -> dict[str, float]:
    """Every figure of one realisation."""
    rng = np.random.default_rng(0)
    found = {name: model.judge(before, after, None, rng).details["2N U_p"] for name, model in MODELS.items()}
    found["tree, rounded"] = TREE.judge(rounded(before), rounded(after), None, rng).details["2N U_p"]
    regressions = shoal.Regressions().judge(before, after, None, rng)
    if regressions.value is None:
        raise SystemExit(regressions.reason)
    found |= {"coefficients": 100 * regressions.details["mean"]["coefficients"],
              "standard errors": 100 * regressions.details["mean"]["standard errors"]}
    for about in ("mean", "zero"):
        moments = shoal.Moments(about=about).judge(before, after, None, rng).details
        for order in ("order 3", "order 4"):
            for kind in ("mean", "median"):
                found[f"{order} about {about}, {kind}"] = 100 * moments[f"{kind} relative change"][order]
    return found


def rounded(records: Records) -> Records:
    return records.with_raw(CONTINUOUS, np.column_stack([np.round(x, d) for x, d in zip(records.raw().T, DECIMALS)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="folder that holds data/thyroid_allbp.data")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--mixed-repeats", type=int, default=3, help="0 leaves Section 7 out")
    arguments = parser.parse_args()
    columns = thyroid(arguments.data)
    records = Records.from_array(np.column_stack([columns[name] for name in CONTINUOUS]), names=CONTINUOUS)
    methods = Methods(records)
    for name in ("Hybrid", "Hybrid (BIC)", "HybridMicro", "Micro"):
        part = methods.partitions[name]
        model = f", {part.facts['covariance model']}" if "covariance model" in part.facts else ""
        print(f"{name}: {part.n_groups} groups{model}, sizes {sorted(part.sizes.tolist(), reverse=True)[:12]}")
    print("The paper's groups: 708, 440, 325, 232, 179, 63.\n")
    rows = ["Hybrid", "Hybrid (BIC)", "Hybrid (range)", "HybridMicro", "Noise", "Synthetic", "Micro"]
    table = {}
    for name in rows:
        once = 1 if name == "Micro" else arguments.repeats
        found = [figures(records, methods.released(name, seed)) for seed in range(once)]
        table[name] = {key: float(np.mean([f[key] for f in found])) for key in found[0]}
    models = [*MODELS, "tree, rounded"]
    print("Table 1: 2N U_p, mean over realisations")
    print(f"{'':14}{'printed':>9}" + "".join(f"{model:>16}" for model in models))
    for name in rows:
        printed = f"{PRINTED[name][0]:.2f}" if name in PRINTED else ""
        print(f"{name:14}{printed:>9}" + "".join(f"{table[name][model]:16.2f}" for model in models))
    null = MODELS["rank, order 3"].judge(
        records, methods.released("Hybrid", 0), None, np.random.default_rng(0)).details
    q, n = null["coefficients"], null["records compared"]
    print(f"with nothing to tell (q = {q}, {n} records stacked): {(q - 1) / 8:.1f} for synthesis from the true model, "
          f"{(q - 1) / 4:.1f} for an independent sample\n")
    print("Table 2: mean change in per cent, printed / ours")
    for name in rows:
        pairs = zip(PRINTED.get(name, ("-",) * 3)[1:3], ("coefficients", "standard errors"))
        print(f"{name:16}" + "".join(f"{f'{printed} / {table[name][key]:.3g}':>22}" for printed, key in pairs))
    print("\nTable 3: change of moments in per cent: printed; ours about zero, mean (median); about the mean, the same")
    for name in rows:
        cells = f"{name:16}"
        for place, order in enumerate(("order 3", "order 4")):
            ours = ["{:.3g} ({:.3g})".format(*(table[name][f"{order} about {about}, {kind}"]
                                             for kind in ("mean", "median"))) for about in ("zero", "mean")]
            printed = PRINTED[name][3 + place] if name in PRINTED else "-"
            cells += f"{order + ':':>11}{printed!s:>6};{ours[0]:>14};{ours[1]:>14}"
        print(cells)
    lowest = {model: min(PRINTED, key=lambda name: table[name][model]) for model in models}
    print("\nLowest of the paper's five methods: " + "; ".join(f"{model}: {name}" for model, name in lowest.items()))
    if arguments.mixed_repeats:
        mixed(columns, arguments.mixed_repeats)


def mixed(columns: dict[str, np.ndarray], repeats: int) -> None:
    """Section 7: five continuous and fifteen binary columns."""
    names = (*CONTINUOUS, *BINARY)
    table = Microdata.of(pl.DataFrame(columns), dict.fromkeys(names, "quasi-identifier"))
    records = table.records.targeting(names)
    settings = {
        "Hybrid": (shoal.LocalSynthesis(k=60, groups=6, models=("VVV",)), shoal.ClassConditional()),
        "Hybrid (BIC)": (shoal.LocalSynthesis(k=60, classes=6),
                         shoal.ClassConditional(continuous=shoal.Normal(support=("range",)))),
        "Synthetic": (shoal.Whole(), shoal.SequentialRegression()),
    }
    print(f"\nSection 7, {len(names)} columns: 2N U_p, mean over {repeats} realisations")
    print(f"{'':16}{'printed':>9}" + "".join(f"{model:>16}" for model in MIXED))
    found = {}
    for name, (partitioner, replacement) in settings.items():
        part = partitioner.partition(records, seed=1)
        new = [replacement.apply(records, part, np.random.default_rng(seed)).records for seed in range(repeats)]
        rng = np.random.default_rng(0)
        found[name] = {key: float(np.mean([model.judge(records, after, None, rng).details["2N U_p"] for after in new]))
                       for key, model in MIXED.items()}
        printed = f"{PRINTED_MIXED[name]:.2f}" if name in PRINTED_MIXED else ""
        print(f"{name:16}{printed:>9}" + "".join(f"{value:16.2f}" for value in found[name].values()))
    factor = PRINTED_MIXED["Synthetic"] / PRINTED_MIXED["Hybrid"]
    for name in ("Hybrid", "Hybrid (BIC)"):
        print(f"Synthetic over {name}: printed {factor:.2f}; ours " + ", ".join(
            f"{key} {found['Synthetic'][key] / found[name][key]:.1f}" for key in MIXED))


if __name__ == "__main__":
    main()
