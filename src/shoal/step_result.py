"""What a step of a plan hands on: the records as they are now, and what the record should tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.data.records import Records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepResult:
    """The outcome of a replacement or a mask.

    Parameters
    ----------
    records
        All records and columns after the step.
    facts
        For the record of the release; JSON-able, no cell's value.
    """

    records: Records
    facts: Mapping[str, Any] = field(default_factory=dict)
