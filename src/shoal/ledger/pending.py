"""A release that waits to be entered in the ledger, with the verdicts on it beside all earlier ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from shoal.judges.evidence import Verdict
from shoal.ledger.entry import LedgerEntry, Numbers
from shoal.ledger.proof import holdings, in_few_values, verdicts_over, with_other_values
from shoal.ledger.store import Ledger, LedgerRow
from shoal.plan.sections import LedgerRules
from shoal.release import Account, require
from shoal.table.files.checksums import sha256_of

IN_PRIVATE = Path("private") / "releases.ledger"
"""Path of the ledger in the directory of a release, for a plan that names no file."""

SEEN = "Only releases that the folders named in --after know of were looked at."
"""Limit of a verdict by a ledger that lies in the private folders of releases."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PendingEntry:
    """A release that waits to be entered in a ledger.

    Parameters
    ----------
    earlier
        The ledger of the earlier releases; None for the first of a series without a file.
    own_copy
        True if the private folder of the release gets the ledger, as a copy that goes on.
    secret
        Key of the entry's hashes.
    k
        Fewest persons who share what the releases tell.
    """

    entry: LedgerEntry
    earlier: Ledger | None
    own_copy: bool
    secret: bytes
    rules: LedgerRules
    k: int

    @property
    def _ledger(self) -> Ledger:
        """The ledger of the earlier releases, which is empty where there are none."""
        return Ledger(Path()) if self.earlier is None else self.earlier

    @property
    def rows(self) -> list[LedgerRow]:
        """The earlier releases that count now."""
        return [] if self.earlier is None else self.earlier.counted()

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts on the release beside the earlier ones."""
        return self._judged(self.rows)

    @property
    def breaking_m_invariance(self) -> Numbers:
        """Persons in classes that lack m values, or have other ones than a class of one of its persons had before."""
        persons = np.zeros(len(self.entry.persons), dtype=bool)
        if self.rules.m is not None:
            persons |= in_few_values(self.entry, self.rules.m)
        parties = holdings(self.rows, self.entry.audience, self.rules.collude)
        for other in map(self._ledger.entry, sorted({row.number for party in parties for row in party})):
            if other.signatures.keys() >= self.entry.signatures.keys():
                persons |= with_other_values(other, self.entry)
        broken = np.unique(self.entry.groups[persons])
        return self.entry.persons[np.isin(self.entry.groups, broken)]

    def record(self, folder: Path, account: Account) -> None:
        """Enter the release whose two folders lie in a folder.

        It is judged once more, since others may have been entered meanwhile. It is entered before the folder is put in
        its place: a run that is killed between leaves an entry without a release, which may be withdrawn, and never a
        release without an entry.
        """
        files = {path.name: sha256_of(path) for path in sorted((folder / "release").iterdir()) if path.is_file()}
        entry = replace(self.entry, about={**self.entry.about, "plan": account.plan, "sha256": files})
        if not self.own_copy and self.earlier is not None:
            self.earlier.append(entry, self.secret, lambda: self._judge_again())
            return
        place = Ledger(folder / IN_PRIVATE)
        copy = place if self.earlier is None else self.earlier.copy_to(place.path)
        copy.append(entry, self.secret, lambda: self._judge_again())

    def _judge_again(self) -> None:
        require(list(self._judged(self.rows)))

    def _judged(self, rows: Sequence[LedgerRow]) -> tuple[Verdict, ...]:
        parties = holdings(rows, self.entry.audience, self.rules.collude)
        verdicts = [v for p in parties for v in verdicts_over(self._ledger, p, self.entry, self.rules, self.k)]
        return tuple(replace(v, sentence=f"{v.sentence} {SEEN}") if self.own_copy else v for v in verdicts)
