"""Base of all synthesisers: groups that are large enough, the scale of the draw, the support, and the account.

A synthesiser draws new values for columns from a model of their group. The facts it hands on tell how
exactly the moments of every group were kept, how many values left the observed support, how many records came
out unchanged, and what was done about groups too small for the model.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from shoal.kernels.tall import cross
from shoal.replace._residuals.expectation import MultivariateNormal
from shoal.replace._residuals.gaps import ENOUGH, GapDivision
from shoal.replace._residuals.rotation import LAST_DIGIT, NEGLIGIBLE, least_dimensions, leverage, power_of_two, stacks
from shoal.replace.base import Replacement
from shoal.replace.drawing import Draw, Drawing, distributions
from shoal.replace.marginals import Marginals, margin
from shoal.replace.support import Rule, Support
from shoal.table.prelude import Bools, Dealing, Floats, Generator, Longs, Partition, Progress, Records, StepResult
from shoal.vocabulary.facts import ByLabel
from shoal.vocabulary.prelude import ByColumn, Count, Fact, OfOriginal, ParameterError, family, plural, quoted

Small = Literal["refuse", "merge", "allow"]

UNCHANGED = 1e-9
"""A value that moved by less than this part of its column's standard deviation in the group counts as unchanged."""

ROUNDING = 1e-14
"""So does one that moved by less than this part of the column's largest value in the group."""

SINGLED_OUT = 0.99
"""Leverage of a record from which on the kept columns leave it less than a tenth, the root of 1 - .99, of the residual
that it might have."""


@family
class Synthesiser(Replacement):
    """A replacement that draws new values from a model of the group."""

    small: Small = "refuse"
    support: tuple[Rule, ...] = ()
    marginals: Marginals = "raw"

    def _synthesise(
        self,
        records: Records,
        names: Sequence[str],
        partition: Partition,
        given: tuple[str, ...],
        draw: Draw,
        rng: Generator,
        progress: Progress,
        *,
        exact: bool = True,
        needs: Callable[[int], int] = least_dimensions,
    ) -> StepResult:
        """Replace columns by draws; `needs` gives the least dimension of a group's residuals of so many columns."""
        name = self.method_name
        names = [column for column in names if not records[column].missing.all()]
        x, y = records.raw(names), np.column_stack([np.empty((len(records), 0)), *map(at_mean, records.raw(given).T)])
        if not len(x) or not names:
            return StepResult(records=records, facts={"groups": Count(n=partition.n_groups, unit="groups")})
        least = 0 if self.small == "allow" else partition.k
        divided = partial(GapDivision.of, known=~np.isnan(x), least=least, kept=y.shape[1])
        z, least_left = records.matrix(names), needs(len(names))
        groups = large_enough(
            partition, z, lambda p: divided(p).dimensions(y), least_left, y.shape[1], self.small, name, names
        )
        work = Drawing(
            x=x,
            y=y,
            marginals=self.marginals,
            margins=[margin(column[~np.isnan(column)], self.marginals, own) for column, own in zip(x.T, names)],
            support=Support.of(x, self.support),
            draw=draw,
            exact=exact,
        )
        gaps = divided(groups)
        expected = distributions(x, y, groups, np.asarray(np.isnan(x).any(axis=1)), gaps.joined)
        new, drawn = work.values(gaps, expected, rng, progress, shuffle=self.exchangeable)
        facts = {
            "groups": Count(n=groups.n_groups, unit="groups"),
            "groups merged because too small": Count(n=partition.n_groups - groups.n_groups, unit="groups"),
            **account(x, new, y, groups, names, expected),
            "values as drawn": OfOriginal(work.support.violations(drawn)),
            "values as released": OfOriginal(work.support.violations(new)),
        }
        if exact and not work.settles:
            old, now = (filled_in(table, y, groups, expected) for table in (x, new))
            facts["third central moments, in cubed standard deviations"] = OfOriginal(third_moments(old, now, groups))
        if np.isnan(x).any():
            facts["records drawn with others, as few have the same cells"] = Count(n=int(gaps.joined.sum()))
        return StepResult(records=records.with_raw(names, new), facts=facts)


@family
class MomentDraw(Synthesiser):
    """A synthesiser that draws all its columns from the moments of their group and keeps none beside them."""

    @property
    def dealing(self) -> Dealing:
        return "drawn"

    @abstractmethod
    def draw(self, partition: Partition) -> tuple[Draw, bool]:
        """The draw of groups, and True if its moments are exactly theirs."""

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        draw, exact = self.draw(partition)
        return self._synthesise(records, columns, partition, (), draw, rng, progress, exact=exact)


def at_mean(column: Floats) -> Floats:
    """A column with its missing cells at the mean of the known ones; one without any is constant."""
    known = ~np.isnan(column)
    return np.where(known, column, column[known].mean() if known.any() else 0.0)


def kept(records: Records, columns: Sequence[str], given: tuple[str, ...] | None, name: str) -> tuple[str, ...]:
    """The columns a synthesis is conditional on; by default all continuous ones that count and are not replaced."""
    if given is not None:
        if both := [column for column in given if column in columns]:
            raise ParameterError(
                f"{name}: given must name columns that stay, and not {quoted(both)}, which the step replaces. "
                f"Take them out of given or of columns."
            )
        return given
    return tuple(
        column
        for column in records.names("quasi-identifier", "confidential")
        if column not in columns and records[column].continuous
    )


def large_enough(
    partition: Partition,
    z: Floats,
    dimensions: Callable[[Partition], Longs],
    needs: int,
    given: int,
    small: Small,
    name: str,
    columns: Sequence[str] = (),
) -> Partition:
    """The partition, its groups with fewer than `needs` dimensions treated as `small` says; `given` columns are kept.

    Merging joins such a group with the one whose mean over `z`, the standardised columns, is nearest. `columns` names
    those of `z`, where records that have the same cells are drawn together.
    """
    if small == "allow":
        return partition
    while (short := np.flatnonzero(dimensions(partition) < needs)).size:
        size = needs + 1 + given
        condition = f", with {plural(given, 'column')} kept" if given else ""
        counted = ", counting records that have the same cells" if np.isnan(z).any() else ""
        if small == "refuse" or partition.n_groups == 1:
            if columns and partition.sizes[short].min() >= size:  # so that only missing cells can be the reason
                raise _few_cells(partition, z, short, columns, size, small, name)
            merge = ", or set small: merge" if small == "refuse" and partition.n_groups > 1 else ""
            raise ParameterError(
                f"{name} needs groups of {size} records{condition}, so that {needs} dimensions are left to "
                f"draw from; {plural(len(short), 'group')} of {partition.n_groups:,} "
                f"{'is' if len(short) == 1 else 'are'} smaller{counted}. Raise k to {size}, or replace fewer "
                f"columns at once{', or name fewer in given' if given else ''}{merge}."
            )
        partition = _merged(partition, np.nan_to_num(z), short)
    return partition


def _few_cells(
    partition: Partition, z: Floats, short: Longs, columns: Sequence[str], size: int, small: Small, name: str
) -> ParameterError:
    """Groups are large enough, but for their missing cells."""
    counts = partition.sums((~np.isnan(z)).astype(np.float64))[short]
    worst, column = np.unravel_index(int(counts.argmin()), counts.shape)
    least = max(size, min(partition.k, ENOUGH))
    merge = ", set small: merge" if small == "refuse" and partition.n_groups > 1 else ""
    return ParameterError(
        f"{name} draws the records of a group together that have the same cells, and needs {least} of them. "
        f"{plural(len(short), 'group')} of {partition.n_groups:,} {'has' if len(short) == 1 else 'have'} fewer: "
        f"one has {plural(int(counts[worst, column]), 'cell')} of '{columns[int(column)]}' in "
        f"{plural(int(partition.sizes[short[int(worst)]]), 'record')}. Larger groups need not help: set missing: "
        f"impute or drop for such columns{merge}, or set small: allow, with which moments of fewer records are kept."
    )


def _merged(partition: Partition, z: Floats, short: Longs) -> Partition:
    """Every short group joined with the group of the nearest mean."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    means = partition.means(z)
    _, near = cKDTree(means).query(means[short], k=2)
    other = np.where(near[:, 0] == short, near[:, 1], near[:, 0])
    links = coo_array((np.ones(len(short)), (short, other)), shape=(len(means), len(means)))
    _, together = connected_components(links, directed=False)
    return Partition.of(together[partition.labels])


def account(
    x: Floats,
    new: Floats,
    y: Floats,
    groups: Partition,
    names: Sequence[str],
    expected: Mapping[int, MultivariateNormal] | None = None,
) -> ByLabel:
    """Errors of the moments inside the groups and overall, and numbers of what came out as it went in.

    Means are compared relative to the larger of the mean and the standard deviation, covariances relative to the
    product of the standard deviations. In place of missing cells stands what the distributions of groups (`expected`)
    let expect; if not given, the mean of the group's known ones.
    """
    if expected is None:
        incomplete = np.asarray(np.isnan(np.hstack([x, new])).any(axis=1))
        expected = distributions(x, y, groups, incomplete, np.zeros(len(x), dtype=bool))
    x, new = (filled_in(table, y, groups, expected) for table in (x, new))
    worst = np.zeros(3)
    kept_columns = np.zeros(len(names), dtype=np.int64)
    kept_records = singled_out = 0
    for rows in stacks(groups, x.shape[1] + y.shape[1]):
        worst = np.maximum(worst, moment_errors(x[rows], new[rows], y[rows]))
        same = as_it_was(x[rows], new[rows])
        kept_records += int(same.all(axis=2).sum())
        kept_columns += (same.all(axis=1) & (np.ptp(x[rows], axis=1) > 0)).sum(axis=0)
        if y.shape[1]:
            singled_out += int((leverage(y[rows]) > SINGLED_OUT).sum())
    whole = moment_errors(x[None], new[None], y[None])
    labels = ("means", "covariances", "covariances with the kept columns")
    wide = labels if y.shape[1] else labels[:2]
    facts: dict[str, Fact] = {
        "largest relative error inside a group": OfOriginal({label: float(worst[i]) for i, label in enumerate(wide)}),
        "largest relative error overall": OfOriginal({label: float(whole[i]) for i, label in enumerate(wide)}),
        "records unchanged": Count(n=kept_records),
    }
    if kept_columns.any():
        facts["groups in which a column was released as it is"] = ByColumn(
            {name: Count(n=int(count), unit="groups") for name, count in zip(names, kept_columns) if count}
        )
    if singled_out:
        facts["records that the kept columns single out, released all but as they are"] = Count(n=singled_out)
    return facts


def third_moments(x: Floats, new: Floats, groups: Partition) -> dict[str, float]:
    """Largest change of a column's third central moment, and largest bound of such a change, for tables (n, L).

    Where groups keep means and variances, sums of cubes change by at most 2 n B^(3/2), B being the largest squared
    deviation of an old or new value from its group's mean (Domingo-Ferrer & Gonzalez-Nicolas 2010, Lemma 2; there
    max(1, B^(3/2)), which depends on the unit).
    """
    middle, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    z, w = (x - middle) / scale, (new - middle) / scale
    means = groups.means(z)[groups.labels]
    furthest = np.maximum(np.abs(z - means), np.abs(w - means)).max(axis=0)
    change = np.abs((w * w * w).mean(axis=0) - (z * z * z).mean(axis=0))
    bound = 2 * furthest * furthest * furthest
    return {"largest change": float(change.max()), "largest that can be": float(bound.max())}


def filled_in(x: Floats, y: Floats, groups: Partition, expected: Mapping[int, MultivariateNormal]) -> Floats:
    """Shape (n, L); X with what the distributions of groups let expect in place of missing cells."""
    if not expected:
        return x
    out = x.copy()
    for g, rows in enumerate(groups.members()):
        if g in expected:
            out[rows] = expected[g].filled(np.hstack([x[rows], y[rows]]))[:, : x.shape[1]]
    return out


def as_it_was(x: Floats, new: Floats) -> Bools:
    """Shape (B, s, L); which values of a stack of groups came out as they went in."""
    unit = power_of_two(x)
    spread = (x / unit).std(axis=1, keepdims=True)
    return np.asarray(np.abs(new - x) / unit <= np.maximum(UNCHANGED * spread, ROUNDING))


def moment_errors(x: Floats, new: Floats, y: Floats) -> Floats:
    """Largest relative errors of means, covariances, and covariances with Y over a stack of groups (B, s, ...)."""
    unit = power_of_two(x)
    x, new, y = x / unit, new / unit, y / power_of_two(y)
    middle = x[:, :1] + (x - x[:, :1]).mean(axis=1, keepdims=True)
    about, other, kept_about = x - middle, new - middle, y - y[:, :1]
    kept_about = kept_about - kept_about.mean(axis=1, keepdims=True)
    shift = other.mean(axis=1, keepdims=True)
    other = other - shift
    size = x.shape[1]
    # A constant column has no spread to compare with: its own size then sets the scale
    spread = np.sqrt((about**2).mean(axis=1, keepdims=True))
    floor = LAST_DIGIT * np.abs(middle)
    scale = np.where(spread > np.sqrt(size) * floor, spread, np.maximum(np.abs(middle), spread))
    scale = np.where(scale > 0, scale, np.maximum(np.abs(other).max(axis=1, keepdims=True), 1e-300))
    kept_scale = np.sqrt((kept_about**2).mean(axis=1, keepdims=True))
    if y.shape[2]:
        kept_scale = np.where(kept_scale > NEGLIGIBLE * np.abs(y).max(axis=1, keepdims=True), kept_scale, np.inf)
    first, second, third = about / scale, other / scale, kept_about / kept_scale
    means = np.abs(shift) / np.maximum(np.abs(middle), scale)
    covariances = np.abs(cross(first, first) - cross(second, second)) / size
    crossed = np.abs(cross(first - second, third)) / size
    return np.array([part.max(initial=0.0) for part in (means, covariances, crossed)])
