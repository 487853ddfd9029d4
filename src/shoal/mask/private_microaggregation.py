"""Differential privacy by microaggregation that one record hardly moves (Soria-Comas et al. 2014; Sanchez et al. 2016).

Records are put into an order that is fixed for all values there can be, and cut into groups at fixed places. One record
with other cells then moves a chain of records by one place each: every group between its old place and its new one
loses one record and gets one. So a column's sums move by its range S in each group at most, and by S times the number
of groups in all. In the order of one column alone they move by S in all: the sorted values all move the same way, and
add up to the change of the one cell. Noise is on sums, in whole numbers of grid steps.

Which rank of a column goes with which rank of another is in no sum. Groups of whole records are released whole; columns
that are ranked each by itself cannot be put together again as they were without telling it, whatever noise is on their
means. The proof is in docs/explanation/differential-privacy.md.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Annotated, Literal

import numpy as np

from shoal.mask._marginals.generation import shuffled
from shoal.mask.private_noise import FARTHEST, FineNoise, exact_fraction
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Floats, Generator, Longs, Progress, Records, StepResult, Variable, tracked
from shoal.vocabulary.errors import DataError, ParameterError, plural
from shoal.vocabulary.facts import OfPlan, PrivacyLoss
from shoal.vocabulary.prelude import Count, Facts, Ge, method


@method(
    "private-microaggregation",
    title="Private microaggregation (differential privacy)",
    source="Soria-Comas et al. (2014); Sanchez et al. (2016)",
    example={"k": 3, "epsilon": 1.0, "bounds": {"age": (0, 100), "size": (0, 20)}},
)
class PrivateMicroaggregation(FineNoise):
    """Replaces records by the means of groups, with noise: private for what a record holds.

    What a record holds changes the odds of any release by a factor of at most exp(epsilon). How many records there are
    is not hidden. Each mean is that of k records or more, so its noise is far less than on a cell; a step of many
    columns pays for that with as many groups as it has. With n records it does better than laplace from k > sqrt(n) on.

    Parameters
    ----------
    k
        Smallest group size.
    ranking
        `records`: groups of whole records, in the order of their distance from the lowest bounds; noise grows with the
        number of groups. `columns`: each column in its own order; noise does not grow, but the columns are released
        without what goes together in them, for their ranks would tell it.

    Notes
    -----
    All columns of the release must be among the step's, none of their cells may be missing, and it must be the plan's
    only step. New records are nobody's, and in random order. The grid, the exact draws of noise and the seed are those
    of laplace.
    """

    scales = "memory"
    default_roles = ("quasi-identifier", "confidential", "other", "weight", "stratum")
    leaves_gaps = False
    whole_records = True
    makes_records = True
    public_size = True

    k: Annotated[int, Ge(1)]
    ranking: Literal["records", "columns"] = "records"

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        variables = self.bounded(records, columns)
        if lacking := [v for v in variables if not v.complete]:
            raise DataError(
                f"Column '{lacking[0].name}' has {plural(int(lacking[0].missing.sum()), 'missing cell')}, and "
                f"private-microaggregation hides no gaps. Fill them in before, or set missing: drop for the column."
            )
        stream = SecretStream(rng)
        n, share = len(records), exact_fraction(Fraction(self.epsilon) / max(len(variables), 1))
        sizes = group_sizes(n, self.k)
        made: list[Variable] = []
        ranked = [variables] if self.ranking == "records" else [(variable,) for variable in variables]
        for together in tracked(ranked, progress):
            dealt = np.repeat(np.arange(len(sizes)), sizes)[shuffled(n, stream)]
            means = self.noisy_means(together, sizes, share, stream)
            made += (variable.with_values(of_groups[dealt]) for variable, of_groups in zip(together, means))
        facts: Facts = {
            "privacy loss": PrivacyLoss(
                epsilon=float(share * len(variables)),
                columns=tuple(columns),
                rho=nextafter(float(share**2 * len(variables) / 2), inf),
            ),
            "composition": OfPlan("the epsilons of the columns add up"),
            "records per person": OfPlan(self.records_per_person),
            "groups": Count(n=len(sizes), unit="groups"),
            "smallest group": Count(n=int(sizes.min(initial=n))),
        }
        first = int(records.rows.max(initial=-1)) + 1
        return StepResult(records=Records(variables=tuple(made), rows=np.arange(first, first + n)), facts=facts)

    def noisy_means(
        self, variables: Sequence[Variable], sizes: Longs, epsilon: Fraction, stream: SecretStream
    ) -> list[Floats]:
        """By column, shape (groups,); the means of groups of records in the order of some columns.

        `epsilon`: what each column spends.
        """
        grids = [self.steps_at(variable.name) for variable in variables]
        cells = [self.nearest(v.values, v.name) - bottom for v, (_, bottom, _) in zip(variables, grids)]
        widths = [top - bottom for _, bottom, top in grids]
        order = ranks(cells, widths)
        moved = self.records_per_person * (max(len(sizes), 1) if len(variables) > 1 else 1)
        means: list[Floats] = []
        for variable, steps, width, (grid, bottom, _) in zip(variables, cells, widths, grids):
            if epsilon.denominator * moved * width > FARTHEST:
                raise ParameterError(
                    f"private-microaggregation: the noise for '{variable.name}', with {width:,} grid steps and "
                    f"{len(sizes):,} groups, is more than can be drawn in whole numbers. Choose a coarser grid or a "
                    f"larger k."
                )
            noisy = sums(steps[order], sizes) + self.steps(len(sizes), moved * width, epsilon, stream)
            rounded = (noisy + sizes // 2) // sizes + bottom
            means.append(np.asarray(self.within(rounded, variable.name) * grid, dtype=np.float64))
        return means


def group_sizes(n: int, k: int) -> Longs:
    """The sizes of groups of n records in a row, k or more in each as far as there are so many; they differ by 1."""
    groups = max(n // k, min(n, 1))
    return n // max(groups, 1) + (np.arange(groups) < n % max(groups, 1))


def ranks(cells: Sequence[Longs], widths: Sequence[int]) -> Longs:
    """Shape (n,); the records by distance from the origin, each column in parts of its width; then by their cells.

    Where a record stands between two others depends on its own cells and theirs alone, and equal records are alike.
    """
    distance = np.zeros(len(cells[0]))
    for steps, width in zip(cells, widths):
        distance += (steps / width) ** 2
    return np.lexsort((*cells, distance))


def sums(values: Longs, sizes: Longs) -> Longs:
    """Shape (groups,); the sums of values that stand group by group."""
    ends = np.cumsum(sizes)
    before = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(before[ends] - before[ends - sizes])
