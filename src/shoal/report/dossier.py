"""Everything a report shows, gathered where the release is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shoal.data.records import Records
from shoal.judges.evidence import Finding, Verdict
from shoal.plan import Plan
from shoal.plan.publication import hidden_cells, public_verdict, public_yaml


@dataclass(frozen=True, kw_only=True, eq=False)
class Dossier:
    """What was asked, what was proved, what was measured, and the two tables behind it.

    Parameters
    ----------
    original, released
        The tables in numbers; a page shows binned counts of them and nothing else.
    before
        Measures of risk taken on the original as if it were released.
    seed
        For the private page only.
    steps
        The facts of every step.
    missing
        What became of missing values, by column.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    original: Records = field(repr=False)
    released: Records = field(repr=False)
    versions: Mapping[str, str]
    seed: int = field(repr=False)
    before: tuple[Finding, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    missing: Mapping[str, Any] = field(default_factory=dict)

    def figure_before(self, title: str) -> float | None:
        """A measure's figure on the original; None where it was not taken or cannot be."""
        return next((found.value for found in self.before if found.title == title), None)

    @cached_property
    def hidden(self) -> set[str]:
        """What stands in the plan and is for the private report only."""
        return hidden_cells(self.plan, self.original, self.released)

    @cached_property
    def public_plan(self) -> str:
        """The plan without what only the original tells."""
        return public_yaml(self.plan, self.hidden)

    @cached_property
    def public_verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, rules without what only the original tells."""
        return tuple(
            public_verdict(verdict, self.hidden) if verdict.requirement in self.plan.constraints else verdict
            for verdict in self.verdicts
        )
