"""Rounding: values become multiples of a base."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.kernels.draws import RecordDraws
from shoal.mask.base import Mask
from shoal.mask.tails import of_column
from shoal.table.prelude import Floats, Generator, Progress, Records, StepResult, Variable
from shoal.vocabulary.prelude import Count, DataError, Facts, Gt, ParameterError, Setting, method, quoted

Base = Annotated[float, Gt(0)]

WHOLE = 1e-9
"""Relative distance to a whole number that is one of rounding: 1 / 0.1 is 10."""

MOST = 1 << 53
"""Multiples beyond which floats are no longer told apart."""


@method("round", title="Rounding", source="Fellegi (1975); Willenborg & de Waal (2001)", example={"base": 5})
class Round(Mask):
    """Each value becomes a multiple of a base near it.

    - `nearest`: the nearest multiple; of two equally near, the even one.
    - `random`: the multiple above with a probability as large as the share of the base by which the value exceeds the
      one below, so that every value, and with them every total, is right in expectation.
    - `controlled`: the same probabilities for every single value, drawn together, so that a column's total changes by
      less than one base (inside each stratum).

    Multiples stay as they are. Missing cells stay missing.

    Parameters
    ----------
    base
        The base, in the column's units; for several columns a base each: `{age: 5, income: 1000}`.
    kind
        Which of the three.

    Notes
    -----
    The base is published, so that a released value tells that the original lies within half a base of it (`nearest`)
    or within a base. What is exact about the table besides, such as a true total, can narrow that.
    """

    scales = "rows"
    reads_others = False
    leaves_gaps = True

    base: Annotated[Base | dict[str, Base], Setting()]
    kind: Literal["nearest", "random", "controlled"] = "nearest"

    @property
    def whole_needed(self) -> str:
        return "the column's total; take the kind random" if self.kind == "controlled" else ""

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        variables = self.continuous(records, columns)
        if isinstance(self.base, dict) and set(self.base) != set(columns):
            raise ParameterError(
                f"round: base must name each of the step's columns and no other; it names {quoted(sorted(self.base))} "
                f"for the columns {quoted(columns)}."
            )

        draws = RecordDraws.of(records.rows, rng)

        def rounded(variable: Variable) -> tuple[Variable, Facts]:
            uniform = draws.random((len(records), 2))
            base = float(of_column(self.base, variable.name) or 1)
            values = variable.values.copy()
            for rows in records.by_stratum:
                present = rows[~variable.missing[rows]]
                values[present] = self._rounded(variable.name, values[present], base, uniform[present])
            changed = int((values != variable.values)[~variable.missing].sum())
            influence = 1 if self.kind == "nearest" else None
            return variable.with_values(values), {"changed": Count(n=changed, unit="cells", influence=influence)}

        return StepResult.by_column(records, map(rounded, variables))

    def _rounded(self, name: str, x: Floats, base: float, uniform: Floats) -> Floats:
        inverse = np.rint(1 / base)
        exact = base < 1 and abs(inverse * base - 1) <= WHOLE
        quotient = x * inverse if exact else x / base
        if (np.abs(quotient) > MOST).any():
            raise DataError(f"Column '{name}' has values of more than 2^53 times the base; give round a larger base.")
        multiple = np.rint(quotient)
        if self.kind != "nearest":
            off = np.abs(quotient - multiple) > WHOLE * np.maximum(np.abs(quotient), 1)
            below = np.where(off, np.floor(quotient), multiple)
            multiple = below + self._up(np.where(off, quotient - below, 0.0), uniform)
        return np.asarray(multiple / inverse if exact else multiple * base) + 0.0

    def _up(self, share: Floats, uniform: Floats) -> Floats:
        """Shape (n,), as `share`; 1 with these probabilities, else 0.

        `uniform`: shape (n, 2); independent random numbers in [0, 1). Controlled rounding is systematic sampling in a
        random order: the first ones give the order, the second one of the first record the start.
        """
        if self.kind == "random" or not len(share):
            return np.asarray(uniform[:, 0] < share, dtype=np.float64)
        order = np.argsort(uniform[:, 0], kind="stable")
        steps = np.floor(uniform[0, 1] + np.concatenate([[0.0], np.cumsum(share[order])]))
        up = np.empty(len(share))
        up[order] = np.diff(steps)
        return up
