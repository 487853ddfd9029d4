"""Distributions of a column, requirements on groups, and distances from both (native/requirement/emd.cpp)."""

from shoal.kernels._native import (
    Alike,
    Close,
    Distribution,
    Diverse,
    Ordered,
    Requirement,
    Spread,
    Taxonomy,
    Undisclosed,
    distances,
    distances_within,
    excesses,
    swap_distances,
)
