"""What all measures share, of risk or of utility: two tables in, one frozen figure out."""

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.data.microdata import as_records
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import WidthError
from shoal.judges.evidence import Finding


class Measure(ABC):
    """A figure for two tables; it knows the tables, never the method that made them."""

    method_kind: ClassVar[str]
    method_name: ClassVar[str]
    title: ClassVar[str]
    limits: ClassVar[tuple[float, float]] = (0.0, math.inf)
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    cheap: ClassVar[bool] = False
    """Whether the figure is quick enough to stand in every report."""

    def figure_or_reason(
        self, original: Records, released: Records, partition: Partition | None, rng: np.random.Generator
    ) -> Finding:
        """As `judge`; no figure where it would take distances that do not fit into memory."""
        try:
            return self.judge(original, released, partition, rng)
        except WidthError as error:
            return self.cannot(str(error))

    @abstractmethod
    def judge(
        self, original: Records, released: Records, partition: Partition | None, rng: np.random.Generator
    ) -> Finding:
        """The figure for records of the same people in the same order.

        `released.rows` says which original records are still there.
        """

    def measure(
        self,
        original: Any,
        released: Any,
        *,
        confidential: Any = None,
        partition: Partition | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> Finding:
        """The figure for two data frames, arrays, Microdata or Records.

        All columns of an array or frame count as quasi-identifiers, but for those that `confidential` names.
        """
        before, after = as_records(original, confidential), as_records(released, confidential)
        return self.judge(before, after, partition, np.random.default_rng(seed))

    @property
    def heading(self) -> str:
        """The title, with the parameters that were chosen; tables and methods among them are left out."""
        plain = [f for f in fields(self) if "Any" not in str(f.type)]  # type: ignore[arg-type]
        chosen = [
            f"{f.name.replace('_', ' ')} {_in_words(getattr(self, f.name))}"
            for f in plain
            if getattr(self, f.name) != f.default
        ]
        return f"{self.title} ({'; '.join(chosen)})" if chosen else self.title

    def finding(self, value: float, sentence: str, **more: Any) -> Finding:
        """The figure, under the measure's own name, limits and direction; not a number is not a figure."""
        if math.isnan(value):
            return self.cannot("The figure is not a number on these tables.")
        more = {"limits": self.limits, "better": self.better, **more}
        return Finding(measure=self.method_name, title=self.heading, value=float(value), sentence=sentence, **more)

    def cannot(self, reason: str, **details: Any) -> Finding:
        """No figure, and why."""
        return Finding(
            measure=self.method_name,
            title=self.heading,
            value=None,
            reason=reason,
            limits=self.limits,
            better=self.better,
            details=details,
        )


def _in_words(value: Any) -> str:
    """A parameter for a reader."""
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
