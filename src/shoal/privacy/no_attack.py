"""No attack pays (Wan et al. 2015)."""

from typing import Annotated, ClassVar

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.prelude import Records, Verdict
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.vocabulary.prelude import Ge, Gt, Scales, Setting, method, of_release, plural


@method("no-attack", title="No attack pays", source="Wan et al. (2015)", example={"gain": 8.0})
class NoAttack(ClassModel):
    """In every class, an attacker who picks a record at random gains no more than the attempt costs.

    An intruder who looks for a person in a class of c records finds the right one with probability 1 / c, so an
    attack pays gain / c - cost; the model requires that this is at most 0.

    Parameters
    ----------
    gain
        The attacker's gain from one record found.
    cost
        Cost of one attack.
    """

    scales: ClassVar[Scales] = "classes"
    monotone: ClassVar[bool] = True

    gain: Annotated[float, Ge(0), Setting()] = 300.0
    cost: Annotated[float, Gt(0), Setting()] = 4.0

    @property
    def smallest(self) -> int:
        """The smallest class that is not worth an attack."""
        return max(int(np.ceil(self.gain / self.cost * (1 - 1e-12))), 1)

    @property
    def protects(self) -> bool:
        return self.smallest > 1

    def group_limits(self, records: Records) -> GroupLimits:
        return GroupLimits(k=self.smallest)

    def look(self, table: ClassTable) -> ClassFigures:
        return ClassFigures(sizes=table.sizes)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        sizes = class_figures.sizes
        small = sizes < self.smallest
        reached = float(sizes.min()) if len(sizes) else None
        records = int(sizes[small].sum())
        return Verdict(
            requirement=f"no attack (gain {self.gain:g}, cost {self.cost:g})",
            holds=not small.any(),
            required=self.smallest,
            achieved=reached,
            sentence=f"An attack pays on {plural(records, 'record')}, whose classes hold fewer than {self.smallest:,}."
            if small.any()
            else f"No attack pays: every class holds at least {self.smallest:,} records.",
            facts=of_release({"classes worth an attack": int(small.sum()), "records in them": records}),
            influence=0,
            failing=small if small.any() else None,
        )
