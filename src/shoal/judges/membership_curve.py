"""How well scores tell members of the data behind a release from others: the curve that the field publishes."""

from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.random import Generator

from shoal.judges.intervals import cautious_interval
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.elementary import exp, log, log_gamma, normal_quantile
from shoal.table.equal_rows import mean_ranks
from shoal.vocabulary.facts import ByLabel, Facts, Interval, OfOriginal, OfPlan

RATES = (0.01, 0.1)
"""Rates of false positives at which the rate of true positives is reported (Carlini et al. 2022)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MembershipCurve:
    """Scores of people behind a release and of others; whoever has a high one is taken for a member."""

    members: Floats  # Shape (m,)
    others: Floats  # Shape (n,)
    # Shapes (m,) and (n,); places in the order of all scores from 0, equal ones in random order
    places: tuple[Longs, Longs]

    @classmethod
    def of(cls, members: Floats, others: Floats, rng: Generator) -> "MembershipCurve":
        scores = _rounded(np.concatenate([members, others]))
        places = np.empty(len(scores), dtype=np.int64)
        places[np.lexsort((rng.permutation(len(scores)), scores))] = np.arange(len(scores))
        return cls(members=members, others=others, places=(places[: len(members)], places[len(members) :]))

    def figure(self, rate: float | None) -> tuple[float, Interval]:
        """The area under the curve; or, where a rate of false positives is given, the rate of true ones there."""
        if rate is None:
            return area_under_curve(self.members, self.others)
        return self.true_positives(rate)

    def true_positives(self, rate: float, confidence: float = 0.95) -> tuple[float, Interval]:
        """The rate of true positives at a rate of false ones, with an interval; equal scores are put in random order.

        Which score goes with the rate is known from the others only so far. The interval assumes no law: with half of
        what may go wrong the share of others above one of their scores is below, or above, the rate (a tail of the
        binomial distribution), and with the other half the share of members is where an interval for it says.
        """
        m, n = map(len, self.places)
        scores, members = np.sort(self.places[1])[::-1], self.places[0]
        first = min(floor(rate * n), n - 1)  # so many others are above the score there
        above = [(members > scores[place]).mean() for place in (first, min(first + 1, n - 1))]
        share = float(above[0] + (rate * n - first) * (above[1] - above[0]))
        strict, lax = _places(n, rate, (1 - confidence) / 4)
        low = 0 if strict is None else int((members > scores[strict]).sum())
        high = m if lax is None else int((members > scores[lax]).sum())
        ends = [cautious_interval(count, m, (1 + confidence) / 2) for count in (low, high)]
        return share, Interval(low=min(ends[0].low, share), high=max(ends[1].high, share), confidence=confidence)

    @property
    def facts(self) -> Facts:
        """The area and the rates of true positives, with their intervals."""
        rates: ByLabel = {f"at {rate:g}": _with_ends(*self.true_positives(rate)) for rate in RATES}
        return {
            "without risk": OfPlan(0.5),
            "area under the curve": OfOriginal(_with_ends(*area_under_curve(self.members, self.others))),
            "true positives, by rate of false ones": OfOriginal(rates),
        }

    def sentence(self, rate: float | None) -> str:
        """The figure in words, after the means of the attack."""
        value = self.figure(rate)[0]
        if rate is None:
            return f"in {100 * value:.1f} % of pairs; 50 % is guessing."
        return f"for {100 * value:.1f} % of the members, where {100 * rate:g} % of others are taken for some."


def best_attack(members: Floats, others: Floats, rng: Generator) -> tuple[int, MembershipCurve]:
    """The attack of several that works best, and its curve, each by one half of the people (every other one).

    `members`, `others`: shapes (attacks, m) and (attacks, n); scores by each attack. A figure of the people by whom the
    attack was chosen would be too high.
    """
    mine, theirs = (scores[:, rng.permutation(scores.shape[1])] for scores in (members, others))
    areas = [area_under_curve(a[::2], b[::2])[0] for a, b in zip(mine, theirs)]
    chosen = int(np.argmax(areas))
    return chosen, MembershipCurve.of(mine[chosen, 1::2], theirs[chosen, 1::2], rng)


def area_under_curve(members: Floats, others: Floats, confidence: float = 0.95) -> tuple[float, Interval]:
    """Probability that a member's score exceeds another's, with the interval of DeLong et al. (1988).

    Where one set lies wholly above the other the estimated variance is 0; the interval then reaches to what is
    still likely at n observations, as for a proportion of n in n (rule of three).
    """
    m, n = len(members), len(others)
    scores = _rounded(np.concatenate([members, others]))
    ranks = mean_ranks(scores)
    above = (ranks[:m] - mean_ranks(scores[:m])) / n  # of each member: share of others below it
    below = 1 - (ranks[m:] - mean_ranks(scores[m:])) / m
    area = float(above.mean())
    half = float(normal_quantile(0.5 + confidence / 2)) * float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))
    half = max(half, -float(log(1 - confidence)) / min(m, n) if area in (0.0, 1.0) else 0.0)
    return area, Interval(low=max(0.0, area - half), high=min(1.0, area + half), confidence=confidence)


def _rounded(scores: Floats) -> Floats:
    """Scores of which those that are equal but for rounding are equal."""
    return np.asarray(np.round(scores, 9))


def _places(n: int, rate: float, chance: float) -> tuple[int | None, int | None]:
    """Places in the descending order of n scores of others, from 0; None where n is too small.

    The share of all others above the score at the first is at most `rate`, and at the second at least, but for so
    small a chance each: the share above the score at place j is below a rate if more than j of n have such a chance.
    """
    place = np.arange(n)
    chances = log_gamma(n + 1.0) - log_gamma(place + 1.0) - log_gamma(n - place + 1.0)
    below = np.cumsum(exp(chances + place * log(rate) + (n - place) * log(1 - rate)))
    strict = int(np.searchsorted(below, chance, side="right")) - 1
    lax = int(np.searchsorted(below, 1 - chance))
    return None if strict < 0 else strict, None if lax >= n else lax


def _with_ends(value: float, interval: Interval) -> list[float]:
    return [value, interval.low, interval.high]
