"""Everything a report shows, gathered where the release is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shoal.evidence import Finding, Verdict
from shoal.plan import Plan
from shoal.plan.publication import public_yaml
from shoal.records import Records


@dataclass(frozen=True, kw_only=True, eq=False)
class Dossier:
    """What was asked, what was proved, what was measured, and the two tables behind it.

    Parameters
    ----------
    original, released
        The tables in numbers; a page shows binned counts of them and nothing else.
    before
        Measures of risk taken on the original as if it were released, by name.
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
    before: Mapping[str, Finding] = field(default_factory=dict)
    steps: tuple[Mapping[str, Any], ...] = ()
    missing: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def public_plan(self) -> str:
        """The plan without what only the original tells."""
        return public_yaml(self.plan, self.original, self.released)
