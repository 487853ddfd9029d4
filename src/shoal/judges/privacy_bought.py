"""What differential privacy bounds of a release, by the account of the run that made it."""

from dataclasses import dataclass
from math import fsum

from shoal.kernels.concentrated import epsilon_of
from shoal.vocabulary.facts import PrivacyLoss

ROUNDING = 1 + 1e-12
"""Sums of epsilons and deltas are compared up to this factor: .1 and .2 are .3, which their binary fractions miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyBought:
    """The losses of a run, and what they bound.

    Parameters
    ----------
    losses
        Of each private step.
    whole
        True if it is hidden whether a person is in the table; else the odds are those between any two cells of a person
        who is.
    records
        Records of a person that are counted for.
    persons
        True if the table says whose each record is, and more records of a person are left out; else that nobody has
        more is the plan's word.
    beyond
        What depends on the table without being paid for, as the subject of a sentence; empty if nothing does.
    """

    losses: tuple[PrivacyLoss, ...]
    whole: bool
    records: int
    persons: bool
    beyond: str

    def epsilon_at(self, delta: float) -> float | None:
        """The least epsilon shown for all steps together at a delta; None if none is shown at it.

        Epsilons and deltas add up (sequential composition), and so do rhos (Bun & Steinke 2016).
        """
        shown = [fsum(loss.epsilon for loss in self.losses)] if self.delta <= delta * ROUNDING else []
        rhos = [loss.rho for loss in self.losses if loss.rho is not None]
        if delta > 0 and len(rhos) == len(self.losses):
            shown.append(epsilon_of(fsum(rhos) * ROUNDING, delta))
        return min(shown, default=None)

    @property
    def delta(self) -> float:
        """The deltas of all steps together."""
        return fsum(loss.delta for loss in self.losses)

    @property
    def of_whom(self) -> str:
        """What an attacker is left in doubt about, as the subject of a sentence."""
        many = self.records > 1
        if not self.whole:
            return f"What stands in the noisy cells of {f'{self.records:,} records' if many else 'a record'}"
        if self.persons:
            return f"Whether a person is in the table, with {self.records:,} record{'s' * many} at most that count,"
        return f"Whether {f'{self.records:,} records are' if many else 'a record is'} in the table"
