"""A release that waits to be entered in the ledger, with the verdicts on it beside all earlier ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from shoal.judges.evidence import Verdict
from shoal.ledger.entry import Entry
from shoal.ledger.proof import holdings, verdicts_over
from shoal.ledger.store import Ledger, Row
from shoal.plan.sections import LedgerRules
from shoal.release import Account, require
from shoal.table.files.checksums import sha256_of

IN_PRIVATE = Path("private") / "releases.ledger"
"""Path of the ledger in the directory of a release, for a plan that names no file."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pending:
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

    entry: Entry
    earlier: Ledger | None
    own_copy: bool
    secret: bytes
    rules: LedgerRules
    k: int

    @property
    def rows(self) -> list[Row]:
        """The earlier releases that count now."""
        return [] if self.earlier is None else self.earlier.counted()

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts on the release beside the earlier ones."""
        return self._judged(self.rows)

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

    def _judged(self, rows: Sequence[Row]) -> tuple[Verdict, ...]:
        if self.earlier is None:
            return tuple(verdicts_over(Ledger(Path()), [], self.entry, self.rules, self.k))
        parties = holdings(rows, self.entry.audience, self.rules.collude)
        return tuple(v for p in parties for v in verdicts_over(self.earlier, p, self.entry, self.rules, self.k))
