"""Refined: any partition, improved to near the optimum."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, ValidationInfo

from shoal.kernels.partition import partition_loss, refine
from shoal.kernels.partition.bounds import MOST_RECORDS, best_of_columns, groups_of, labels_of
from shoal.kernels.partition.windows import better_in_windows
from shoal.kernels.search.neighbours import candidates
from shoal.partition.ancestor_loss import AncestorLoss
from shoal.partition.base import Partitioner, refuse_unless_k
from shoal.table.prelude import Floats, Generator, Ints, Partition, Progress, Records, part_of, seed_of
from shoal.vocabulary.parameters import Method
from shoal.vocabulary.prelude import Count, DataError, Fact, Facts, Figure, Ge, Nested, ParameterError, Share, method
from shoal.vocabulary.registry import Spec, build, entry

MOVES_PER_RECORD = 40_000
"""Default budget: where the loss of Census, Tarragona and EIA has levelled off (bench/refined.py)."""

MOST_MOVES = 200_000_000
"""Cap on the default budget, about a minute."""

CANDIDATES = 30
"""Neighbours of a record that moves are drawn from; 2k where that is more. 20 to 60 do equally well."""

COLUMNS_KEPT = 20_000
"""Distinct groups collected while annealing, for the exact finish."""

RUNS = 3
"""Runs that share the budget before an exact finish, which wants good groups from different places."""

FINISH_NODES = 5
"""Branch-and-bound nodes for a whole table; nodes, unlike seconds, repeat."""


def _start(spec: Any, info: ValidationInfo) -> Any:
    """The starting method; one with a smaller k, or none, gets Refined's own."""
    k = info.data.get("k")
    name = spec.get("method", spec.get("partition")) if isinstance(spec, Mapping) else spec
    if isinstance(name, str) and k is not None and "k" in entry("partition", name).parameters:
        spec = {"k": k, **(spec if isinstance(spec, Mapping) else {"method": spec})}
    start = build("partition", spec)
    if k is not None and k > getattr(start, "k", k):
        start = replace(start, k=k)
    return start


@method(
    "refined",
    title="Refined: descent, annealing and an exact finish",
    source="shoal",
    example={"start": {"method": "mdav", "k": 3}},
)
class Refined(Partitioner):
    """Groups of k or more with a sum of squared errors near the least there is.

    Starts from any partition. Groups of 2k or more are split; records move between groups and change places
    until no such step lowers the sum of squared errors; then the partition is annealed, with groups dissolved
    and formed on the way, and the best one seen is kept. The result is never worse than the start: both losses
    are computed anew at the end, in compensated sums, and the start is returned if it is not beaten.

    Parameters
    ----------
    k
        Smallest group size; that of the start if not given.
    start
        The partition to start from: a method, its name, or a mapping with its name and parameters. A start
        with a smaller k, or none, is run with the k given here.
    moves
        Budget as a number of proposals. 0: no annealing. By default 40 000 a record, 200 million at most. Under a few
        hundred a record, little is gained over `moves` 0.
    finish
        "windows": afterwards, the groups of overlapping windows of 48 records, or of 12 k if that is more, are
        replaced by the best possible ones for the same records. "columns": windows; then the best partition that can
        be put together from all groups met while annealing and those that column generation adds (up to 5 000
        records), where branch and bound finds one within its nodes that loses less; and windows again. The facts then
        have a proven lower bound of the loss of any partition, and the gap to it. With a finish the budget is spent
        in three annealing runs, the best of which counts, and the default budget is three times as large. Both are
        practical up to k of about 5; beyond, the bound is that of nearest neighbours or little above it.
    weighted
        Sampling weights enter centres and the loss; without an exact finish only.

    Notes
    -----
    Where all columns have hierarchies, and neither weights nor an exact finish are asked for, the loss is not the sum
    of squares but what cells lose that become the nearest common ancestors of their groups, as `centroid` makes them.
    It is annealed from the start or, where these lose less, from the classes that `generalise` finds first; `moves` are
    then 1000 a record by default, 10 million at most.

    Exchanges and relocations are priced by the usual updates of means (Spath 1980); annealing after Kirkpatrick,
    Gelatt & Vecchi (1983). The exact finish solves a set partition by column generation (as Aloise, Hansen,
    Rocha & Santi 2014) and subset-row cuts (Jepsen, Petersen, Spoorendonk & Pisinger 2008) with HiGHS.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)] | None = None
    start: Annotated[Partitioner, BeforeValidator(_start, json_schema_input_type=str | Spec), Method("partition")]
    moves: Annotated[int, Ge(0)] | None = None
    finish: Literal["none", "windows", "columns"] = "none"
    weighted: bool = False

    def __post_init__(self) -> None:
        if self.k is not None and self.k > self.start.smallest:
            raise ParameterError(
                f"refined: k must not exceed the group size that its start promises, {self.start.smallest}; "
                f"got {self.k}. Choose a start with a k."
            )
        if self.weighted and self.finish != "none":
            raise ParameterError("refined: an exact finish knows no weights; set finish: none or weighted: false.")

    @property
    def smallest(self) -> int:
        return self.start.smallest if self.k is None else self.k

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        k, x, weights = self.smallest, records.matrix(columns), self._weights(records)
        if self.finish == "columns" and len(x) > MOST_RECORDS:
            raise ParameterError(
                f"refined: finish 'columns' takes up to {MOST_RECORDS} records; the table has {len(x)}. "
                f"Set finish: windows."
            )
        start = self.start.assign(records, columns, rng, part_of(progress, 0.0, 0.1))
        ancestors = AncestorLoss.of(records, columns) if self.finish == "none" and not self.weighted else None
        if ancestors is not None:
            rest = part_of(progress, 0.1, 0.9)
            starts = [start.labels, *ancestors.walked(k)]
            labels, facts = ancestors.refined(starts, k, None, rng, self.moves, rest)
            part = Partition.of(labels)
            return refuse_unless_k(replace(part, facts={"start": Nested(start.facts), **facts}), k, "refined")
        labels, facts, met = self._search(x, weights, start.labels, rng, progress)
        if self.finish != "none" and k > 1 and len(x) >= 2 * k and x.shape[1]:
            labels, bound = self._finish(x, labels, met, progress)
            facts = {**facts, **bound}
        return self._better(x, weights, start, labels, facts)

    def _weights(self, records: Records) -> Floats | None:
        if not self.weighted:
            return None
        if records.weights is None:
            raise DataError("refined: weighted needs a column with the role weight; the table has none.")
        return records.weights

    def _search(
        self, x: Floats, weights: Floats | None, labels: Ints, rng: Generator, progress: Progress
    ) -> tuple[Ints, Facts, list[Ints]]:
        """Descent and annealing: labels, facts, and the groups met on the way."""
        seed, moves = seed_of(rng), self.moves
        runs = 1 if self.finish == "none" else RUNS
        if moves is None:
            moves = min(MOVES_PER_RECORD * len(x) * runs, MOST_MOVES)
        if len(x) < 2 or not x.shape[1]:
            return labels, {"moves": Count(n=0, unit="moves")}, []
        near = candidates(x, max(CANDIDATES, 2 * self.smallest), progress=part_of(progress, 0.1, 0.1))
        refinements = [
            refine(
                x,
                weights,
                labels,
                near,
                self.smallest,
                seed=seed ^ run,
                moves=moves // runs,
                keep=COLUMNS_KEPT // runs if self.finish == "columns" else 0,
                progress=part_of(progress, 0.2 + 0.6 * run / runs, 0.6 / runs),
            )
            for run in range(runs)
        ]
        best = min(refinements, key=lambda one: one.loss)
        met = [group for one in refinements if len(one.ends) for group in np.split(one.members, one.ends[:-1])]
        moves = sum(one.moves for one in refinements)
        facts: dict[str, Fact] = {
            "moves": Count(n=moves, unit="moves"),
            "loss after descent": Figure(value=best.descended),
        }
        return best.labels, facts, met

    def _finish(self, x: Floats, labels: Ints, met: list[Ints], progress: Progress) -> tuple[Ints, Facts]:
        """Better labels, where there are any, and what is known of the least loss."""
        k, only = self.smallest, self.finish == "windows"
        labels = better_in_windows(x, labels, k, part_of(progress, 0.8, 0.2 if only else 0.05))
        if only:
            return labels, {}
        labels, bound = _by_columns(x, labels, k, met, part_of(progress, 0.85, 0.1))
        labels = better_in_windows(x, labels, k, part_of(progress, 0.95, 0.05))
        loss = partition_loss(x, None, labels)
        gap = max(0.0, 1 - bound / loss) if loss > 0 else 0.0
        return labels, {"no partition loses less than": Figure(value=bound), "gap to that": Share(value=gap)}

    def _better(self, x: Floats, weights: Floats | None, start: Partition, labels: Ints, facts: Facts) -> Partition:
        labels = Partition.of(labels).labels
        before, after = (partition_loss(x, weights, part) for part in (start.labels, labels))
        worse = after > before or len(labels) == 0
        facts = {
            "start": Nested(start.facts),
            "loss of the start": Figure(value=before),
            "refined loss": Figure(value=min(before, after)),
            **facts,
        }
        return refuse_unless_k(
            Partition(labels=start.labels if worse else labels, facts=facts), self.smallest if len(x) else 0, "refined"
        )


def _by_columns(x: Floats, labels: Ints, k: int, met: list[Ints], progress: Progress) -> tuple[Ints, float]:
    """The best partition from all groups met and those that column generation adds; the one at hand where it is."""
    columns = [tuple(group.tolist()) for group in met if k <= len(group) < 2 * k]
    better, bound = best_of_columns(x, k, groups_of(labels), columns, nodes=FINISH_NODES, progress=progress)
    return labels if better is None else labels_of(better, len(x)), bound
