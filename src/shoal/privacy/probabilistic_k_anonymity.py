"""Probabilistic k-anonymity: what a finished table can prove of it, and what can only be measured."""

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import plural, quoted
from shoal.judges.evidence import Verdict
from shoal.judges.intervals import proportion_interval
from shoal.judges.table_pair import UNPAIRED, TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.methods import method
from shoal.parameters import Columns
from shoal.privacy.base import PrivacyModel
from shoal.risk.base import RiskMeasure
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.risk.probabilistic_linkage import ProbabilisticLinkage

CONFIDENCE = 0.95

METRICS: tuple[Literal["euclidean", "mahalanobis"], ...] = ("euclidean", "mahalanobis")
DIRECTIONS: tuple[Literal["released to original", "original to released"], ...] = (
    "released to original",
    "original to released",
)

MOST_PAIRED = 12
"""Up to so many columns each pair is attacked by itself: 66 pairs."""

NOT_SHOWN = (
    "That a record depends on its own original only through its group's model or permutation is a property of the "
    "method that made the table; a table cannot show it. Attackers other than those measured are not excluded."
)


@method(
    "probabilistic-k-anonymity",
    title="Probabilistic k-anonymity",
    source="Soria-Comas & Domingo-Ferrer (2012)",
    example={"k": 3},
)
class ProbabilisticKAnonymity(PrivacyModel):
    """Nobody links a person to the right record with a probability above 1/k.

    The definition is about every attacker who knows the released table, the method and the quasi-identifiers of
    everybody. No check of a table proves that, so the verdict keeps apart

    - what is proved on the table: every group of the partition holds at least k released records (where several steps
      replaced known columns, a group are the records that share one in all of these steps, and a known column that
      only a mask changed hides nobody); no known column was released as it was, or so nearly that the nearest value of
      the original is every record's own (unless it is constant in every group); and, where it is so, that a known
      column has the same values in every group as before, so that they were at most dealt out anew inside the group;
    - what is measured: how often the best attacker finds the right record, with its confidence interval: distance-based
      linkage with two metrics in two directions and probabilistic linkage by all known columns, and distance-based
      linkage by each column alone, each pair (of up to 12 columns), and all columns but one.

    It holds where both conditions are proved and the measured rate does not refute it, that is, the interval (at 95 %,
    widened for the number of attackers tried) reaches down to 1/k. Whether records depend on their own originals only
    through the group remains a property of the method: it is true of `permutation` and of `normal`, whose draws are
    equally likely in any order of the group's records, and not in general of `ipso`, whose records keep the part that
    unreplaced columns explain.

    Parameters
    ----------
    k
        Smallest size of a group; 1/k is the largest probability.
    known
        Columns the attacker knows; by default the quasi-identifiers.
    """

    needs_original: ClassVar[bool] = True

    k: Annotated[int, Ge(1)]
    known: Annotated[tuple[str, ...] | None, Columns()] = None

    @property
    def reads(self) -> tuple[str, ...]:
        return ("quasi-identifier",) if self.known is None else self.known

    def judge(self, pair: TablePair) -> Verdict:
        original, released, partition = pair.original, pair.released, pair.groups
        if original is None or partition is None:
            return self._unknown("Neither proved nor measured: that needs the original table and the partition.")
        place = pair.place
        if place is None:
            return self._unknown(UNPAIRED)
        names = pair.common(self.known, "quasi-identifier")
        if not names:
            return self._unknown("No column is known to an attacker; name those that are in known.")
        if not len(released):
            return self._verdict_on(_Proved(smallest=None, as_it_was=(), dealt_out=()), None, names)
        labels = _labels(partition, place, len(original), len(released))
        if labels is None:
            return self._unknown("The partition does not belong to these tables: it has another number of records.")
        return self._verdict_on(_prove(original, released, place, labels, names), self._measured(pair, names), names)

    def _measured(self, pair: TablePair, names: tuple[str, ...]) -> dict[str, Any]:
        """The most successful attacker. Their samples are the same every time: no verdict depends on luck."""
        best: dict[str, Any] = {}
        attackers = _attackers(names)
        for label, attacker in attackers.items():
            finding = attacker.finding_on(pair, np.random.default_rng(0))
            if finding.value is None or finding.value < best.get("rate", -1.0):
                continue
            trials = int(finding.details["records attacked"])
            wide = proportion_interval(finding.value * trials, trials, 1 - (1 - CONFIDENCE) / len(attackers))
            best = {
                "rate": finding.value,
                "interval": [wide.low, wide.high],
                "confidence": CONFIDENCE,
                "attackers tried": len(attackers),
                "records attacked": trials,
                "attacker": label,
            }
        return best

    def _verdict_on(self, proved: "_Proved", measured: dict[str, Any] | None, names: tuple[str, ...]) -> Verdict:
        limit = 1 / self.k
        if measured is None:
            return self._verdict(True, None, "The table has no records, so no one can be found.", {})
        smallest = int(proved.smallest or 0)
        refuted = bool(measured) and measured["interval"][0] > limit
        holds = smallest >= self.k and not proved.as_it_was and bool(measured) and not refuted
        achieved = float(smallest)
        sentences = [f"Proved: every group holds at least {plural(smallest, 'record')}."]
        if smallest < self.k:
            sentences = [f"The smallest group holds {plural(smallest, 'record')}, fewer than {self.k}."]
        if proved.as_it_was:
            achieved = 1.0
            sentences.append(
                f"{quoted(proved.as_it_was)} {'was' if len(proved.as_it_was) == 1 else 'were'} released unchanged, or "
                f"so nearly that the nearest value gives it back, so whoever knows them links by them."
            )
        if proved.dealt_out:
            sentences.append(
                f"Proved: inside every group {quoted(proved.dealt_out)} "
                f"{'has' if len(proved.dealt_out) == 1 else 'have'} the same values as before."
            )
        if measured:
            low, high = measured["interval"]
            sentences.append(
                f"Measured: {measured['attacker']}, finds {100 * measured['rate']:.1f} % of the records "
                f"({100 * low:.1f} to {100 * high:.1f} %) where 1/k is {100 * limit:.1f} %"
                f"{', which refutes the claim' if refuted else ''}."
            )
            if refuted:
                achieved = min(achieved, 1 / measured["interval"][0])
        else:
            sentences.append("No attacker could be measured.")
        return self._verdict(
            holds,
            achieved,
            " ".join(sentences),
            {
                "proved": {
                    "smallest group": smallest,
                    "columns released as they were": list(proved.as_it_was),
                    "columns with the same values in every group": list(proved.dealt_out),
                },
                "measured": measured,
                "not shown": NOT_SHOWN,
                "columns known to the attacker": list(names),
            },
        )

    def _verdict(self, holds: bool, achieved: float | None, sentence: str, facts: dict[str, Any]) -> Verdict:
        on = "" if self.known is None else f" on {', '.join(self.known)}"  # a weaker requirement says so
        return Verdict(
            requirement=f"probabilistic {self.k}-anonymity{on}",
            holds=holds,
            required=self.k,
            achieved=achieved,
            sentence=sentence,
            facts=facts,
        )

    def _unknown(self, sentence: str) -> Verdict:
        return self._verdict(False, None, sentence, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proved:
    """What the table and the partition show."""

    smallest: int | None
    as_it_was: tuple[str, ...]
    dealt_out: tuple[str, ...]


def _attackers(names: tuple[str, ...]) -> dict[str, RiskMeasure]:
    """The attackers whose success is measured; the most successful one counts."""
    attackers: dict[str, RiskMeasure] = {}
    for metric in METRICS:
        for direction in DIRECTIONS:
            attackers[f"distance-based linkage, {metric}, {direction}"] = DistanceLinkage(
                columns=names, metric=metric, direction=direction
            )
    attackers["probabilistic linkage"] = ProbabilisticLinkage(columns=names)
    for known in _subsets(names):
        for direction in DIRECTIONS:
            label = f"distance-based linkage by {quoted(known)} alone, {direction}"
            attackers[label] = DistanceLinkage(columns=known, direction=direction)
    return attackers


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Sets of columns that an attacker may know or heed alone: each one, each pair, all but one.

    Columns that were changed little give people away though all columns together do not: the others only lead astray.
    """
    single = [(name,) for name in names]
    pairs = list(combinations(names, 2)) if len(names) <= MOST_PAIRED else []
    all_but_one = list(combinations(names, len(names) - 1))
    return [known for known in dict.fromkeys(single + pairs + all_but_one) if 0 < len(known) < len(names)]


def _prove(original: Records, released: Records, place: Longs, labels: Longs, names: tuple[str, ...]) -> _Proved:
    as_it_was, dealt_out = [], []
    whole_groups = len(place) == len(original)
    sizes = np.bincount(labels)
    smallest = int(sizes[sizes > 0].min())
    for name in names:
        before, after = original[name].take(place), released[name]
        if before.continuous != after.continuous or before.categories != after.categories:
            continue
        one, other = before.identity(), after.identity()
        kept = np.array_equal(one, other) or (before.continuous and _nearest_is_own(before.values, after.values))
        if kept:
            if smallest == 1 or not _constant_in_groups(one, labels):
                as_it_was.append(name)
        elif whole_groups and np.array_equal(one[np.lexsort((one, labels))], other[np.lexsort((other, labels))]):
            dealt_out.append(name)
    return _Proved(smallest=smallest, as_it_was=tuple(as_it_was), dealt_out=tuple(dealt_out))


def _nearest_is_own(before: Floats, after: Floats) -> bool:
    """Whether every released value is nearer to its own original than to any other value of the column."""
    if np.isnan(before).any() or np.isnan(after).any():
        return False
    values, own = np.unique(before, return_inverse=True)
    far = np.concatenate([[-np.inf], values, [np.inf]])
    apart = np.abs(after - before)
    return bool(((apart < np.abs(after - far[own])) & (apart < np.abs(after - far[own + 2]))).all())


def _constant_in_groups(values: Longs, labels: Longs) -> bool:
    order = np.lexsort((values, labels))
    same_group = labels[order][1:] == labels[order][:-1]
    return bool((values[order][1:] == values[order][:-1])[same_group].all())


def _labels(partition: Partition, place: Longs, n_original: int, n_released: int) -> Longs | None:
    """The group of each released record; sizes count released records only."""
    if len(partition) == n_original:
        return partition.labels[place].astype(np.int64)
    return partition.labels.astype(np.int64) if len(partition) == n_released else None
