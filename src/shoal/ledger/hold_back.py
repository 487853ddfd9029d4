"""Hold back: a release changed so that nobody is told apart by it beside the earlier ones.

Persons with the same sequence so far (`shoal.ledger.proof`) stay together or part in companies of k:

- who left is kept in the releases until k of the sequence can leave together, and k or none stay;
- where somebody is simply missing from the table, others of the sequence are withheld until k are;
- whoever now has quasi-identifiers that fewer than k of the sequence share gets those that most of them have, and so
  moves on, or ages, when enough others do;
- newcomers wait until k of them are alike.

So every sequence that k persons shared is shared by k ever after. The price is printed: records withheld, records of
who left, and records with the cells of others, which are wrong for them.

Who takes part is decided before the first step of a plan, so that groups can be formed among persons of the same
sequence: a group whose members stay is kept, newcomers are grouped among themselves, and an average follows its members
as they change. The rest is decided after the last step.
"""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Bools, Longs
from shoal.kernels.classes import classes
from shoal.ledger.entry import Numbers
from shoal.ledger.proof import ReleasedPersons


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldBack:
    """Changes to the records of a release.

    Parameters
    ----------
    released
        Shape (n,); True for records that are released.
    source
        Shape (n,); the row whose quasi-identifiers each record gets, mostly its own.
    remain
        Number of released records of persons who left.
    """

    released: Bools
    source: Longs
    remain: int


def sequences_of(before: ReleasedPersons, persons: Numbers) -> Longs:
    """Shape (n,); the sequence of each person, that of newcomers being the number of all sequences."""
    places, known = before.at(persons)
    sequence = np.full(len(persons), before.count, dtype=np.int64)
    sequence[known] = before.sequences[places[known]]
    return sequence


def taking_part(before: ReleasedPersons, persons: Numbers, left: Bools, k: int, fewest: int = 1) -> Bools:
    """Shape (n,); True for records that a release may have: who left stays, or leaves, together with k.

    `persons`, `left`: as in `changes_to_hold_back`; `fewest`: newcomers that come at once, if more than k.
    """
    sequence = sequences_of(before, persons)
    total = np.bincount(before.sequences, minlength=before.count)
    released = (sequence < before.count) | ~left
    released &= ~_may_leave(sequence, left, total, k)
    released &= ~_withheld(persons, sequence, released, total, k)
    newcomers = released & (sequence == before.count)
    return np.asarray(released & ~newcomers) if newcomers.sum() < max(k, fewest) else released


def changes_to_hold_back(before: ReleasedPersons, persons: Numbers, groups: Longs, left: Bools, k: int) -> HeldBack:
    """Decide what is held back.

    Parameters
    ----------
    persons
        Shape (n,); the person of each record, each once.
    groups
        Shape (n,); the class of each record by its quasi-identifiers.
    left
        Shape (n,); True for records of persons who left.
    """
    sequence, released = sequences_of(before, persons), taking_part(before, persons, left, k)
    known = sequence < before.count
    source = np.arange(len(persons))
    parts, sizes = classes([sequence, groups], len(persons))
    sizes = np.bincount(parts[released], minlength=len(sizes))
    small = released & (sizes[parts] < k)
    released &= ~(small & ~known)
    joining = small & known
    source[joining] = _of_largest(sequence, parts, sizes, released)[sequence[joining]]
    return HeldBack(released=released, source=source, remain=int((released & left).sum()))


def _counts(sequence: Longs, chosen: Bools, total: Longs) -> Longs:
    """For each sequence the number of chosen records; newcomers are left out."""
    return np.bincount(sequence[chosen], minlength=len(total) + 1)[: len(total)]


def _may_leave(sequence: Longs, left: Bools, total: Longs, k: int) -> Bools:
    """Shape (n,); True for records of who left that can go now."""
    present = _counts(sequence, np.ones(len(sequence), dtype=bool), total)
    leaving = _counts(sequence, left, total)
    rest = present - leaving
    together = (total - present + leaving >= k) & ((rest >= k) | (rest == 0))
    return np.asarray(left & np.append(together, False)[sequence])


def _withheld(persons: Numbers, sequence: Longs, released: Bools, total: Longs, k: int) -> Bools:
    """Shape (n,); True for records that keep company with those who are missing, taken by the number of the person."""
    present = _counts(sequence, released, total)
    absent = total - present
    needed = np.where((absent > 0) & (absent < k), k - absent, 0)
    needed = np.where(present - needed < k, np.where(needed > 0, present, 0), needed)
    order = np.lexsort((persons, sequence, ~released))
    order = order[: int(released.sum())]
    own = sequence[order]
    rank = np.arange(len(order)) - np.searchsorted(own, own)
    withheld = np.zeros(len(persons), dtype=bool)
    withheld[order] = rank < np.append(needed, 0)[own]
    return withheld


def _of_largest(sequence: Longs, parts: Longs, sizes: Longs, released: Bools) -> Longs:
    """For each sequence, and last for newcomers, a released row of its largest part; the lowest part of several."""
    rows = np.flatnonzero(released)
    order = rows[np.lexsort((rows, parts[rows], -sizes[parts[rows]], sequence[rows]))]
    own, first = np.unique(sequence[order], return_index=True)
    largest = np.zeros(int(sequence.max(initial=0)) + 1, dtype=np.int64)
    largest[own] = order[first]
    return largest
