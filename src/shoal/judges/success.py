"""Success of an attack beyond what it would find about anybody (Giomi et al. 2023).

An attack makes a number of guesses about people of the original, some of which are right. The same attack on a holdout,
people who are not in the data behind the release, is right as often as the population alone makes it. What is left is
the risk that the release brings to those who are in it: (attack - control) / (1 - control), the share of the guesses
that would have failed on strangers and were right on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from shoal.judges.intervals import proportion_interval
from shoal.vocabulary.errors import in_digits
from shoal.vocabulary.facts import ByLabel, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRate:
    """A rate of right guesses."""

    hits: float  # Number of right guesses; fractional if ties count by their probability
    guesses: int  # Number of guesses, at least 1

    @property
    def share(self) -> float:
        return self.hits / self.guesses

    @property
    def interval(self) -> Interval:
        """Wilson's interval, at 95 %."""
        return proportion_interval(self.hits, self.guesses)

    @property
    def centre(self) -> float:
        """The middle of the interval, the estimate that Giomi et al. use."""
        return (self.interval.low + self.interval.high) / 2

    @property
    def half(self) -> float:
        return (self.interval.high - self.interval.low) / 2

    def as_facts(self, attack: str) -> ByLabel:
        return {attack: self.share, f"{attack}, interval": [self.interval.low, self.interval.high]}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """An attack on the original, the same on a holdout where there is one, and guessing."""

    attack: SuccessRate
    control: SuccessRate | None
    baseline: float  # Share of right guesses of someone who guesses at random

    @property
    def value(self) -> float:
        """The risk in [0, 1]: the success of the attack beyond the control, or all of it without a control."""
        return self._risk()[0]

    @property
    def interval(self) -> Interval:
        """Interval at 95 %; errors of attack and control propagated to first order."""
        return self._risk()[1]

    def _risk(self) -> tuple[float, Interval]:
        if self.control is None:
            return self.attack.share, self.attack.interval
        beyond = 1 - self.control.centre  # above 0: Wilson's centre never reaches 1
        risk = (self.attack.centre - self.control.centre) / beyond
        half = sqrt((self.attack.half / beyond) ** 2 + (self.control.half * (1 - self.attack.centre) / beyond**2) ** 2)
        low, high = (min(1.0, max(0.0, risk + side * half)) for side in (-1, 1))
        return min(1.0, max(0.0, risk)), Interval(low=low, high=high)

    @property
    def facts(self) -> Mapping[str, Any]:
        control = {} if self.control is None else self.control.as_facts("right on strangers")
        return {
            "guesses": self.attack.guesses,
            **self.attack.as_facts("right on people of the original"),
            **control,
            "right by guessing at random": self.baseline,
            "better than guessing": self.attack.interval.low > self.baseline,
        }

    @property
    def sentence(self) -> str:
        """The rates in a sentence."""
        rates = f"right for {_percent(self.attack.share)} of the people attacked"
        if self.control is not None:
            rates += f", for {_percent(self.control.share)} of people who are not in the data"
        weak = "" if self.attack.interval.low > self.baseline else ", so that the attack finds no more than guessing"
        return f"{rates}, and by guessing at random for {_percent(self.baseline)}{weak}."


def _percent(share: float) -> str:
    return f"{in_digits(100 * share, 3)} %"
