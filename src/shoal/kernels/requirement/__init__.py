"""Partitions whose groups must satisfy requirements (native/requirement/)."""

from collections.abc import Sequence
from typing import NamedTuple

from shoal.kernels._native import (
    Requirement,
    RequirementRefinement,
    k_anonymity_first,
    merge_groups,
    refine_tcloseness,
    repair_tcloseness,
    tcloseness_first,
)
from shoal.kernels.arrays import Ints


class RequirementCheck(NamedTuple):
    """Requirements that every group must satisfy.

    Parameters
    ----------
    bins
        Shape (columns, n); bins of the records in each confidential column.
    requirements
        One for each column (see `shoal.kernels.requirement.emd`). A group's excess is its largest over the columns.
    """

    bins: Ints
    requirements: Sequence[Requirement]
