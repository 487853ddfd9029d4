"""Equivalence classes of records, and the distinct values of a column (native/classes/)."""

from shoal.kernels._native import class_sizes, classes, distinct, first_rows, lone_cells, renumber, text_codes
