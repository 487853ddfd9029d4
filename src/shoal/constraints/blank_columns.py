"""Released columns in which no cell is left, restored to columns of numbers.

A text file does not say what a column without cells holds. If a rule of the plan calculates with the column, it held
numbers. Otherwise the rule could not be judged, and nobody would see that it reveals the blanked cells.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from shoal.constraints.rules import bind
from shoal.table.records import Records
from shoal.vocabulary.errors import ConstraintError


def with_blank_numbers(records: Records, rules: Sequence[str]) -> Records:
    """The records, with empty columns as numbers if a rule can only be read so."""
    for text in rules:
        with suppress(ConstraintError):  # raised again when the rules are parsed
            bind(text, 1, records, released=True)
            continue
        blank = [v for v in records.variables if v.name in text and not v.continuous and v.missing.all()]
        nothing = np.full(len(records), np.nan)
        numbers = records.with_variables(
            *(replace(v, level="continuous", values=nothing, categories=(), hierarchy=None) for v in blank)
        )
        with suppress(ConstraintError):
            bind(text, 1, numbers, released=True)
            records = numbers
    return records
