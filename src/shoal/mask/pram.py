"""PRAM, the post-randomisation method (Gouweleeuw, Kooiman, Willenborg & de Wolf 1998)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from shoal.kernels import linear
from shoal.kernels.arrays import floats, ints
from shoal.kernels.draws import RecordDraws
from shoal.mask.base import Mask
from shoal.table.prelude import Floats, Generator, Ints, Progress, Records, StepResult, Variable
from shoal.vocabulary.errors import ParameterError, quoted
from shoal.vocabulary.facts import Count, Fact, Figure, OfOriginal
from shoal.vocabulary.prelude import Facts, Ge, HoldsCells, Le, Setting, method

MOST_COMBINATIONS = 2_000
"""Combinations of which a matrix, squared, still is small beside a table."""

MOST_WRITTEN = 200
"""Categories up to which a matrix is written cell by cell."""

ROUNDING = 1e-9
"""By how much the probabilities of a row may miss a sum of 1."""


@method("pram", title="PRAM, post-randomisation", source="Gouweleeuw et al. (1998)", example_columns=("sex", "illness"))
class Pram(Mask):
    """Each category becomes another at random, by a transition matrix with known probabilities.

    R[i, j] is the probability that category i is released as j. PRAM is invariant where the expected counts
    after it are the counts before, p R = p, so that tables of the column can be used as they are.

    Parameters
    ----------
    diagonal
        Smallest probability that a value stays as it is, for the matrix made from the data. Invariant: with
        probability 1 - a a value stays, with probability a it is drawn anew from the column's distribution p;
        a = (1 - diagonal) / (1 - min p), so that the rarest category stays with probability `diagonal` and
        no other with less. Not invariant: it changes into each other category with equal probability.
    matrix
        Instead: a transition matrix by column, rows and columns in the order of the categories.
    invariant
        Make a given matrix P invariant too, by the two-stage construction R = P Q, Q the matrix that takes a
        released value back: Q[j, i] = p[i] P[i, j] / (p P)[j].
    weighted
        p is the weighted distribution, so that weighted counts are what stays in expectation.
    together
        All columns of the step at once (compound PRAM): a record's combination of cells becomes another that occurs, by
        one matrix for all combinations. Invariant, tables of several of the columns can be used as they are, too.

    Notes
    -----
    With strata, p and R are those of each stratum. Missing cells stay missing. The two-stage construction
    lowers the diagonal (sdcMicro's result may fall below the minimum asked for); the construction from
    `diagonal` holds its minimum exactly. The private record has the matrix; of more than 200 categories, what it is
    made of.
    """

    scales = "rows"
    reads_others = False
    sees_categories = True

    diagonal: Annotated[float, Ge(0), Le(1), Setting()] = 0.8
    matrix: Annotated[dict[str, tuple[tuple[float, ...], ...]] | None, HoldsCells()] = None
    invariant: bool = True
    weighted: bool = False
    together: bool = False

    def __post_init__(self) -> None:
        if self.together and self.matrix is not None:
            raise ParameterError("pram: with together, matrix must be left out, for there is one for all combinations.")
        for name, rows in (self.matrix or {}).items():
            sizes = {len(rows), *(len(row) for row in rows)}
            if len(sizes) != 1 or any(abs(sum(row) - 1) > ROUNDING or min(row) < 0 for row in rows):
                raise ParameterError(
                    f"pram: the matrix of '{name}' must be square with rows of probabilities that sum to 1."
                )

    @property
    def whole_needed(self) -> str:
        given = self.matrix is not None and not self.invariant
        return "" if given else "how frequent the categories are; give a matrix, with invariant: false"

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        weights = self.weights(records, self.weighted)
        by_stratum = records.by_stratum
        draws = RecordDraws.of(records.rows, rng)

        def drawn(variable: Variable) -> tuple[Variable, Facts]:
            codes, expected = variable.values.copy(), 0.0
            shares = draws.random(len(records))
            for rows in by_stratum:
                present = rows[~variable.missing[rows]]
                mass = None if weights is None else weights[present]
                counts = np.bincount(codes[present], weights=mass, minlength=len(variable.categories))
                transition = self.transition(variable, floats(counts))
                expected += float((1 - transition.diagonal)[variable.values[present]].sum())
                codes[present] = transition.drawn(variable.values[present], shares[present])
            facts = self._facts_of(variable, codes, expected)
            if records.strata is None:
                facts["matrix"] = OfOriginal(transition.written)
            return variable.with_values(codes), facts

        variables = self.categorical(records, columns)
        if self.together and variables:
            return _of_combinations(records, variables, drawn)
        return StepResult.by_column(records, map(drawn, variables))

    def transition(self, variable: Variable, counts: Floats) -> "Transition":
        """R for a column with these (weighted) counts, shape (m,)."""
        m = len(variable.categories)
        p = counts / max(float(counts.sum()), np.finfo(float).tiny)
        given = (self.matrix or {}).get(variable.name)
        if given is not None:
            first = np.array(given, dtype=np.float64)
            if first.shape != (m, m):
                raise ParameterError(
                    f"pram: the matrix of '{variable.name}' must have {m} rows, one a category; it has {len(first)}."
                )
            return Transition(shares=_two_stage(first, p) if self.invariant else first)
        if m < 2:
            return Transition(stays=1.0, shares=np.zeros(m))
        if not self.invariant:
            other = (1 - self.diagonal) / (m - 1)
            return Transition(stays=self.diagonal - other, shares=np.full(m, other))
        rarest = float(p[p > 0].min(initial=1.0))
        a = min(1.0, (1 - self.diagonal) / (1 - rarest)) if rarest < 1 else 0.0
        return Transition(stays=1 - a, shares=a * p)

    def _facts_of(self, variable: Variable, codes: Ints, expected: float) -> dict[str, Fact]:
        # Each record counts by itself where the plan gives the matrix; any other depends on which categories occur
        given = variable.name in (self.matrix or {}) and not self.invariant
        return {
            "changed": Count(n=int((codes != variable.values).sum()), unit="cells"),
            "expected to change": Figure(value=expected, unit="cells", influence=1 if given else None),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transition:
    """R: a value stays with a probability of its own, and beside it becomes each category with its share."""

    shares: Floats  # Shape (m,), the same for all categories, or (m, m), a row for each
    stays: float = 0.0

    @property
    def diagonal(self) -> Floats:
        """Shape (m,); the probability that a value is released as it is."""
        return self.stays + (self.shares if self.shares.ndim == 1 else np.diag(self.shares))

    @property
    def matrix(self) -> Floats:
        """Shape (m, m)."""
        m = len(self.shares)
        return np.broadcast_to(self.shares, (m, m)) + self.stays * np.eye(m)

    @property
    def written(self) -> Any:
        """The matrix for the record, or what it is made of, where that is much less."""
        if self.shares.ndim == 1 and len(self.shares) > MOST_WRITTEN:
            return {"stays": self.stays, "else drawn with": self.shares.tolist()}
        return self.matrix.tolist()

    def drawn(self, codes: Ints, shares: Floats) -> Ints:
        """Shape (n,); the category of each record after it, by the share of its row of the matrix that was drawn."""
        new = np.empty(len(codes), dtype=np.int32)
        order = np.argsort(codes, kind="stable")
        different, begins = np.unique(codes[order], return_index=True)
        for code, here in zip(different.tolist(), np.split(order, begins[1:])):
            row = np.array(self.shares if self.shares.ndim == 1 else self.shares[code])
            row[code] += self.stays
            new[here] = np.searchsorted(np.cumsum(row)[:-1], shares[here], "right")
        return new


def _of_combinations(
    records: Records, variables: Sequence[Variable], drawn: Callable[[Variable], tuple[Variable, Facts]]
) -> StepResult:
    """The columns changed as one, whose categories are the combinations that occur."""
    names = [variable.name for variable in variables]
    records.complete(names, "pram with together: true")
    cells = np.column_stack([variable.values for variable in variables])
    combinations, of_record = np.unique(cells, axis=0, return_inverse=True)
    if (m := len(combinations)) > MOST_COMBINATIONS:
        raise ParameterError(
            f"pram: with together, the columns {quoted(names)} must have at most {MOST_COMBINATIONS:,} combinations; "
            f"they have {m:,}. Take fewer columns at once, or recode them first."
        )
    joint = Variable(
        name=", ".join(names),
        role="other",
        level="nominal",
        values=ints(of_record.reshape(-1)),
        categories=tuple(range(m)),
    )
    changed, of_joint = drawn(joint)
    facts = {label: replace(f, unit="records") for label, f in of_joint.items() if isinstance(f, (Count, Figure))}
    columns = combinations[changed.values].T
    return StepResult(
        records=records.with_variables(*(v.with_values(ints(codes)) for v, codes in zip(variables, columns))),
        facts={"combinations": Count(n=m, unit="combinations"), **facts},
    )


def _two_stage(first: Floats, p: Floats) -> Floats:
    """R = P Q with p R = p (Gouweleeuw et al. 1998, section 4)."""
    after = linear.product(p[None], first)[0]
    back = np.where(
        after[:, None] > 0, (first * p[:, None]).T / np.where(after > 0, after, 1.0)[:, None], np.eye(len(p))
    )
    return linear.product(first, back)
