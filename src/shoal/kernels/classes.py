"""Equivalence classes of records, the distinct values of a column, and laws of two columns (native/classes/)."""

from shoal.kernels._native import (
    class_sizes,
    classes,
    distinct,
    first_rows,
    law_support,
    lone_cells,
    renumber,
    text_codes,
)
