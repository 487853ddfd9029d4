"""A page on what was refused: what fails, by how much, and what would help."""

from collections.abc import Sequence

from shoal.report.decision import decision
from shoal.report.evidence import EvidenceFile, Requirement
from shoal.report.page import Filled, parts, render


def refusal_page(
    requirements: Sequence[Requirement], advice: Sequence[object], content: EvidenceFile | None = None
) -> str:
    """One self-contained page; private, for what would help is computed from the original.

    Parameters
    ----------
    content
        What evidence.json would hold; None where that was not gathered.
    advice
        Each with `requirement`, `remedy` and `effect`.
    """
    return render("refusal.html", **refusal_parts(requirements, advice, content))


def refusal_parts(
    requirements: Sequence[Requirement], advice: Sequence[object], content: EvidenceFile | None
) -> Filled:
    """What the parts of the page are filled with."""
    return {
        **(parts(content) if content else {}),
        "whole": content is not None,
        "private": True,
        "limits": [verdict for verdict in requirements if verdict["model"]],
        "rules": [verdict for verdict in requirements if not verdict["model"]],
        "advice": advice,
        "decision": decision(content) if content else None,
    }
