"""k-anonymity (Samarati & Sweeney 1998)."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from pydantic import AfterValidator

from shoal.data.records import MissingCells, Records
from shoal.errors import plural, quoted
from shoal.facts import of_release
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.parameters import Columns
from shoal.privacy.base import GroupLimits, PrivacyModel

MEANING = {
    "wildcard": "a missing cell matching every value",
    "nothing": "records with a missing cell counting for no other",
}


def _some(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if columns == ():
        raise ValueError("a list of at least one column, for on none it would hold emptily")
    return columns


@method("k-anonymity", title="k-anonymity", source="Samarati & Sweeney (1998)", example={"k": 3})
class KAnonymity(PrivacyModel):
    """Every combination of quasi-identifier values is shared by at least k records.

    Checked on the finished table alone: values are compared as they are written, so 0 and -0, or 1 and
    1.0000001, are different. A table without records holds no one and satisfies any k; a table without
    quasi-identifiers is a single class.

    Parameters
    ----------
    k
        Smallest number of records that must share a combination.
    columns
        The columns whose combinations are counted; by default all quasi-identifiers. Naming fewer states a
        weaker requirement, and the verdict says so.
    missing
        What a missing cell matches. `equal`: another missing cell and nothing else, so that records fall
        into equivalence classes. `wildcard`: every value, as after local suppression in sdcMicro; an
        intruder who knows the missing value could then be wrong about whom a record belongs to, but only by
        records with missing cells. `nothing`: a record with a missing cell counts for no other record, while
        its own visible cells must agree with k - 1 complete records.
    unit
        What is counted: records, or households, because k records of one family hide nobody. Households need
        the household column in the table, and classes in the plain sense (`missing: equal`). A missing household
        may be one that its class has already, and counts for none.
    """

    k: Annotated[int, Ge(1)]
    columns: Annotated[tuple[str, ...] | None, AfterValidator(_some), Columns()] = None
    missing: MissingCells = "equal"
    unit: Literal["record", "household"] = "record"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("quasi-identifier",) if self.columns is None else self.columns

    def group_limits(self, records: Records) -> GroupLimits | None:
        plain = self.unit == "record" and self.columns is None and self.missing == "equal"
        return GroupLimits(k=self.k) if plain else None

    def judge(self, pair: TablePair) -> Verdict:
        released = pair.released
        names = released.quasi_identifiers if self.columns is None else self.columns
        if self.unit == "household":
            return self._by_household(released, names)
        sizes = released.class_sizes(names)
        small = int((sizes < self.k).sum())
        if self.missing == "equal":
            smallest = int(sizes.min()) if len(released) else None
            short = int(sizes[sizes < self.k].sum())
        else:
            matching = released.matching(names, self.missing)
            smallest = int(matching.min()) if len(released) else None
            short = int((matching < self.k).sum())
        details: dict[str, Any] = {
            "classes": len(sizes),
            "smallest class": smallest,
            "mean class size": float(np.mean(sizes)) if len(released) else None,
            "classes too small": small,
            "records in classes too small": short,
        }
        if self.missing != "equal":
            details = {"missing": self.missing, "fewest matching records": smallest, "records below k": short}
        return Verdict(
            requirement=self._name(),
            holds=smallest is None or smallest >= self.k,
            required=self.k,
            achieved=smallest,
            sentence=self._sentence(len(sizes), small, short, smallest),
            facts=of_release(details),
            influence=0,
        )

    def _sentence(self, classes: int, small: int, short: int, smallest: int | None) -> str:
        """The verdict in words; of `classes`, `small` with `short` records in all are too small."""
        if smallest is None:
            return "The table has no records, so no one can be singled out."
        if smallest >= self.k:
            kind = f"{plural(classes, 'class')}, the smallest of {smallest:,}"
            if self.missing != "equal":
                kind = MEANING[self.missing]
            return f"Every record shares its {self._what()} with at least {smallest - 1:,} others ({kind})."
        if self.missing == "equal":
            return (
                f"{plural(small, 'class')} with {plural(short, 'record')} in all "
                f"{'is' if small == 1 else 'are'} smaller than {self.k}; the smallest holds {smallest}."
            )
        verb = "shares its" if short == 1 else "share their"
        return (
            f"{plural(short, 'record')} {verb} {self._what()} with fewer than {self.k - 1:,} others "
            f"({MEANING[self.missing]})."
        )

    def _by_household(self, released: Records, names: tuple[str, ...]) -> Verdict:
        title = f"{self.k}-anonymity of households"
        households = released.households
        if households is None or self.missing != "equal":
            why = (
                "The table has no column with the role household, so households cannot be counted."
                if households is None
                else "Households can only be counted under missing: equal."
            )
            return Verdict(requirement=title, holds=False, required=self.k, achieved=None, sentence=why, influence=0)
        ids = released.classes(names).ids
        known = ~released[released.names("household")[0]].missing
        pairs = np.unique(np.column_stack([ids, households])[known], axis=0)
        counts = np.maximum(np.bincount(pairs[:, 0], minlength=int(ids.max()) + 1), 1) if len(released) else ids
        smallest = int(counts.min()) if len(counts) else None
        short = int((counts < self.k).sum())
        if smallest is None:
            sentence = "The table has no records, so no one can be singled out."
        elif short:
            sentence = f"{plural(short, 'class')} of records come from fewer than {self.k} households."
        else:
            sentence = f"Every class of records comes from at least {smallest:,} households."
        return Verdict(
            requirement=title,
            holds=not short,
            required=self.k,
            achieved=smallest,
            sentence=sentence,
            facts=of_release({"classes": len(counts), "fewest households": smallest, "classes too small": short}),
            influence=0,
        )

    def _name(self) -> str:
        """A weaker requirement than that of the literature bears its condition in its name."""
        on = "" if self.columns is None else f" on {', '.join(self.columns)}"
        reading = "" if self.missing == "equal" else f", {MEANING[self.missing]}"
        return f"{self.k}-anonymity{on}{reading}"

    def _what(self) -> str:
        return "quasi-identifiers" if self.columns is None else f"values of {quoted(self.columns)}"
