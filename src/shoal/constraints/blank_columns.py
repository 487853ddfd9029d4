"""Columns of a released file in which no cell is left, as the numbers that they were.

A file of text does not say what a column without cells holds. Where a rule of the plan counts with it, it held numbers;
otherwise the rule could not be judged, and nobody would see that it tells what was blanked.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from shoal.constraints.rules import bind
from shoal.table.records import Records
from shoal.vocabulary.errors import ConstraintError


def with_blank_numbers(records: Records, rules: Sequence[str]) -> Records:
    """The records with columns without cells as numbers, if a rule can be read with them as numbers only."""
    for text in rules:
        with suppress(ConstraintError):  # which whoever parses the rules meets again
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
