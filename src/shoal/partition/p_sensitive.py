"""Groups with p different confidential values, by exchanges, merging and refinement."""

from typing import Annotated

from annotated_types import Ge, Gt

from shoal.methods import method, nested
from shoal.partition.l_diverse import Diversified
from shoal.partition.partitioner import Partitioner
from shoal.privacy.l_diversity import Kind


@method("p-sensitive", title="p-sensitive k-anonymous partition", source="shoal; Truta & Vinay (2006)")
class PSensitive(Diversified):
    """Groups of k or more, each with at least p different values in every confidential column.

    As l-diverse with the kind "distinct".

    Parameters
    ----------
    k
        Smallest group size.
    p
        Number of different values.
    start
        The partition to start from; MDAV with the same k by default.
    moves
        Proposals to make; by default 5 000 a record, 20 million at most, unless seconds are given.
    seconds
        Wall-clock time after which to stop.
    """

    k: Annotated[int, Ge(1)]
    p: Annotated[int, Ge(1)]
    start: Annotated[Partitioner | None, nested("partition")] = None
    moves: Annotated[int, Ge(0)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None

    @property
    def diversity(self) -> tuple[Kind, float, float]:
        return "distinct", float(self.p), 1.0
