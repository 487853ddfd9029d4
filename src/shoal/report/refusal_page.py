"""The page of a refusal: the failed requirements, by how much they fail, and advice."""

from collections.abc import Sequence

from shoal.report.decision import decision
from shoal.report.evidence import EvidenceFile, Requirement
from shoal.report.page import Filled, parts, render


def refusal_page(
    requirements: Sequence[Requirement], advice: Sequence[object], content: EvidenceFile | None = None
) -> str:
    """One self-contained page; private, since advice is computed from the original.

    Parameters
    ----------
    content
        Content of evidence.json; None if it was not gathered.
    advice
        Pieces of advice, each with `requirement`, `remedy` and `effect`.
    """
    return render("refusal.html", **refusal_parts(requirements, advice, content))


def refusal_parts(
    requirements: Sequence[Requirement], advice: Sequence[object], content: EvidenceFile | None
) -> Filled:
    """Values that fill the templates of the page."""
    return {
        **(parts(content) if content else {}),
        "whole": content is not None,
        "private": True,
        "limits": [verdict for verdict in requirements if verdict["model"]],
        "rules": [verdict for verdict in requirements if not verdict["model"]],
        "advice": advice,
        "decision": decision(content) if content else None,
    }
