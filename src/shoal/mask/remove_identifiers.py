"""Removal of direct identifiers."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.facts import OfPlan
from shoal.mask.base import Mask
from shoal.methods import Scales, method
from shoal.step_result import StepResult


@method("remove-identifiers", title="Removal of identifiers", source="Hundepool et al. (2012), section 3.1")
class RemoveIdentifiers(Mask):
    """Drops every column with the role identifier, whatever columns the step names."""

    scales: ClassVar[Scales] = "rows"
    reads_others: ClassVar[bool] = False
    default_roles: ClassVar[tuple[str, ...]] = ("identifier",)
    takes_identifiers_out: ClassVar[bool] = True

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        identifiers = records.names("identifier")
        return StepResult(records=records.without(identifiers), facts={"columns removed": OfPlan(list(identifiers))})
