"""Contexts of a release: who gets it, and the limits that a plan then need not state itself.

A plan that says `for: research` gets the limits of that context, but for those on what it limits itself. They are
written into the plan as if it had stated them, so that each can be changed. Bounds on risk come from published guidance
and precedents; the bound on what is kept is shoal's own: to keep less than half should be somebody's decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from shoal.vocabulary.registry import Spec

ContextName = Literal["public", "research", "internal", "hipaa"]

KEPT: Spec = {"utility": "information-kept", "at least": 0.5}

COPIES: Spec = {"risk": "replicated-uniques", "at most": 0.05}

SYNTHETIC: tuple[Spec, ...] = (COPIES, KEPT)
"""Limits where every quasi-identifier is made anew, so that no class of records hides a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Limits on a release for one kind of recipient.

    Parameters
    ----------
    k
        Smallest class of records that share their quasi-identifiers.
    source
        Work or guidance that the limits on risk come from.
    """

    k: int
    source: str

    def origin(self, *, synthetic: bool) -> str:
        """Origin of the limits, in words."""
        return "limits of shoal's own" if synthetic else f"risk: {self.source}; loss: shoal's own"

    def limits(self, *, synthetic: bool) -> tuple[Spec, ...]:
        """The requirements, as a plan states them."""
        if synthetic:
            return SYNTHETIC
        highest = -(-10_000 // self.k) / 10_000  # 1 / k to four decimals, rounded up: classes of k keep it
        return ({"privacy": "k-anonymity", "k": self.k}, {"risk": "prosecutor", "at most": highest}, KEPT)


CONTEXTS: Mapping[ContextName, Context] = {
    "public": Context(k=11, source="EMA (2018), threshold 0.09; Health Canada (2019), cells of 11"),
    "research": Context(k=5, source="El Emam & Malin (2015), cells of 5 for recipients under contract"),
    "internal": Context(k=3, source="El Emam & Malin (2015), cells of 3 for trusted recipients"),
    "hipaa": Context(k=11, source="cells of 11, the policy of CMS, for experts under 45 CFR 164.514(b)(1)"),
}
