"""What a classifier learns from generalised records: areas under the ROC curve on records that nobody touched.

    python bench/usefulness.py [--data FOLDER] [--k 2 5 10 50] [--effort N] [--records N] [--arx FOLDER]

The salary class of Adult is predicted from eight columns. Every third record is kept apart; the others are generalised
by `generalise`, local, and by ARX where --arx names its folder (see peers/generalise.py). A cell under a label is one
of the leaves that the label covers: it stands in the model as the shares of the leaves, each as frequent among the
label's leaves as the column's labels say (the EM estimate of the leaves' frequencies from the released labels), and,
for numbers, as their mean. Records kept apart stand there as they are. Logistic regression and gradient boosting are
scikit-learn's, with its defaults but for the number of iterations.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "peers"))
from generalise import COLUMNS, Adult, arx_table

from shoal import Generalise

TARGET = "salary-class"
EM_ROUNDS = 30


class Leaves:
    """One column: what leaves there are, and which of them a label covers."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="") as file:
            self.rows = list(csv.reader(file, delimiter=";"))
        self.names = [row[0] for row in self.rows]
        self.numbers = np.array([float(n) for n in self.names]) if all(map(str.isdigit, self.names)) else None

    def covered(self, labels: list[str]) -> np.ndarray:
        """Shape (labels, leaves); whether a label stands for a leaf."""
        return np.array([[label in row for row in self.rows] for label in labels], dtype=float)

    def features(self, cells: list[str]) -> np.ndarray:
        """Shape (cells, leaves [+ 1]); shares of the leaves that a cell may be, and the mean of numbers."""
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
        return shares if self.numbers is None else np.column_stack([shares, shares @ self.numbers / 100])


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


def generalised(adult: Adult, k: int, effort: int | None) -> pl.DataFrame:
    micro = adult.microdata()
    method = Generalise(k=k, recoding="local", effort=effort)
    change = method.apply(micro.records, adult.columns, np.random.default_rng(0))
    released: pl.DataFrame = micro.rebuild(change.records).native
    return released


def show(title: str, curves: list[float]) -> None:
    print(f"{title:<28} logistic {curves[0]:.4f}   boosting {curves[1]:.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "adult")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 5, 10, 50])
    parser.add_argument("--effort", type=int)
    parser.add_argument("--records", type=int, help="the first so many records only")
    parser.add_argument("--arx", type=Path)
    given = parser.parse_args()
    if not (given.data / "adult.csv").is_file():
        sys.exit(f"There is no adult.csv in {given.data}: name the folder with --data.")
    whole = pl.read_csv(given.data / "adult.csv", separator=";", infer_schema=False).head(given.records or 10**9)
    apart = np.arange(len(whole)) % 3 == 0
    salary = (whole[TARGET] == ">50K").to_numpy()
    adult = Adult(given.data, COLUMNS, None)
    adult.table = whole.filter(~apart).select(COLUMNS)
    test = whole.filter(apart).select(COLUMNS)

    def learned(train: pl.DataFrame) -> list[float]:
        return areas(train, salary[~apart], test, salary[apart], adult.prefix)

    show("as they came", learned(adult.table))
    for k in given.k:
        show(f"shoal local, k = {k}", learned(generalised(adult, k, given.effort)))
        if given.arx is not None:
            show(f"ARX local, k = {k}", learned(arx_table(given.arx, adult, "local", k, 1.0, 0.01)[0]))
