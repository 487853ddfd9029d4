"""Groups with p different confidential values, by exchanges, merging and refinement."""

from typing import Annotated

from shoal.kernels.arrays import Ints, Kind, Longs
from shoal.partition._requirement.diversity import Diversified
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.vocabulary.prelude import ByLabel, Ge, method


@method(
    "p-sensitive",
    title="p-sensitive k-anonymous partition",
    source="shoal; Truta & Vinay (2006)",
    example={"k": 3, "p": 2},
)
class PSensitive(Diversified):
    """Groups of k or more, each with at least p different values in every confidential column.

    As l-diverse with the kind "distinct".

    Parameters
    ----------
    p
        Number of different values.
    """

    p: Annotated[int, Ge(1)]

    @property
    def diversity(self) -> tuple[Kind, float, float]:
        return "distinct", float(self.p), 1.0

    def achieved(self, required: GroupRequirement, labels: Ints | Longs) -> ByLabel:
        return {"p": super().achieved(required, labels)["l"]}
