"""Pairs of records by the columns in which they agree (native/risk/agreements.cpp)."""

from shoal.kernels._native import agreement_counts, agreement_links

__all__ = ["agreement_counts", "agreement_links"]
