"""Groups that are l-diverse, by exchanges, merging and refinement."""

import math
from typing import Annotated

from shoal.kernels.arrays import Kind
from shoal.partition._requirement.diversity import Diversified
from shoal.vocabulary.prelude import Ge, Gt, Setting, method


@method(
    "l-diverse", title="l-diverse partition", source="shoal; Machanavajjhala et al. (2007)", example={"k": 3, "l": 2}
)
class LDiverse(Diversified):
    """Groups of k or more, each l-diverse in every confidential column.

    The groups of the start exchange records until they are diverse, the least costly exchange first; those
    that cannot become so are merged with the group whose centroid is nearest. Then the information loss is
    annealed under k and l (see tcloseness-refined). For the definitions see the privacy model l-diversity.

    Parameters
    ----------
    l
        Diversity required; for the recursive kind it is rounded up to a whole number.
    kind
        "distinct", "entropy" or "recursive".
    c
        For the recursive kind only.
    """

    l: Annotated[float, Ge(1), Setting()]  # noqa: E741 - the name the model has
    kind: Kind = "distinct"
    c: Annotated[float, Gt(0), Setting()] = 2.0

    @property
    def diversity(self) -> tuple[Kind, float, float]:
        return self.kind, float(math.ceil(self.l)) if self.kind == "recursive" else self.l, self.c
