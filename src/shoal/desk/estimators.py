"""The scikit-learn face: partitions with `fit` and `fit_transform`."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from shoal.partition.base import Partitioner
from shoal.table.records import Records
from shoal.table.schema import Scale
from shoal.vocabulary.registry import build, entry


class Microaggregation(BaseEstimator):  # type: ignore[misc]
    """Microaggregate numeric columns.

    There is no `transform` on purpose: records that were not there when the groups were formed would become
    groups of one.

    Parameters
    ----------
    method
        A partition method, its registered name, or a mapping as in a plan.
    k
        Smallest group size, for a method given by name.
    replace
        A replacement, its registered name, or a mapping as in a plan.
    scale
        How columns are standardised before distances: sd, range, mad, rank or none.
    random_state
        Seed or generator for methods with randomness.

    Attributes
    ----------
    labels_
        Shape (n,); group of each record.
    partition_
        The `Partition` itself.

    Examples
    --------
    >>> import numpy as np
    >>> Microaggregation(k=2).fit_transform(np.array([[1.0], [2.0], [9.0], [11.0]])).ravel().tolist()
    [1.5, 1.5, 10.0, 10.0]
    """

    def __init__(
        self, method: Any = "mdav", k: int = 3, replace: Any = "centroid", scale: Scale = "sd", random_state: Any = None
    ) -> None:
        self.method = method
        self.k = k
        self.replace = replace
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Form the groups of the rows of X, shape (n, d); y is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The protected rows, shape (n, d), in X's own units; y is ignored."""
        records, rng = self._fit(X)
        change = build("replace", self.replace).apply(records, records.names(), self.partition_, rng)
        return change.records.raw(records.names())

    def _fit(self, X: Any) -> tuple[Records, np.random.Generator]:
        x = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        records = Records.from_array(x, self.scale)
        rng = np.random.default_rng(_seed(self.random_state))
        self.partition_ = self._partitioner().partition(records, seed=rng)
        self.labels_ = np.array(self.partition_.labels)
        return records, rng

    def _partitioner(self) -> Partitioner:
        spec = self.method
        if isinstance(spec, str):
            spec = {"method": spec, "k": self.k} if "k" in entry("partition", spec).parameters else spec
        partitioner: Partitioner = build("partition", spec)
        return partitioner


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(0, 2**31)
    return random_state
