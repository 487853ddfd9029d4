"""What a classifier learns from generalised records: areas under the ROC curve on records that nobody touched.

    python bench/usefulness.py [--data FOLDER] [--k 2 5 10 50] [--splits N] [--effort N] [--records N] [--arx FOLDER]

The salary class of Adult is predicted from eight columns. A third of the records is kept apart, another random one in
each of N splits (those of one split differ by more than what is compared: the area of the table as it came goes from
.879 to .888); the others are generalised by `generalise`, local, without a target and for the salary class, and by ARX
where --arx names its folder (see peers/generalise.py). Shown are the means over the splits, how far the mean lies from
that of the table as it came, and the least and the greatest.

A cell under a label is one of the leaves that the label covers. It stands in the model as the shares of the leaves,
each as frequent among the label's leaves as the column's labels say (the EM estimate of the leaves' frequencies from
the released labels); as the shares of the nodes above the leaves, so that what a label does tell is not blurred; and,
for numbers, as their mean. Records kept apart stand there as they are. Logistic regression and gradient boosting are
scikit-learn's, with its defaults but for the number of iterations.
"""

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "peers"))
from generalise import COLUMNS, Adult, arx_table

from shoal import Generalise, Hierarchy, Microdata

TARGET = "salary-class"
EM_ROUNDS = 30


class Leaves:
    """One column: what leaves there are, which of them a label covers, and the nodes above them."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="") as file:
            self.rows = list(csv.reader(file, delimiter=";"))
        self.names = [row[0] for row in self.rows]
        self.numbers = np.array([float(n) for n in self.names]) if all(map(str.isdigit, self.names)) else None
        inner = sorted({label for row in self.rows for label in row[1:-1]} - set(self.names))
        self.above = self.covered(inner).T

    def covered(self, labels: list[str]) -> np.ndarray:
        """Shape (labels, leaves); whether a label stands for a leaf."""
        return np.array([[label in row for row in self.rows] for label in labels], dtype=float)

    def features(self, cells: list[str]) -> np.ndarray:
        """Shape (cells, nodes [+ 1]); shares of the leaves that a cell may be and of the nodes above, the mean."""
        labels = sorted(set(cells))
        place = {label: i for i, label in enumerate(labels)}
        rows = np.array([place[cell] for cell in cells])
        covered, times = self.covered(labels), np.bincount(rows, minlength=len(labels))
        share = np.full(len(self.names), 1 / len(self.names))
        for _ in range(EM_ROUNDS):
            expected = covered * share
            expected /= expected.sum(axis=1, keepdims=True)
            share = times @ expected / len(cells)
        shares = expected[rows]
        parts = [shares, shares @ self.above] if self.above.size else [shares]
        return np.column_stack(parts if self.numbers is None else [*parts, shares @ self.numbers / 100])


def areas(train: pl.DataFrame, salary: np.ndarray, test: pl.DataFrame, truth: np.ndarray, prefix: str) -> list[float]:
    """Areas under the curve of logistic regression and of gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    columns = [Leaves(Path(f"{prefix}{name}.csv")) for name in COLUMNS]
    x, new = (
        np.column_stack([leaves.features(table[name].to_list()) for leaves, name in zip(columns, COLUMNS)])
        for table in (train, test)
    )
    models = (LogisticRegression(max_iter=1000), HistGradientBoostingClassifier(random_state=0))
    return [float(roc_auc_score(truth, model.fit(x, salary).predict_proba(new)[:, 1])) for model in models]


def generalised(adult: Adult, k: int, effort: int | None, target: pl.Series | None) -> pl.DataFrame:
    spec: dict[str, object] = {
        name: {
            "role": "quasi-identifier",
            "level": "nominal",
            "hierarchy": Hierarchy.from_csv(f"{adult.prefix}{name}.csv"),
        }
        for name in COLUMNS
    }
    name = None if target is None else target.name
    table = adult.table if target is None else adult.table.with_columns(target)
    micro = Microdata.of(table, spec if target is None else {**spec, target.name: "confidential"})
    method = Generalise(k=k, recoding="local", effort=effort, target=name)
    change = method.apply(micro.records, adult.columns, np.random.default_rng(0))
    released: pl.DataFrame = micro.rebuild(change.records).native
    return released


def show(title: str, curves: np.ndarray, plain: np.ndarray) -> None:
    """`curves` and `plain`, those of the table as it came: shape (splits, 2)."""
    figures = []
    for model, area, without in zip(("logistic", "boosting"), curves.T, plain.T):
        under = (without - area).mean()
        figures.append(f"{model} {area.mean():.4f} ({0 - under:+.4f}; {area.min():.4f} to {area.max():.4f})")
    print(f"{title:<28} {'   '.join(figures)}", flush=True)


def apart(records: int, split: int) -> np.ndarray:
    """Which records are kept apart: a random third."""
    chosen = np.zeros(records, dtype=bool)
    chosen[np.random.default_rng(split).permutation(records)[: records // 3]] = True
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "adult")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10, 50])
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--effort", type=int)
    parser.add_argument("--records", type=int, help="the first so many records only")
    parser.add_argument("--arx", type=Path)
    given = parser.parse_args()
    if not (given.data / "adult.csv").is_file():
        sys.exit(f"There is no adult.csv in {given.data}: name the folder with --data.")
    whole = pl.read_csv(given.data / "adult.csv", separator=";", infer_schema=False).head(given.records or 10**9)
    salary = (whole[TARGET] == ">50K").to_numpy()
    adult = Adult(given.data, COLUMNS, None)

    def learned(release: Callable[[pl.Series], pl.DataFrame]) -> np.ndarray:
        """Shape (splits, 2), from what `release` makes of the records of each split, whose salary class it is given."""
        curves = []
        for split in range(given.splits):
            kept = apart(len(whole), split)
            adult.table = whole.filter(~kept).select(COLUMNS)
            test = whole.filter(kept).select(COLUMNS)
            released = release(whole.filter(~kept)[TARGET])
            curves.append(areas(released, salary[~kept], test, salary[kept], adult.prefix))
        return np.array(curves)

    plain = learned(lambda salary: adult.table)
    show("as they came", plain, plain)
    for k in given.k:
        for title, release in {
            "shoal local": lambda salary, k=k: generalised(adult, k, given.effort, None),
            "shoal local, for it": lambda salary, k=k: generalised(adult, k, given.effort, salary),
            "ARX local": lambda salary, k=k: arx_table(given.arx, adult, "local", k, 1.0, 0.01)[0],
        }.items():
            if given.arx is not None or title != "ARX local":
                show(f"{title}, k = {k}", learned(release), plain)
