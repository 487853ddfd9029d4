"""A page on what was refused: what fails, by how much, and what would help."""

from collections.abc import Mapping
from typing import Any

from shoal.report.decision import decision
from shoal.report.page import parts, render


def refusal_page(content: Mapping[str, Any]) -> str:
    """One self-contained page; private, for what would help is computed from the original.

    Parameters
    ----------
    content
        What evidence.json would hold, or of it the requirements alone, and `advice`.
    """
    return render("refusal.html", **refusal_parts(content))


def refusal_parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the parts of the page are filled with."""
    whole = "columns" in content
    return {
        **(parts(content) if whole else {}),
        "whole": whole,
        "private": True,
        "limits": [verdict for verdict in content["requirements"] if verdict["model"]],
        "rules": [verdict for verdict in content["requirements"] if not verdict["model"]],
        "advice": content["advice"],
        "decision": decision(content) if whole else None,
    }
