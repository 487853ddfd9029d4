"""Train on the release, test on the original."""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.judges.prelude import Finding, Floats, Generator, TablePair, Variable, comparable
from shoal.judges.space import embedded
from shoal.judges.table_pair import codes_like
from shoal.kernels.draws import drawn_rows
from shoal.kernels.elementary import normal_quantile
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import MissingDependency
from shoal.vocabulary.prelude import ColumnName, Columns, Count, Figure, Ge, Interval, NoFigure, OfPlan, method


@method(
    "train-test",
    title="Train on the release, test on the original",
    source="Esteban, Hyland & Ratsch (2017), with cross-fitting",
    example={"target": "income"},
)
class TrainTest(UtilityMeasure):
    """Loss of a model of a target, in predictions of originals, if it was trained on the release.

    The original is cut into folds. For each one a model is trained on the original records of the other folds, and one
    on the released records of the other folds (on all where it is not known who is who); both predict the originals of
    the fold. The figure is the difference of their scores, share of right predictions for a categorical target and R
    squared for a continuous one; 0 or less says that nothing was lost. The interval is that of the paired
    differences over records (for R squared, of the squared errors over the target's variance).

    Parameters
    ----------
    target
        The column to predict.
    columns
        What it is predicted from; by default all other quasi-identifiers and confidential columns.
    model
        A random `forest` or a `linear` (logistic) model of the standardised columns; both need scikit-learn.
    folds
        Number of parts.
    sample
        So many records of each table are used at most, drawn at random.
    """

    limits = (-np.inf, np.inf)

    target: Annotated[str, ColumnName()]
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    model: Literal["forest", "linear"] = "forest"
    folds: Annotated[int, Ge(2)] = 5
    sample: Annotated[int, Ge(20)] = 20_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        pair.common([self.target])
        features = tuple(n for n in pair.common(self.columns, "quasi-identifier", "confidential") if n != self.target)
        if not features:
            raise NoFigure("There is no column to predict the target from in both tables.")
        place = pair.place
        if place is None:
            features = comparable(original, released, features)
        if not comparable(original, released, [self.target]):
            raise NoFigure("The target holds numbers in one table and labels in the other.")
        x, z = embedded(original, released, features, place)
        truth, learned = _targets(original[self.target], released[self.target])
        present = [np.flatnonzero(_present(values)) for values in (truth, learned)]
        kept, trained = (rows[drawn_rows(rng, len(rows), self.sample)] for rows in present)
        if min(len(kept), len(trained)) < 2 * self.folds:
            raise NoFigure(f"There are fewer than {2 * self.folds} records with a target in one of the tables.")
        if len(np.unique(truth[kept])) < 2:
            raise NoFigure("The target does not vary, so there is nothing to predict.")
        fold = rng.permutation(len(original)) % self.folds
        released_fold = np.full(len(released), -1) if place is None else fold[place]
        continuous = original[self.target].continuous
        seed = int(rng.integers(2**31))
        errors = np.empty((2, len(kept)))
        for f in range(self.folds):
            where = fold[kept] == f
            test = kept[where]
            sources = (x, truth, kept[~where]), (z, learned, trained[released_fold[trained] != f])
            for i, (data, values, rows) in enumerate(sources):
                guess = _predict(self.model, continuous, seed, data[rows], values[rows], x[test])
                errors[i, where] = (guess - truth[test]) ** 2 if continuous else guess != truth[test]
        if continuous:
            errors /= float(truth[kept].var())
        scores = 1 - errors.mean(axis=1)
        loss = float((errors[1] - errors[0]).mean())
        what = "R squared" if continuous else "share of right predictions"
        return self.finding(
            loss,
            f"A model of '{self.target}' reaches {scores[0]:.3f} ({what}) trained on the original and {scores[1]:.3f} "
            f"trained on the release.",
            interval=_interval(errors[1] - errors[0]),
            facts={
                "score": OfPlan(what),
                "trained on the original": Figure(value=float(scores[0]), better="higher"),
                "trained on the release": Figure(value=float(scores[1]), better="higher"),
                "model": OfPlan(self.model),
                "folds": OfPlan(self.folds),
                "records": Count(n=len(kept)),
            },
        )


def _interval(difference: Floats) -> Interval:
    """Normal confidence interval of the mean of some differences, at 95 per cent."""
    mean = float(difference.mean())
    half = float(normal_quantile(0.975)) * float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return Interval(low=mean - half, high=mean + half)


def _targets(before: Variable, after: Variable) -> tuple[NDArray[Any], NDArray[Any]]:
    """The target in both tables: numbers, or the original's codes with -1 for what it does not have."""
    if before.continuous:
        return before.values, after.values
    return before.values.astype(np.int64), codes_like(before, after)


def _present(values: NDArray[Any]) -> NDArray[np.bool_]:
    return ~np.isnan(values) if values.dtype.kind == "f" else values >= 0


def _predict(model: str, continuous: bool, seed: int, x: Floats, y: NDArray[Any], new: Floats) -> NDArray[Any]:
    if not continuous and len(np.unique(y)) == 1:
        return np.full(len(new), y[0])  # the release left one category: nothing else can be predicted
    try:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        from sklearn.linear_model import LinearRegression, LogisticRegression
    except ImportError:
        raise MissingDependency("train-test", "scikit-learn", "models") from None
    made: Any
    if model == "forest":
        kind = RandomForestRegressor if continuous else RandomForestClassifier
        made = kind(n_estimators=50, random_state=seed, n_jobs=1)
    else:
        made = LinearRegression() if continuous else LogisticRegression(max_iter=1000)
    return np.asarray(made.fit(x, y).predict(new))
