"""Change of the moments up to order 4."""

from typing import Annotated, Any, Literal

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, Records, TablePair
from shoal.kernels import linear
from shoal.kernels.tall import cross
from shoal.table.partition import Partition
from shoal.utility.base import UtilityMeasure
from shoal.utility.correlation_change import complete
from shoal.vocabulary.prelude import ByLabel, Columns, Ge, NoFigure, in_digits, method, of_original

BLOCK = 1 << 12
"""Records whose products are held at once."""

MOST = 2_000_000_000
"""Most products that the predicted moments of many groups may take: some seconds."""


@method("moments", title="Change of moments to order 4", source="Oganian & Domingo-Ferrer (2017), Section 5")
class Moments(UtilityMeasure):
    """Median relative change |m' - m| / |m| of all moments of one order, mixed ones included.

    The figure is that of `order`; the others, from means to order 4, stand in the details, with their means. Columns
    that are constant in the original are left out, and listed. With a partition also what a normal distribution in
    every group predicts, whose mean and covariance are the group's (Oganian & Domingo-Ferrer 2017, equations 7 to 9):
    the part of the change that comes from groups which are not normal.

    Parameters
    ----------
    order
        Order of the moments in the figure.
    about
        Central moments, or moments about zero, which the means dominate.
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    most
        So many columns are compared at most: their moments of order 4 grow as the fourth power.
    average
        The `median`, or the `mean` of the source, which a moment near 0 makes large whatever became of the others.
    """

    unchanged = 0.0
    needs = ("columns",)
    continuous = True

    order: Literal[1, 2, 3, 4] = 4
    about: Literal["mean", "zero"] = "mean"
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    most: Annotated[int, Ge(1)] = 20
    average: Literal["median", "mean"] = "median"

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        partition = pair.groups
        names = self.compared(pair)
        if len(names) > self.most:
            raise NoFigure(f"More than {self.most} continuous columns; name fewer in columns, or raise most.")
        x, y = complete(original.raw(names)), complete(released.raw(names))
        if min(len(x), len(y)) < 2:
            raise NoFigure("A table has fewer than two complete records.")
        varies = np.ptp(x, axis=0) > 0
        if not varies.any():
            raise NoFigure("Every column is constant in the original, so there are no moments to compare.")
        x, y = x[:, varies], y[:, varies]
        spread = x.std(axis=0)
        middle = x.mean(axis=0)
        central = self.about == "mean"
        before = product_moments((x - middle if central else x) / spread)
        after = product_moments((y - y.mean(axis=0) if central else y) / spread)
        changes = {1: np.abs(y.mean(axis=0) - middle) / np.abs(np.where(middle != 0, middle, np.nan))}
        changes |= {order: _relative(after[order], before[order]) for order in (2, 3, 4)}
        details: ByLabel = {
            "mean relative change": {f"order {o}": _figure(np.nanmean, change) for o, change in changes.items()},
            "median relative change": {f"order {o}": _figure(np.nanmedian, change) for o, change in changes.items()},
            "moments": {f"order {o}": int(np.isfinite(change).sum()) for o, change in changes.items()},
            "constant columns": [name for name, v in zip(names, varies) if not v],
        }
        if partition is not None and (predicted := self._predicted(original, names, varies, partition)) is not None:
            details["predicted by normal groups"] = {
                f"order {o}": _figure(np.nanmean, _relative(predicted[o], before[o])) for o in (2, 3, 4)
            }
        value = details[f"{self.average} relative change"][f"order {self.order}"]
        if value is None:
            raise NoFigure(f"Every moment of order {self.order} is 0 in the original: there is no relative change.")
        middle_change = details["median relative change"][f"order {self.order}"]
        return self.finding(
            value,
            f"Half of the moments of order {self.order} change by less than {in_digits(100 * middle_change, 3)} %.",
            facts=of_original(details),
        )

    def _predicted(
        self, original: Records, names: tuple[str, ...], varies: Any, partition: Partition
    ) -> dict[int, Floats] | None:
        x = original.raw(names)[:, varies]
        if len(partition) != len(x) or np.isnan(x).any() or partition.n_groups * x.shape[1] ** 4 > MOST:
            return None
        z = (x - x.mean(axis=0) if self.about == "mean" else x) / x.std(axis=0)
        means = partition.means(z)
        off = z - means[partition.labels]
        pairs = (off[:, :, None] * off[:, None, :]).reshape(len(z), -1)
        covariances = (partition.sums(pairs) / partition.sizes[:, None]).reshape(-1, z.shape[1], z.shape[1])
        return normal_mixture_moments(partition.sizes / len(z), means, covariances)


def product_moments(z: Floats) -> dict[int, Floats]:
    """Means of all different products of 2, 3, 4 columns of (n, d), in the order of rising column numbers."""
    n, d = z.shape
    first, second = np.triu_indices(d)
    three = np.zeros((len(first), d))
    four = np.zeros((len(first), len(first)))
    two = np.zeros(len(first))
    for start in range(0, n, BLOCK):
        block = z[start : start + BLOCK]
        pairs = block[:, first] * block[:, second]
        two += pairs.sum(axis=0)
        three += cross(pairs[None], block[None])[0]
        four += cross(pairs[None], pairs[None])[0]
    return {2: two / n, 3: three[_thirds(d)] / n, 4: four[_fourths(d)] / n}


def _products(a: Floats, b: Floats) -> Floats:
    """Shape (d, ..., d, ...); sums over the groups of all products of their values."""
    flat = linear.cross_product(a.reshape(len(a), -1), b.reshape(len(b), -1))
    return flat.reshape(*a.shape[1:], *b.shape[1:])


def normal_mixture_moments(weights: Floats, means: Floats, covariances: Floats) -> dict[int, Floats]:
    """The same moments of a mixture of normal distributions.

    Oganian & Domingo-Ferrer (2017), equations (7) and (8). A normal mixed moment of order 3, with a component's mean m
    and covariance S, is the sum over ways to split the indices into singles (m) and pairs (S): m m m + m S in 3 ways;
    of order 4: m m m m + m m S in 6 ways + S S in 3 ways.

    `weights`, `means`, `covariances`: shapes (G,), (G, d), (G, d, d).
    """
    d = means.shape[1]
    first, second = np.triu_indices(d)
    outer = means[:, :, None] * means[:, None, :]
    both = (covariances + outer)[:, first, second]
    two = linear.product(weights[None], both)[0]
    three = _products(weights[:, None] * means, covariances)
    three = three + three.transpose(1, 0, 2) + three.transpose(1, 2, 0)
    three += _products(weights[:, None, None] * outer, means)
    flat = (len(weights), d * d)
    weighted = weights[:, None] * covariances.reshape(flat)
    s, m = covariances.reshape(flat), outer.reshape(flat)
    ss, ms, mm = (
        cross(left[None], right[None])[0].reshape(d, d, d, d)
        for left, right in ((weighted, s), (weights[:, None] * m, s), (weights[:, None] * m, m))
    )
    four = mm + ss + ss.transpose(0, 2, 1, 3) + ss.transpose(0, 2, 3, 1)
    for order in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1), (2, 0, 1, 3), (2, 0, 3, 1), (2, 3, 0, 1)):
        four = four + ms.transpose(order)
    pair = np.arange(len(first))
    return {
        2: two,
        3: three[first[:, None], second[:, None], np.arange(d)[None, :]][_thirds(d)],
        4: four[first[:, None], second[:, None], first[pair][None, :], second[pair][None, :]][_fourths(d)],
    }


def _thirds(d: int) -> tuple[Any, Any]:
    """Places, among pairs times columns, of the different triples i <= j <= k."""
    _, second = np.triu_indices(d)
    rows, columns = np.nonzero(second[:, None] <= np.arange(d)[None, :])
    return rows, columns


def _fourths(d: int) -> tuple[Any, Any]:
    """Places, among pairs times pairs, of the different quadruples."""
    first, second = np.triu_indices(d)
    rows, columns = np.nonzero(second[:, None] <= first[None, :])
    return rows, columns


def _relative(after: Floats, before: Floats) -> Floats:
    """|m' - m| / |m|; not a number where the original moment is 0 but for rounding (columns of variance 1)."""
    real = np.abs(before) > 1e-12
    return np.where(real, np.abs(after - before) / np.where(real, np.abs(before), 1.0), np.nan)


def _figure(summary: Any, change: Floats) -> float | None:
    return float(summary(change)) if np.isfinite(change).any() else None
