"""What a judge hands back: frozen values that say what was proved and what was measured.

A `Verdict` answers a requirement: it holds on the finished table or it does not. A `Finding` is a figure
of risk or of information loss, with its range, its direction and, where it is an estimate, its interval.
A figure that cannot be computed is `None` and says why; it is never replaced by the reassuring one.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

import numpy as np

from shoal.facts import Interval

RECORD_VERSION = 1
"""Version of the layout of record.json and evidence.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a privacy requirement holds on a finished table.

    Parameters
    ----------
    requirement
        The requirement in words, with its parameters ("5-anonymity").
    holds
        True only where it was proved on the table.
    required, achieved
        The limit and what the table reaches, on the requirement's own scale.
    sentence
        One sentence for a reader: what was proved, or what fails and by how much.
    details
        Further figures, JSON-able; no cell's value.
    """

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One measured figure of disclosure risk or information loss.

    Parameters
    ----------
    measure
        Registered name.
    title
        What a reader calls it.
    value
        The figure, or None where it cannot be computed; `reason` then says why.
    limits
        Smallest and largest value the figure can take.
    better
        Whether lower or higher is better for what the figure judges.
    sentence
        What the figure means, in one sentence that needs no formula.
    interval
        Where the figure is an estimate.
    details
        Further figures for the public report, JSON-able; no cell's value, no count of people under k.
    private
        Record-level arrays, for the private record only.
    """

    measure: str
    title: str
    value: float | None
    limits: tuple[float, float] = (0.0, math.inf)
    better: Literal["lower", "higher"] = "lower"
    sentence: str = ""
    reason: str = ""
    interval: Interval | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict, repr=False)


def proportion_interval(hits: float, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion (Wilson 1927).

    `hits` may be fractional: a tie among m candidates counts 1/m.
    """
    if trials == 0:
        return Interval(low=0.0, high=1.0, confidence=confidence)
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))
    share = hits / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return Interval(low=max(0.0, centre - half), high=min(1.0, centre + half), confidence=confidence)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What was proved and what was measured on the finished table."""

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """True only where something was required, and all of it was proved."""
        return bool(self.verdicts) and all(verdict.holds for verdict in self.verdicts)

    def lines(self) -> list[str]:
        """For a reader: what was proved or refuted, each figure, and why others are lacking."""
        told = [f"{'proved' if v.holds else 'REFUTED':9} {v.requirement}: {v.sentence}" for v in self.verdicts]
        told += [f"measured  {f.title}: {f.value:.4g}{f.interval or ''}" for f in self.findings if f.value is not None]
        return told + [f"no figure {f.title}: {f.reason}" for f in self.findings if f.value is None]

    def __repr__(self) -> str:
        return "\n".join(self.lines()) or "nothing required, nothing measured"

    def as_mapping(self) -> dict[str, Any]:
        """For evidence.json: everything public, nothing about single records."""
        figures = [{k: v for k, v in asdict(finding).items() if k != "private"} for finding in self.findings]
        content = {
            "version": RECORD_VERSION,
            "requirements": [asdict(verdict) for verdict in self.verdicts],
            "measures": figures,
        }
        return cast(dict[str, Any], as_json(content))


PUBLISHED_DIGITS = 4
"""What a report shows of a measured figure."""


def rounded(value: Any) -> Any:
    """Figures as they may be published: all the digits of an exact sum over few records can betray one of them."""
    if isinstance(value, Mapping):
        return {key: rounded(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(below) for below in value]
    return float(f"{value:.{PUBLISHED_DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value


def as_json(value: Any) -> Any:
    """What JSON knows; a figure that is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, Mapping):
        return {str(key): as_json(below) for key, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(below) for below in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
