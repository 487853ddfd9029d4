"""k-anonymity (Samarati & Sweeney 1998)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge
from pydantic import AfterValidator

from shoal.data.records import MissingCells, Records
from shoal.errors import plural, quoted
from shoal.facts import of_release
from shoal.judges.class_figures import MATCHING, MEANING, ClassFigures, figures_of_matching
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Longs
from shoal.methods import Scales, method
from shoal.parameters import Columns
from shoal.privacy.base import ClassModel, GroupLimits

HOUSEHOLDS = "households"
"""What is counted in each class beside its records."""


def _some(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if columns == ():
        raise ValueError("a list of at least one column, for on none it would hold emptily")
    return columns


@method("k-anonymity", title="k-anonymity", source="Samarati & Sweeney (1998)", example={"k": 3})
class KAnonymity(ClassModel):
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

    scales: ClassVar[Scales] = "classes"

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

    @property
    def by_class(self) -> bool:
        return self.missing == "equal" or self.unit == "household"  # or a record may stand for those of other classes

    def class_columns(self, quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
        return tuple(quasi_identifiers) if self.columns is None else self.columns

    def look(self, pair: TablePair) -> ClassFigures:
        released = pair.released
        names = self.class_columns(released.quasi_identifiers)
        if self.unit == "household" and released.households is not None:
            return _households(released, released.households, names)
        return figures_of_matching(released, names, "equal" if self.unit == "household" else self.missing)

    def look_across(self, one_of_each: Records, sizes: Longs) -> ClassFigures:
        names = self.class_columns(one_of_each.quasi_identifiers)
        return ClassFigures(sizes=sizes, figures={MATCHING: one_of_each.matching(names, self.missing, sizes)})

    def conclude(self, seen: ClassFigures) -> Verdict:
        if self.unit == "household":
            return self._by_household(seen)
        sizes = seen.sizes
        matching = seen.figures.get(MATCHING, sizes)
        smallest = int(matching.min()) if len(sizes) else None
        small, short = int((sizes < self.k).sum()), int(sizes[matching < self.k].sum())
        details: dict[str, Any] = {
            "classes": len(sizes),
            "smallest class": smallest,
            "mean class size": float(np.mean(sizes)) if len(sizes) else None,
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
            failing=matching < self.k if short else None,
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
        others = "no other" if self.k == 2 else f"fewer than {self.k - 1:,} others"
        return f"{plural(short, 'record')} {verb} {self._what()} with {others} ({MEANING[self.missing]})."

    def _by_household(self, seen: ClassFigures) -> Verdict:
        title = f"{self.k}-anonymity of households"
        if HOUSEHOLDS not in seen.figures or self.missing != "equal":
            why = (
                "The table has no column with the role household, so households cannot be counted."
                if HOUSEHOLDS not in seen.figures
                else "Households can only be counted under missing: equal."
            )
            return Verdict(requirement=title, holds=False, required=self.k, achieved=None, sentence=why, influence=0)
        counts = seen.figures[HOUSEHOLDS]
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
            failing=counts < self.k if short else None,
        )

    def _name(self) -> str:
        """A weaker requirement than that of the literature bears its condition in its name."""
        on = "" if self.columns is None else f" on {', '.join(self.columns)}"
        reading = "" if self.missing == "equal" else f", {MEANING[self.missing]}"
        return f"{self.k}-anonymity{on}{reading}"

    def _what(self) -> str:
        return "quasi-identifiers" if self.columns is None else f"values of {quoted(self.columns)}"


def _households(released: Records, households: Longs, names: Sequence[str]) -> ClassFigures:
    """The households of each class, at least 1: one that is missing may be one that the class has already."""
    classes = released.classes(names)
    known = ~released[released.names("household")[0]].missing
    pairs = np.unique(np.column_stack([classes.ids, households])[known], axis=0)
    counts = np.maximum(np.bincount(pairs[:, 0], minlength=len(classes.sizes)), 1)
    return ClassFigures(sizes=classes.sizes, figures={HOUSEHOLDS: counts})
