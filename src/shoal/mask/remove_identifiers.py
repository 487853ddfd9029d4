"""Removal of direct identifiers."""

from collections.abc import Sequence

from shoal.mask.base import Mask
from shoal.table.prelude import Generator, Progress, Records, StepResult
from shoal.vocabulary.prelude import OfPlan, method


@method("remove-identifiers", title="Removal of identifiers", source="Hundepool et al. (2012), section 3.1")
class RemoveIdentifiers(Mask):
    """Drops every column with the role identifier, whatever columns the step names."""

    scales = "rows"
    reads_others = False
    default_roles = ("identifier",)
    takes_identifiers_out = True

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        identifiers = records.names("identifier")
        return StepResult(records=records.without(identifiers), facts={"columns removed": OfPlan(list(identifiers))})
