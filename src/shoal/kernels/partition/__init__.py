"""Partitions of records (native/partition/)."""

from shoal.kernels._native import (
    COINCIDENT,
    BelowPrice,
    Refinement,
    bounded_assignment,
    decompose,
    forest,
    fuzzy_draw,
    fuzzy_fill,
    fuzzy_memberships,
    fuzzy_step,
    groups_below_price,
    mdav,
    partition_loss,
    principal_blocks,
    refine,
    sharing_groups,
    univariate,
    vmdav,
)
