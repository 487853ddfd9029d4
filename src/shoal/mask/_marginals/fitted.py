"""What remains of a table once its marginals are measured: a law of whole records, from which anyone may draw.

It follows from noisy answers and from the stated domain alone, so that keeping it and drawing from it cost no privacy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.mask._marginals.conditions import Conditions
from shoal.mask._marginals.domain import Domain
from shoal.mask._marginals.generation import drawn
from shoal.mask._marginals.model import JointLaw
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Floats, Longs, Records, Variable
from shoal.vocabulary.errors import ParameterError, quoted

DRAWS, LEAST_DRAWS = 1000, 1_000_000
"""Records drawn for each that is asked for, at most, and for all of them at least, before a condition is given up."""

BATCH = 1 << 18
"""Most records that are drawn at once to look which of them meet a condition."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedMarginals:
    """A law of whole records.

    Parameters
    ----------
    domains
        Of the columns, in their order.
    law
        Probabilities of their categories.
    total
        Number of records of the table, as far as noise tells.
    """

    domains: tuple[Domain, ...]
    law: JointLaw
    total: int

    def records(self, n: int, stream: SecretStream, given: Mapping[int, Longs] | None = None) -> Records:
        """New records, in random order; categories are as often together as the law has them, rounded.

        `given`: by column of the law's first clique, categories that the records have.
        """
        return self._of(drawn(self.law, n, stream, given=given), stream)

    def records_where(self, n: int, conditions: Sequence[str], stream: SecretStream) -> Records:
        """Independent records of the law given that they meet all conditions, in the language of rules.

        Combinations of categories that cannot meet a condition get no probability in the tree; what is drawn is kept
        if it does. So each record has exactly the law of those that do. One that lacks a cell of a column that a
        condition names does not meet it. Raises ParameterError if next to no record does.
        """
        stated = Conditions.parse(conditions, self.domains)
        law = stated.narrowed(self.law, self.domains)
        kept: list[Records] = []
        gathered, seen = 0, 0
        while gathered < n:
            if seen >= max(DRAWS * n, LEAST_DRAWS):
                raise ParameterError(
                    f"Of {seen:,} records drawn, {gathered:,} meet {quoted(conditions)}, and {n:,} were asked for. Ask "
                    f"for fewer, or for a wider condition."
                )
            expected = (n - gathered) * (seen + 1) // (gathered + 1) if seen else 2 * n
            batch = self._of(drawn(law, min(max(expected, 1000), BATCH), stream, independent=True), stream)
            seen += len(batch)
            kept.append(batch.take(np.flatnonzero(stated.met(batch))[: n - gathered]))
            gathered += len(kept[-1])
        return Records.of(_joined([records.variables[place] for records in kept]) for place in range(len(self.domains)))

    def _of(self, codes: Longs, stream: SecretStream) -> Records:
        """Records of these categories, shape (n, d)."""
        return Records.of(domain.variable(codes[:, place], stream) for place, domain in enumerate(self.domains))


def _joined(parts: Sequence[Variable]) -> Variable:
    values: Floats = np.concatenate([part.values for part in parts])
    return parts[0].with_values(values)
