"""Proof over releases: what all that an audience holds tells together.

The intruder holds every release that reached the audience, or an audience it colludes with, or nobody in particular. He
may know, for every two records of different releases, whether they are about the same person, and for every person, in
which releases the person is. Then what he holds of a person's quasi-identifiers is a sequence: for each release the
class of the person's records, or that there are none. Persons with the same sequence are alike to him.

Whatever he derives of quasi-identifiers from these sequences (a blank filled from another month, two ranges
intersected, the difference of two months, who came, who went) he derives alike for all persons with the same sequence.
So if every sequence is shared by k persons, no derivation of this kind leaves anyone among fewer than k: this one
requirement implies k-anonymity of what is derived from all releases, by any pairing. It is not necessary: an intruder
who cannot pair records learns less, and releases are refused that he could not use.

Not covered are laws that one release shows and that are applied to columns of another which are no quasi-identifiers;
and confidential values, for which m-invariance stands (Xiao & Tao 2007): every class has at least m of them, all
different, and a person who stays is always in a class with the same set of values.

Persons who were in a class under k before the release and are in one of the same size after it are not counted against
it: it tells nothing more about them. Epsilons of a person add up over releases, by column, and so do deltas
(sequential composition). Where an epsilon hides whether a person is in the table at all, it is spent on everybody, in
the table or not: to charge those alone whose record was counted, or drawn, would let what is left say who they were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.classes import classes
from shoal.ledger.entry import LedgerEntry, Numbers
from shoal.ledger.store import Ledger, LedgerRow
from shoal.plan.sections import LedgerRules
from shoal.vocabulary.errors import plural, quoted
from shoal.vocabulary.facts import Facts, OfPlan, of_original

NEVER = -1
"""The class of a person in a release that has no record of the person."""

ALL_COLUMNS = "*"

Loss = Literal["epsilon", "delta"]

ROUNDING = 1 + 1e-12
"""Sums of losses are compared up to this factor: three times 1e-9 is 3e-9, which binary fractions miss."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedPersons:
    """The persons of some releases, with what these tell of each.

    Parameters
    ----------
    persons
        Shape (n,), ascending.
    sequences
        Shape (n,); the same number for persons with the same sequence of classes.
    spent
        By loss and column, and by `*` for all together, shape (n,); what was spent on each person alone.
    on_everybody
        By loss and column, and by `*`; what was spent on everybody, beside `spent`.
    """

    persons: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    sequences: Longs = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    spent: Mapping[tuple[Loss, str], Floats] = field(default_factory=dict)
    on_everybody: Mapping[tuple[Loss, str], float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of sequences, which are numbered from 0."""
        return int(self.sequences.max(initial=-1)) + 1

    @property
    def sizes(self) -> Longs:
        """Shape (n,); number of persons with the sequence of each."""
        return np.bincount(self.sequences)[self.sequences] if len(self.sequences) else self.sequences

    def at(self, persons: Numbers) -> tuple[Longs, Bools]:
        """Places of persons among these, and True where they are."""
        places = np.searchsorted(self.persons, persons)
        inside = np.minimum(places, max(len(self.persons) - 1, 0))
        known = self.persons[inside] == persons if len(self.persons) else np.zeros(len(persons), dtype=bool)
        return places, known

    def after(self, entry: LedgerEntry) -> "ReleasedPersons":
        """The history with one more release."""
        _, known = self.at(entry.persons)
        persons = np.sort(np.concatenate([self.persons, entry.persons[~known]]), kind="stable")
        own, new = np.searchsorted(persons, self.persons), np.searchsorted(persons, entry.persons)
        before = np.full(len(persons), NEVER, dtype=np.int64)
        before[own] = self.sequences
        now = np.full(len(persons), NEVER, dtype=np.int64)
        now[new] = entry.groups
        sequences = classes([before, now], len(persons))[0]
        spent = {name: _at(own, amount, len(persons)) for name, amount in self.spent.items()}
        for name, amount in losses_of(entry, everybody=False).items():
            spent.setdefault(name, np.zeros(len(persons)))[new] += amount
        on_everybody = dict(self.on_everybody)
        for name, amount in losses_of(entry, everybody=True).items():
            on_everybody[name] = on_everybody.get(name, 0.0) + amount
        return ReleasedPersons(persons=persons, sequences=sequences, spent=spent, on_everybody=on_everybody)


def _at(places: Longs, values: Floats, n: int) -> Floats:
    spread: Floats = np.zeros(n)
    spread[places] = values
    return spread


def losses_of(entry: LedgerEntry, *, everybody: bool) -> dict[tuple[Loss, str], float]:
    """What a release spends by loss and column, and on all: on each of its persons, or on everybody.

    Entries that were made before deltas were recorded do not say them. Noise on cells had none; what is spent on
    everybody may have had any, and counts as a promise that may be broken: as 1.
    """
    spent: dict[tuple[Loss, str], float] = {}
    for each in (each for each in entry.about["epsilon"] if each.get("everybody", False) == everybody):
        amounts: dict[Loss, float] = {"epsilon": each["epsilon"], "delta": each.get("delta", float(everybody))}
        for name in (*each["columns"], ALL_COLUMNS):
            for loss, amount in amounts.items():
                spent[loss, name] = spent.get((loss, name), 0.0) + amount
    return spent


def holdings(rows: Sequence[LedgerRow], audience: str | None, collude: Iterable[str]) -> list[list[LedgerRow]]:
    """The earlier releases that are in the same hands as a new one: one list for each party that will hold it.

    Audiences form a party if a release of one declares that they may collude. A release without an audience is in
    everybody's hands, so that each party is looked at when a new one is made.
    """
    parties: list[set[str]] = []
    declared = [(row.about["audience"], row.about["collude"]) for row in rows]
    for one, others in [*declared, (audience, list(collude))]:
        joined = set(others) | ({one} if one is not None else set())
        meeting = [party for party in parties if party & joined]
        parties = [party for party in parties if party not in meeting] + [joined.union(*meeting)] * bool(joined)
    holders = [party for party in parties if audience is None or audience in party] or [set()]
    return [[row for row in rows if row.about["audience"] is None or row.about["audience"] in h] for h in holders]


def verdicts_over(
    ledger: Ledger, rows: Sequence[LedgerRow], entry: LedgerEntry, rules: LedgerRules, k: int
) -> list[Verdict]:
    """Verdicts on a release beside the earlier ones that the same party holds."""
    earlier, before, passed_on = [(row, ledger.entry(row.number)) for row in rows], ReleasedPersons(), ReleasedPersons()
    for _, recorded in earlier:
        before = before.after(recorded)
        passed_on = passed_on.after(recorded) if recorded.tells_of_persons else passed_on
    facts: Facts = {"earlier releases": OfPlan([described(row) for row in rows])}
    telling = [pair for pair in earlier if pair[1].tells_of_persons]
    verdicts = [_sequences(telling, passed_on, entry, k, facts)]
    if rules.m is not None:
        verdicts.append(_m_invariance(earlier, entry, rules.m, facts))
    budgets: dict[Loss, Mapping[str, float]] = {"epsilon": rules.epsilon, "delta": rules.delta}
    verdicts += [_budget(before, entry, (loss, n), most) for loss, of in budgets.items() for n, most in of.items()]
    return verdicts


def described(row: LedgerRow) -> str:
    """A release in words: number, day and audience."""
    audience = row.about["audience"]
    return f"{row.number} ({row.about['made'][:10]}, for {audience or 'anybody'})"


def newly_small(before: ReleasedPersons, entry: LedgerEntry, k: int) -> tuple[Longs, Bools]:
    """For each person, the number of those with the same sequence after a release; and who newly has fewer than k."""
    after = before.after(entry)
    sizes = after.sizes
    places, known = before.at(after.persons)
    was = np.full(len(sizes), len(sizes) + 1, dtype=np.int64)
    was[known] = before.sizes[places[known]]
    return sizes, (sizes < k) & (sizes < was)


def _sequences(
    earlier: Sequence[tuple[LedgerRow, LedgerEntry]], before: ReleasedPersons, entry: LedgerEntry, k: int, facts: Facts
) -> Verdict:
    if not entry.tells_of_persons:
        return _verdict(f"{k}-anonymity over releases", k, None, "The release tells of no person's record.", facts)
    sizes, small = newly_small(before, entry, k)
    count = int(small.sum())
    named = f"{k}-anonymity over releases"
    if not count:
        already = int((sizes < k).sum())
        sentence = (
            f"All that {_together(len(earlier))} of a person's quasi-identifiers is shared by at least {k} persons"
        )
        sentence += f", but for {plural(already, 'person')} of whom earlier releases told as much." if already else "."
        if len(before.persons) and not before.at(entry.persons)[1].any():
            sentence += " None of these persons is in an earlier release; if some should be, their keys differ."
        return _verdict(named, k, int(sizes.min()) if len(sizes) else None, sentence, facts)
    alone = [(int(newly_small(ReleasedPersons().after(e), entry, k)[1].sum()), row) for row, e in earlier]
    most, row = max(alone, key=lambda pair: pair[0], default=(0, None))
    with_what = f"release {described(row)}" if row is not None and most else f"the {len(earlier)} earlier releases"
    persons = most or count
    sentence = (
        f"Together with {with_what}, fewer than {k} persons share what is told of {plural(persons, 'person')}"
        + (f"; with all earlier releases of {count:,}." if count != persons else ".")
        if earlier
        else f"Fewer than {k} persons share what it tells of {plural(count, 'person')}."
    )
    return _verdict(named, k, int(sizes[small].min()), sentence, facts, holds=False, count=count)


def _together(earlier: int) -> str:
    return f"this release and {plural(earlier, 'earlier one')} tell" if earlier else "this first release tells"


def in_few_values(entry: LedgerEntry, m: int) -> Bools:
    """Shape (n,); True for persons in classes that lack m confidential values, all different."""
    few = np.zeros(len(entry.persons), dtype=bool)
    for distinct in entry.distinct.values():
        few |= distinct[entry.groups] < m
    return few


def with_other_values(other: LedgerEntry, entry: LedgerEntry) -> Bools:
    """Shape (n,); True for persons whose class in an earlier release had other confidential values."""
    places, known = ReleasedPersons(persons=other.persons).at(entry.persons)
    moved = np.zeros(len(entry.persons), dtype=bool)
    for name, signatures in entry.signatures.items():
        was = other.signatures.get(name)
        same = False if was is None else was[other.groups[places[known]]] == signatures[entry.groups[known]]
        moved[known] |= ~np.asarray(same, dtype=bool)
    return moved


def _m_invariance(
    earlier: Sequence[tuple[LedgerRow, LedgerEntry]], entry: LedgerEntry, m: int, facts: Facts
) -> Verdict:
    named = f"{m}-invariance of {quoted(entry.signatures)}"
    fewest = min((int(d.min(initial=m)) for d in entry.distinct.values()), default=m)
    if few := int(in_few_values(entry, m).sum()):
        sentence = f"The classes of {plural(few, 'person')} have no {m} confidential values that are all different."
        return _verdict(named, m, fewest, sentence, facts, holds=False, count=few)
    for row, other in reversed(earlier):
        if count := int(with_other_values(other, entry).sum()):
            sentence = (
                f"{plural(count, 'person')} of release {described(row)} {'is' if count == 1 else 'are'} now in a class "
                f"with other confidential values, so that what the two classes have in common is theirs."
            )
            return _verdict(named, m, None, sentence, facts, holds=False, count=count)
    sentence = f"Every class has at least {m} confidential values, and those of a person's classes are always the same."
    return _verdict(named, m, fewest, sentence, facts)


def _budget(before: ReleasedPersons, entry: LedgerEntry, name: tuple[Loss, str], most: float) -> Verdict:
    loss, column = name[0], "all columns" if name[1] == ALL_COLUMNS else f"'{name[1]}'"
    article = "an epsilon" if loss == "epsilon" else "a delta"
    on_all = losses_of(entry, everybody=True).get(name, 0.0)
    more = on_all + losses_of(entry, everybody=False).get(name, 0.0)
    shared = before.on_everybody.get(name, 0.0)
    spent = before.spent.get(name, np.zeros(len(before.persons)))
    if not on_all:
        places, known = before.at(entry.persons)
        spent, earlier = np.zeros(len(entry.persons)), spent
        spent[known] = earlier[places[known]]
    highest = float(spent.max(initial=0.0)) + shared
    allowed = most * ROUNDING
    over = int((spent + shared + more > allowed).sum()) if more else 0
    of_all = on_all > 0 and shared + more > allowed
    left = max(most - highest, 0.0)
    sentence = (
        f"Of {article} of {most:g} for {column}, {left:g} is left for "
        f"{'everybody' if of_all else plural(over, 'person')}; this release would spend {more:g}."
        if over or of_all
        else f"Of {article} of {most:g} for {column}, {max(left - more, 0.0):g} is left to each person at least."
    )
    return _verdict(
        f"{loss} of {column} over releases", most, highest + more, sentence, {}, holds=not (over or of_all), count=over
    )


def _verdict(
    requirement: str,
    required: float,
    achieved: float | None,
    sentence: str,
    facts: Facts,
    *,
    holds: bool = True,
    count: int = 0,
) -> Verdict:
    counted = of_original({"persons under it": count}) if count else {}
    return Verdict(
        requirement=requirement,
        holds=holds,
        required=required,
        achieved=achieved,
        sentence=sentence,
        facts={**facts, **counted},
    )
