"""The candidates on the frontier, and the one to recommend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import dist

from shoal.desk.frontier.candidates import Axes, Candidate
from shoal.desk.frontier.workers import CandidateResult
from shoal.report.exploration import Tried
from shoal.vocabulary.errors import InputError, in_digits
from shoal.vocabulary.facts import Better


@dataclass(frozen=True, kw_only=True)
class CandidateOutcome:
    """The outcome of a candidate.

    Parameters
    ----------
    risk, utility
        The figures on the two axes; None where one could not be computed, for the reason in `reason`.
    holds
        True if every requirement of the plan was proved.
    figures
        All figures, by measure.
    """

    name: str
    method: str
    risk: float | None
    utility: float | None
    holds: bool
    reason: str
    figures: Mapping[str, float | None]

    def as_mapping(self) -> Tried:
        """The point for frontier.json."""
        return {
            "name": self.name,
            "method": self.method,
            "risk": self.risk,
            "utility": self.utility,
            "holds": self.holds,
            "reason": self.reason,
            "figures": dict(self.figures),
        }

    @property
    def comparable(self) -> bool:
        """True if every requirement was proved and both figures were computed."""
        return self.holds and self.risk is not None and self.utility is not None


def point_of(candidate: Candidate, result: CandidateResult, axes: Axes) -> CandidateOutcome:
    risk, utility = (candidate.value_of(result["values"], axis) for axis in axes.both)
    reason = result["reason"]
    if not reason and (risk is None or utility is None):
        lacking = axes.risk if risk is None else axes.utility
        reason = f"{lacking.method_name} could not be computed"
    return CandidateOutcome(
        name=candidate.name,
        method=candidate.method,
        risk=risk,
        utility=utility,
        holds=result["holds"],
        reason=reason,
        figures=result["figures"],
    )


def _signed(point: CandidateOutcome, better: Sequence[Better]) -> tuple[float, float]:
    """Both axes turned so that lower is better."""
    if point.risk is None or point.utility is None:
        raise InputError(f"'{point.name}' has no figures to compare.")
    risk = point.risk if better[0] == "lower" else -point.risk
    return risk, point.utility if better[1] == "lower" else -point.utility


def pareto_of(points: Sequence[CandidateOutcome], better: Sequence[Better]) -> tuple[str, ...]:
    ranked = sorted((p for p in points if p.comparable), key=lambda p: _signed(p, better))
    kept: list[CandidateOutcome] = []
    for point in ranked:
        if not kept or _signed(point, better)[1] < _signed(kept[-1], better)[1]:
            kept.append(point)
    return tuple(p.name for p in kept)


def recommend(
    points: Sequence[CandidateOutcome],
    pareto: Sequence[str],
    better: Sequence[Better],
    axes: tuple[str, str],
    tells_nothing: Callable[[float], bool] = lambda figure: False,
) -> tuple[str | None, str]:
    """The name of the recommended point, if there is one, and the reason.

    It is the point of the frontier that is nearest to the corner where both figures are best, with axes scaled to the
    frontier's ranges; of equally near points, the one with the better risk.

    Parameters
    ----------
    tells_nothing
        True for a loss at which a release is of no use; such a point is never recommended.
    """
    useless = {p.name for p in points if p.utility is not None and tells_nothing(p.utility)}
    if pareto and useless.issuperset(pareto):
        return None, (
            f"Every candidate on the frontier loses as much as a table in which all records are alike ({axes[1]}), "
            "so none can be recommended."
        )
    left = [name for name in pareto if name not in useless]
    if not left:
        lacking = (
            "that satisfies every requirement has both figures"
            if any(p.holds for p in points)
            else "satisfies every requirement"
        )
        return None, f"No candidate {lacking}, so none can be recommended."
    if len(left) == 1 < len(pareto):
        return left[0], (
            f"'{left[0]}' is the only candidate on the frontier that loses less than a table in which all records are "
            f"alike ({axes[1]})."
        )
    if len(left) == 1:
        several = sum(p.comparable for p in points) > 1
        least = "at least as good on both axes as every other" if several else "the only"
        return left[0], f"'{left[0]}' is {least} candidate that satisfies every requirement and has both figures."
    on = [next(p for p in points if p.name == name) for name in left]
    places = [_signed(p, better) for p in on]
    low = [min(axis) for axis in zip(*places)]
    width = [max(axis) - least for axis, least in zip(zip(*places), low)]
    distances = [dist([(v - least) / w for v, least, w in zip(place, low, width)], [0.0, 0.0]) for place in places]
    best = on[distances.index(min(distances))]
    tied = f"; of equally near ones it has the better {axes[0]}" if distances.count(min(distances)) > 1 else ""
    pairs = zip(axes, (best.risk, best.utility))
    figures = ", ".join(f"{name} {in_digits(value)}" for name, value in pairs if value is not None)
    return best.name, (
        f"Of the {len(on)} candidates on the frontier, '{best.name}' is nearest to the best of both "
        f"({figures}), each axis scaled to the "
        f"frontier's range{tied}."
    )
