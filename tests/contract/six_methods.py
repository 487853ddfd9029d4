"""One method of each kind, in a file as another package would bring it along."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge

from shoal.judges.evidence import Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import ints
from shoal.mask.base import Mask
from shoal.partition.base import Partitioner
from shoal.privacy.base import PrivacyModel
from shoal.replace.base import Replacement
from shoal.risk.base import RiskMeasure
from shoal.table.partition import Partition, Progress
from shoal.table.records import Records
from shoal.table.step_result import StepResult
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.facts import Count
from shoal.vocabulary.parameters import Setting
from shoal.vocabulary.registry import method

UNBOUNDED = "values beyond ten steps"


@method("ten-steps", title="Rounding to steps", source="nobody (2026)", example={"step": 10.0})
class TenSteps(Mask):
    """Rounds to a step.

    Parameters
    ----------
    step
        The step.
    """

    step: Annotated[float, Setting()]

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        changed = [records[name].with_values(np.round(records[name].values / self.step)) for name in columns]
        beyond = int((records[columns[0]].values > 10 * self.step).sum()) if len(columns) else 0
        return StepResult(records=records.with_variables(*changed), facts={UNBOUNDED: Count(n=beyond, unit="values")})


@method("first-member", title="The first of the group", source="nobody (2026)")
class FirstMember(Replacement):
    """Everyone gets the values of the group's first member."""

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        rows = np.array([members[0] for members in partition.members()])[partition.labels]
        changed = [records[name].with_values(records[name].values[rows]) for name in columns]
        return StepResult(records=records.with_variables(*changed))


@method("runs", title="Runs of k rows", source="nobody (2026)", example={"k": 3})
class Runs(Partitioner):
    """Rows in the order of the table, k by k.

    Parameters
    ----------
    k
        Rows in a group.
    """

    k: Annotated[int, Ge(1)]

    def assign(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress
    ) -> Partition:
        last = len(records) // self.k - 1
        return Partition(labels=ints(np.minimum(np.arange(len(records)) // self.k, last)))


@method("no-ones", title="Nobody alone", source="nobody (2026)")
class NoOnes(PrivacyModel):
    """No class holds a single record."""

    counts_classes = True
    reported = True
    question = "singling out"

    def judge(self, pair: TablePair) -> Verdict:
        smallest = int(pair.released.class_sizes(pair.released.quasi_identifiers).min())
        sentence = f"The smallest class holds {smallest}."
        return Verdict(requirement="nobody alone", holds=smallest > 1, required=2, achieved=smallest, sentence=sentence)


@method("share-alone", title="Share of records alone", source="nobody (2026)")
class ShareAlone(RiskMeasure):
    """The share of released records alone in their class."""

    question = "linkability"
    of_made_up = True

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        sizes = pair.released.class_sizes(pair.released.quasi_identifiers)
        return self.finding(float((sizes == 1).sum() / len(pair.released)), "So many are alone.")


@method("cells-kept", title="Share of records lost", source="nobody (2026)")
class CellsKept(UtilityMeasure):
    """The share of the records that is not released."""

    prominence = 1000
    unchanged = 0.0
    headline = ", of all that came in"

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        return self.finding(1 - len(pair.released) / len(pair.before), "So many are gone.")
