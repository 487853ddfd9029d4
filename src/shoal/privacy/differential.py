"""Differential privacy of all that is released, proved on the account of the run (Dwork et al. 2006)."""

from typing import Annotated, ClassVar

from shoal.judges.prelude import TablePair, Verdict
from shoal.judges.privacy_bought import ROUNDING, PrivacyBought
from shoal.privacy.base import PrivacyModel
from shoal.vocabulary.facts import Better, Fact, OfPlan
from shoal.vocabulary.prelude import Ge, Gt, Le, Scales, Setting, method

NO_TABLE_SHOWS_IT = (
    "No table shows by itself how it was made, and there is no account of the run. Require it in the plan that makes "
    "the release."
)
NOTHING_SPENT = "No step of the plan is differentially private. Take one that is, such as private-marginals."


@method(
    "differential",
    title="Differential privacy",
    source="Dwork, McSherry, Nissim & Smith (2006); Bun & Steinke (2016)",
    example={"epsilon": 1.0, "delta": 1e-9},
)
class Differential(PrivacyModel):
    """All that is released was made by private steps that together spend at most epsilon and delta on anybody.

    Proved from the account of the run, not from the table. The losses of all private steps are added up, as epsilons
    and deltas or as rhos of zero-concentrated differential privacy, whichever shows less; and the plan must leave
    nothing in the public folder that depends on the table in another way. What does is named.

    Parameters
    ----------
    epsilon
        Largest privacy loss: the odds of any release change by a factor of at most exp(epsilon).
    delta
        Largest probability that they change by more. It must be far below 1 over the number of records.

    Notes
    -----
    `safepub` and `private-marginals` hide whether a person is in the table. `laplace`, `geometric` and `staircase` hide
    cells of records that are there: then every released column must have their noise, and no cell of it may be missing.
    So does `private-microaggregation`, by noise on means of groups.
    """

    scales: ClassVar[Scales] = "memory"
    of_account: ClassVar[bool] = True
    better: ClassVar[Better] = "lower"

    epsilon: Annotated[float, Gt(0), Le(100), Setting()]
    delta: Annotated[float, Ge(0), Le(0.5), Setting()] = 0.0

    @property
    def counts_records(self) -> bool:
        """False: for whom it holds, the account says."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def verdict_on(self, pair: TablePair) -> Verdict:
        """The verdict by the account of the run; what can be filled in of the table has no bearing on it."""
        return self.named(self.judge(pair))

    def judge(self, pair: TablePair) -> Verdict:
        bought = pair.bought
        if bought is None:
            return self._verdict(None, False, f"Not proved: {NO_TABLE_SHOWS_IT}")
        if not bought.losses:
            return self._verdict(None, False, f"Not proved: {NOTHING_SPENT}")
        achieved = bought.epsilon_at(self.delta)
        if bought.beyond:
            return self._verdict(None, False, f"Not proved: {bought.beyond}")
        if achieved is None:
            sentence = (
                f"Not proved: the steps spend a delta of {bought.delta:.4g}, and {self.delta:g} is allowed. Lower "
                f"theirs, or raise this one."
            )
            return self._verdict(None, False, sentence)
        if achieved > self.epsilon * ROUNDING:
            sentence = f"The steps spend an epsilon of {achieved:.4g} at a delta of {self.delta:g}; lower theirs."
            return self._verdict(achieved, False, sentence)
        return self._verdict(achieved, True, self._in_words(bought, achieved))

    def _in_words(self, bought: PrivacyBought, achieved: float) -> str:
        but_for = f", but for a probability of {self.delta:g}" if self.delta else ""
        return (
            f"{bought.of_whom} changes the odds of all that is released by a factor of exp({achieved:.4g}) at most"
            f"{but_for}."
        )

    def _verdict(self, achieved: float | None, holds: bool, sentence: str) -> Verdict:
        at = f", delta {self.delta:g}" if self.delta else ""
        facts: dict[str, Fact] = {"epsilon": OfPlan(self.epsilon), "delta": OfPlan(self.delta)}
        return Verdict(
            requirement=f"differential privacy (epsilon {self.epsilon:g}{at})",
            holds=holds,
            required=self.epsilon,
            achieved=achieved,
            sentence=sentence,
            facts=facts,
            influence=0,
        )
