"""Probabilistic k-anonymity (Soria-Comas & Domingo-Ferrer 2012), proved from the construction of a release.

*Definition 1* requires that nobody links a person to the right record with a probability above 1/k, whatever external
information they have. Neither a failed attack nor a finished table shows that, since the origin of the cells decides
whether they were redistributed. So the proof rests only on the steps of the run.

Some columns are *known* to the intruder: the quasi-identifiers, unless the parameter `known` names others, and always
the household, since everybody knows who lives with whom. A replacement *redistributes a column* inside groups if, given
the rest of the table, the new cells would have been as likely for any other order of the group's records (permutation,
the group's centre, draws from the group's normal law). Then two persons of a group could change places without any
change in the law of the release, so that the intruder finds a person's record with a probability of at most 1 over the
size of the group. If several steps redistributed columns, the groups are the records that share a group in all of them.

Two ways of redistribution give a release with one and the same law once its order is shuffled, and both are proved:

- every known column was redistributed, in groups of k or more: a person's values may then belong to any member of the
  group;
- every other released column was redistributed, in groups of k or more: the known values keep their place, and the
  values beside them may belong to any member of the group.

Neither way proves anything by itself if the groups reveal which cells belonged together. They do not if each step
formed its groups only on columns that are redistributed, or only on columns that stay. They do if it formed them on
both, as with groups that must be t-close (`shoal.judges.exchange`). The claim then holds only against intruders who do
not know how the groups were formed, and it is not proved. Nor is it proved if cells of one person were redistributed
together, since an intruder who knows one of them finds the others.

A column that is constant in the release, or in every group before and after, does not tell the members of a group
apart, whatever was done with it. The proof does not cover an intruder who knows more than is assumed: the verdict's
name lists the columns assumed known, and its sentence the released columns that are not.

Linkage attacks are measured all the same. They prove nothing, but an attacker who is right more often than the proof
allows (by the interval at 95 %, widened for the number of attackers tried) refutes a method's claim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.judges.exchange import Exchange, Shown
from shoal.judges.intervals import proportion_interval
from shoal.judges.linkage import DIRECTIONS, METRICS, Direction, Metric, link_by_distance
from shoal.judges.prelude import Records, TablePair, Verdict
from shoal.judges.table_pair import UNPAIRED
from shoal.privacy.base import PrivacyModel
from shoal.table.microdata import as_records
from shoal.table.partition import Partition, meet
from shoal.table.schema import UNITS
from shoal.table.step_result import StepTrace
from shoal.vocabulary.facts import ByLabel
from shoal.vocabulary.prelude import Columns, Fact, Facts, Ge, OfPlan, Scales, method, of_original, plural, quoted

CONFIDENCE = 0.95

MOST_PAIRED = 12
"""Most columns of which every pair is attacked by itself: 66 pairs."""

ATTACKED = 2000
"""Number of records that each attacker tries, drawn at random: enough for an interval of +-2 %."""


@method(
    "probabilistic-k-anonymity",
    title="Probabilistic k-anonymity",
    source="Soria-Comas & Domingo-Ferrer (2012)",
    example={"k": 3},
)
class ProbabilisticKAnonymity(PrivacyModel):
    """No intruder who knows some columns of everybody links a person to the right record with probability above 1/k.

    This is proved from the steps of the run: every known column, or every other released one, was redistributed in
    groups of at least k released records, or is constant; and the groups were formed on redistributed columns alone or
    on columns that stay alone, by strata too. Groups formed on both, and groups that satisfy a requirement on
    confidential columns, reveal to an intruder who knows the method which cells belonged together. Cells that a joint
    permutation moves together stay one person's, so known columns must not be among them together with others. A
    finished table alone, a mask, and a replacement whose records depend on the original ones (`ipso`, whose records
    keep the part that unreplaced columns explain; trees; regressions) prove nothing. If all released columns except the
    known ones were redistributed, the known ones may stay: the law of the shuffled release is the same.

    Parameters
    ----------
    k
        Smallest size of a group; 1/k is the largest probability.
    known
        Columns that the intruder knows; by default the quasi-identifiers. Definition 1 of the paper speaks of any
        external information: name all released columns for that.
    """

    scales: ClassVar[Scales] = "memory"
    emptily: ClassVar[Mapping[str, float]] = {"k": 1}

    k: Annotated[int, Ge(1)]
    known: Annotated[tuple[str, ...] | None, Columns()] = None

    @property
    def needs_original(self) -> bool:
        return True

    @property
    def reads(self) -> tuple[str, ...]:
        return ("quasi-identifier",) if self.known is None else self.known

    def check(
        self,
        table: Any,
        *,
        confidential: Any = None,
        original: Any = None,
        partition: Partition | None = None,
        dealt: Sequence[str] = (),
        formed_on: Sequence[str] | None = None,
    ) -> Verdict:
        """The verdict on a data frame, Microdata, Records or an array; further parameters as for other models.

        Parameters
        ----------
        dealt
            Columns that were redistributed inside the groups of `partition`, each by itself. No table shows that: the
            caller vouches for it, as the run does for a release.
        formed_on
            Columns on which the groups were formed; any of the table if not given.
        """
        before = None if original is None else as_records(original, confidential)
        pair = TablePair.of(before, as_records(table, confidential), partition)
        if partition is None or pair.place is None:
            return self.verdict_on(pair)
        if pair.released_labels is None:
            names = pair.released.quasi_identifiers if self.known is None else self.known
            return self._unknown(
                names, "The partition does not belong to these tables: it has another number of records."
            )
        groups = Partition.of(pair.released_labels)
        reads = None if formed_on is None else frozenset(formed_on)
        step = StepTrace(columns=tuple(dealt), reads=reads, dealing="columns")
        return self.verdict_on(replace(pair, dealt=dict.fromkeys(dealt, groups), traces=(step,)))

    def judge(self, pair: TablePair) -> Verdict:
        released = pair.released
        names = released.quasi_identifiers if self.known is None else self.known
        if pair.original is None or pair.dealt is None:
            return self._unknown(names, "Not proved: that needs the original table, and what the steps of the run did.")
        if pair.place is None:
            return self._unknown(names, UNPAIRED)
        known = pair.common(self.known, "quasi-identifier")
        if not known:
            return self._unknown(names, "No column is known to an intruder; name those that are in known.")
        if not len(released):
            return self._verdict(names, True, None, "The table has no records, so no one can be found.", {})
        assumed = tuple(dict.fromkeys((*known, *released.names(*UNITS))))
        others = tuple(name for name in released.names() if name not in assumed)
        drawn = tuple(n for step in pair.traces if step.dealing == "drawn" for n in step.columns if n in others)
        of_known, of_others = (self._dealing(pair, columns, assumed) for columns in (assumed, others))
        if others and of_others.smallest >= self.k > of_known.smallest:
            return self._from_others(names, of_others, others)
        if drawn and of_known.smallest < self.k:  # cells drawn anew are nobody's, and may be drawn with known ones
            of_known = max(of_known, self._dealing(pair, (*assumed, *drawn), assumed), key=lambda way: way.smallest)
        dealing = of_others if of_others.shown and not of_known.shown else of_known
        return self._from_known(names, dealing, others, self._measured(pair, known))

    def _dealing(self, pair: TablePair, moved: tuple[str, ...], known: tuple[str, ...]) -> "_Dealing":
        """The redistribution of some columns, with a sign of it in the release if groups are large enough to matter."""
        dealing = _dealt_out(pair, moved, pair.dealt or {})
        if dealing.kept or dealing.smallest < self.k:
            return dealing
        shown = _exchange(pair, moved, known, dealing.groups).shown(pair.traces)
        return dealing if shown is None else replace(dealing, smallest=1, shown=shown)

    def _from_others(self, names: tuple[str, ...], dealing: "_Dealing", others: tuple[str, ...]) -> Verdict:
        sentence = (
            f"Proved: all that stands beside {quoted(names)} ({quoted(others)}) was redistributed inside groups of at "
            f"least {plural(dealing.smallest, 'record')}, as if these had been."
        )
        facts = {**of_original({"proved": dealing.facts, "measured": None}), **_known_to_intruder(names)}
        return self._verdict(names, True, float(dealing.smallest), sentence, facts)

    def _from_known(
        self, names: tuple[str, ...], dealing: "_Dealing", others: tuple[str, ...], measured: ByLabel
    ) -> Verdict:
        limit = 1 / self.k
        refuted = bool(measured) and measured["interval"][0] > limit
        achieved = float(dealing.smallest)
        if dealing.shown is not None:
            sentences = [_not_exchangeable(dealing.shown)]
        elif dealing.kept:
            sentences = [
                f"Not proved: {quoted(dealing.kept)} {_were(dealing.kept)} not redistributed "
                f"in groups, so that records may be linked by {'it' if len(dealing.kept) == 1 else 'them'}."
            ]
        elif dealing.smallest < self.k:
            sentences = [f"The smallest group holds {plural(dealing.smallest, 'record')}, fewer than {self.k}."]
        else:
            sentences = [
                f"Proved: {quoted(names)} {_were(names)} redistributed inside groups of "
                f"at least {plural(dealing.smallest, 'record')}."
            ]
            if others:
                sentences.append(f"An intruder who also knows {quoted(others)} of a person is not covered.")
        if measured:
            low, high = measured["interval"]
            sentences.append(
                f"Measured: {measured['attacker']}, finds {100 * measured['rate']:.1f} % of the records "
                f"({100 * low:.1f} to {100 * high:.1f} %) where 1/k is {100 * limit:.1f} %"
                f"{', which refutes the claim' if refuted else ''}."
            )
            achieved = min(achieved, 1 / low) if refuted else achieved
        facts = {**of_original({"proved": dealing.facts, "measured": measured}), **_known_to_intruder(names)}
        holds = dealing.smallest >= self.k and not refuted
        return self._verdict(names, holds, achieved, " ".join(sentences), facts)

    def _measured(self, pair: TablePair, names: tuple[str, ...]) -> ByLabel:
        """The most successful intruder, with the same samples every time: no verdict depends on luck."""
        best: ByLabel = {}
        attackers = _attackers(names)
        for known, metric, direction in attackers:
            rows, chances = link_by_distance(pair, known, metric, direction, ATTACKED, np.random.default_rng(0))
            rate = float(chances.mean())
            if rate < best.get("rate", -1.0):
                continue
            wide = proportion_interval(float(chances.sum()), len(rows), 1 - (1 - CONFIDENCE) / len(attackers))
            best = {
                "rate": rate,
                "interval": [wide.low, wide.high],
                "confidence": CONFIDENCE,
                "attackers tried": len(attackers),
                "records attacked": len(rows),
                "attacker": f"linkage by the distance of {quoted(known)}, {metric}, {direction}",
            }
        return best

    def _verdict(
        self, names: tuple[str, ...], holds: bool, achieved: float | None, sentence: str, facts: Facts
    ) -> Verdict:
        return Verdict(
            requirement=f"probabilistic {self.k}-anonymity" + (f", {quoted(names)} being known" if names else ""),
            holds=holds,
            required=self.k,
            achieved=achieved,
            sentence=sentence,
            facts=facts,
        )

    def _unknown(self, names: tuple[str, ...], sentence: str) -> Verdict:
        return self._verdict(names, False, None, sentence, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dealing:
    """Redistribution of some columns inside groups."""

    # Released records of the smallest group; 1 if some columns were not redistributed, or if the groups tell cells
    # apart
    smallest: int
    kept: tuple[str, ...]  # Columns that were not redistributed, and tell records of one group apart
    groups: Partition  # The groups whose members share all groups in which the columns were redistributed
    # How an exchange of cells inside the groups would show in the release; None if it would not
    shown: Shown | None = None

    @property
    def facts(self) -> ByLabel:
        return {"smallest group": self.smallest, "columns not redistributed": list(self.kept)}


def _dealt_out(pair: TablePair, names: tuple[str, ...], dealt: Mapping[str, Partition]) -> _Dealing:
    telling = _telling(pair, names)
    inside = {name: dealt[name] for name in telling if name in dealt and dealt[name].n_groups < len(pair.released)}
    parts = list({id(part): part for part in inside.values()}.values())
    groups = meet(parts) if parts else Partition(labels=np.zeros(len(pair.released), dtype=np.int32))
    kept = tuple(name for name in telling if name not in inside and not _constant(pair, name, groups))
    return _Dealing(smallest=1 if kept else groups.k, kept=kept, groups=groups)


def _telling(pair: TablePair, names: tuple[str, ...]) -> list[str]:
    """Columns that are not constant in the release."""
    return [name for name in names if np.ptp(pair.released[name].codes()) > 0]


def _exchange(pair: TablePair, moved: tuple[str, ...], known: tuple[str, ...], groups: Partition) -> Exchange:
    before = pair.before.take(pair.pairing)
    kinds = {name: Partition.of(before[name].codes()) for name in before.names()}
    return Exchange(
        columns=before.names(),
        moved=moved,
        known=known,
        neutral=[name for name, kind in kinds.items() if meet([groups, kind]).n_groups == groups.n_groups],
        released=_telling(pair, pair.released.names()),
        groups=groups,
        dealt=pair.dealt or {},
        fewer=len(before) < len(pair.before),
    )


def _not_exchangeable(shown: Shown) -> str:
    columns = shown.step.columns
    were = f"Not proved: {quoted(columns)} {_were(columns)}"
    match shown.fault:
        case "groups":
            on = "columns that may be any" if shown.step.reads is None else quoted(sorted(shown.step.reads))
            return (
                f"{were} redistributed in groups formed on {on}, so that columns redistributed and columns that stay "
                f"decided on them together; this holds only if the way the groups were formed is unknown. Form groups "
                f"by columns redistributed alone, or by columns that stay alone."
            )
        case "together":
            return (
                f"{were} redistributed together, so that known cells of a person stay with others. Redistribute the "
                f"known columns in a step of their own."
            )
        case "whole":
            return f"{were} redistributed together, and nothing else is released: whole records only changed places."
    return f"{were} changed before by a step that may read known and other columns, so that the one tells of the other."


def _were(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _constant(pair: TablePair, name: str, groups: Partition) -> bool:
    """True if a column is constant in every group, in the original and in the release."""
    tables: list[Records] = [pair.released]
    if name in pair.before:
        tables.append(pair.before.take(pair.pairing))
    return all(meet([groups, Partition.of(table[name].codes())]).n_groups == groups.n_groups for table in tables)


def _attackers(names: tuple[str, ...]) -> list[tuple[tuple[str, ...], Metric, Direction]]:
    """Columns, metric and direction of each linkage attack."""
    together: list[tuple[tuple[str, ...], Metric, Direction]] = [(names, m, d) for m in METRICS for d in DIRECTIONS]
    return together + [(known, METRICS[0], direction) for known in _subsets(names) for direction in DIRECTIONS]


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Sets of columns that an intruder may know or use alone: each one, each pair, all but one.

    A column that was changed little may identify people although all columns together do not: the others only mislead.
    """
    single = [(name,) for name in names]
    pairs = list(combinations(names, 2)) if len(names) <= MOST_PAIRED else []
    all_but_one = list(combinations(names, len(names) - 1))
    return [known for known in dict.fromkeys(single + pairs + all_but_one) if 0 < len(known) < len(names)]


def _known_to_intruder(names: tuple[str, ...]) -> dict[str, Fact]:
    return {"columns known to the intruder": OfPlan(list(names))}
