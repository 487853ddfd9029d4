"""Local suppression for what is required beside k: people of a population, or figures of the whole table.

Where people are counted and a missing cell matches every value, cells are sought class by class (`people`). Every other
requirement is met by as much suppression for a k as it takes: the least k at which all hold, and of the records that
lose cells for this k no more than are needed, those first that gain most for their cost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Verdict
from shoal.judges.population import Candidates, in_population
from shoal.judges.table_pair import TablePair
from shoal.mask._generalisation.requirements import as_quasi_identifiers
from shoal.mask._suppression.people import Move, Prices, Spreading, reach_people
from shoal.mask._suppression.task import row_ids, without_cells
from shoal.mask._suppression.weighted import Cover
from shoal.privacy.base import PrivacyModel
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.table.laws import Laws
from shoal.table.prelude import Floats, Ints, Longs, MissingCells, Records
from shoal.vocabulary.errors import ParameterError, Refused
from shoal.vocabulary.facts import ByLabel

Operations = list[tuple[int, tuple[int, ...]]]
"""Records, each with the keys that it loses."""

Solver = Callable[[Ints, int, Prices, MissingCells], Operations]
"""Cells to blank in the keys of some records, shape (n, q), for a k and a reading of missing cells."""


def check_reading(model: PrivacyModel) -> None:
    """Refuse to blank cells for people who would not be counted then.

    Raises ParameterError if a missing cell is not to match every value.
    """
    if isinstance(model, KMap | DeltaPresence) and model.population is not None and model.missing != "wildcard":
        raise ParameterError(
            f"suppress: a cell that is blanked lets a record be of more people only where a missing cell matches "
            f"every value; give the requirement {model.method_name} missing: wildcard."
        )


def counts_people(model: PrivacyModel) -> bool:
    """True if cells are sought by the people whom a record may be of."""
    return isinstance(model, KMap | DeltaPresence) and model.missing == "wildcard"


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """Requirements of a table whose cells are blanked."""

    models: tuple[PrivacyModel, ...]
    before: Records  # The records as they came in
    keys: tuple[str, ...]  # The columns that may lose cells, in the order in which cells are blanked
    missing: MissingCells  # What a missing cell matches where a model leaves it open
    laws: Laws  # Of the records as they came in

    def pair(self, blanked: Records, *, filled_in: bool) -> TablePair:
        """The tables as models judge them; not `filled_in`, as the cells stand."""
        before, after = (as_quasi_identifiers(records, self.keys) for records in (self.before, blanked))
        known = closure(after, laws=self.laws) if filled_in else Closure(records=after, filled={})
        return TablePair.of(before, after, known=known, missing=self.missing, traced=True)

    def unmet(self, blanked: Records, *, filled_in: bool) -> list[tuple[PrivacyModel, Verdict]]:
        """The models that do not hold, and why."""
        pair = self.pair(blanked, filled_in=filled_in)
        judged = [(model, model.verdict_on(pair)) for model in self.models]
        return [(model, verdict) for model, verdict in judged if not verdict.holds]

    def blank(self, model: PrivacyModel, released: Records, codes: Ints, prices: Prices, solve: Solver) -> ByLabel:
        """Blank cells in `codes`, shape (n, q or more), for a model that does not hold; what there is to tell.

        Raises Refused if nothing can be said of the model on such a table.
        """
        pair = self.pair(released, filled_in=False)
        verdict = model.verdict_on(pair)
        if not verdict.holds and verdict.achieved is None:
            raise Refused(f"suppress: {verdict.requirement}: {verdict.sentence}")
        if counts_people(model):
            for rows, columns in self._moves(model, pair, verdict, prices):
                codes[np.ix_(rows, np.array(columns, dtype=np.int64))] = -1
            return {}
        treatment = self._treatment(model, released, np.ascontiguousarray(codes[:, : len(self.keys)]), prices, solve)
        if treatment is None:
            return {}
        k, operations = treatment
        for row, columns in operations:
            lost = tuple(j for j in columns if codes[row, j] >= 0)
            codes[row, list(lost)] = -1
            prices.spend(lost, 1)
        return {f"for {model.method_name}": {"k": k, "records treated": len(operations)}}

    def _moves(self, model: PrivacyModel, pair: TablePair, verdict: Verdict, prices: Prices) -> Iterator[Move]:
        """Cells to blank for a model that counts people."""
        place = [self.keys.index(name) for name in pair.released.quasi_identifiers]
        own = Prices(cost=prices.cost[place], allowance=prices.allowance[place])
        moves: Iterator[Move] = iter(())
        if isinstance(model, KMap) and verdict.failing is not None:
            candidates = model.candidates(pair)
            if model.population is None:
                moves = _by_weights(candidates, model, pair, own)
            else:
                moves = reach_people(candidates, verdict.failing, model.k, own)
        elif isinstance(model, DeltaPresence):
            among = in_population(pair, model.population, model.count, model.missing, model.unit)
            moves = Spreading(among, model.least, model.largest, own).moves()
        for rows, columns in moves:
            chosen = tuple(place[j] for j in columns)
            prices.spend(chosen, len(rows))
            yield rows, chosen

    def _treatment(
        self, model: PrivacyModel, released: Records, codes: Ints, prices: Prices, solve: Solver
    ) -> tuple[int, Operations] | None:
        reading: MissingCells = getattr(model, "missing", None) or self.missing

        def solution(k: int) -> Operations:
            return solve(codes, k, prices, reading)

        def holds(operations: Operations) -> bool:
            blank = np.zeros(codes.shape, dtype=bool)
            for row, columns in operations:
                blank[row, list(columns)] = True
            after = without_cells(released, self.keys, blank & (codes >= 0))
            return model.verdict_on(self.pair(after, filled_in=False)).holds

        have = released.matching(self.keys, reading)
        return least_treatment(solution, holds, have, codes, prices.cost)


def _by_weights(them: Candidates, model: KMap, pair: TablePair, prices: Prices) -> Iterator[Move]:
    """Cells after which the weights that match each record reach k."""
    codes = np.column_stack([column.records[them.record] for column in them.columns])
    weights = np.bincount(them.of_record, weights=model.weights_of(pair)).astype(np.float64)
    for c, columns in Cover(codes, weights, model.people(pair)[them.record], them.sizes, model.k, prices).solve():
        yield np.flatnonzero(them.of_record == c), columns


def least_treatment(
    solve: Callable[[int], Operations], holds: Callable[[Operations], bool], have: Longs, codes: Ints, cost: Floats
) -> tuple[int, Operations] | None:
    """The least suppression for a k that meets what is required, after that k; None where none does.

    `solve`: what to blank for a k; `holds`: whether the requirements hold once some of it is blanked; `have`, shape
    (n,): records that each record may stand for; `codes`, shape (n, q): the keys; `cost`, shape (q,): of a cell.
    """
    n = len(codes)
    low, high = 1, min(2, n)
    while not holds(operations := solve(high)):
        if high >= n:
            return None
        low, high = high, min(2 * high, n)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(better := solve(middle)):
            high, operations = middle, better
        else:
            low = middle
    operations = _by_gain(operations, have, codes, cost, high)
    few, enough = -1, len(operations)
    while enough - few > 1:
        middle = (few + enough) // 2
        if holds(operations[:middle]):
            enough = middle
        else:
            few = middle
    return high, operations[:enough]


def _by_gain(operations: Operations, have: Longs, codes: Ints, cost: Floats, k: int) -> Operations:
    """The operations, those that end in one pattern together, and first those that take most risk for their cost."""
    if not operations:
        return []
    after = np.array([codes[row] for row, _ in operations])
    for place, (_, columns) in enumerate(operations):
        after[place, list(columns)] = -1
    ids = row_ids(after)
    units: list[Operations] = [[] for _ in range(int(ids.max()) + 1)]
    for unit, operation in zip(ids.tolist(), operations):
        units[unit].append(operation)

    def price_of_gain(unit: Operations) -> float:
        gain = sum(max(1 / have[row] - 1 / k, 0.0) for row, _ in unit)
        price = sum(float(cost[list(columns)].sum()) for _, columns in unit)
        return float(price / max(gain, 1e-12))

    return [operation for unit in sorted(units, key=price_of_gain) for operation in unit]
