"""Blanked cells that the rest of the table gives away, and what must be blanked beside them so that it does not.

A cell of a column that is the same throughout a household is only gone when it is gone for every member; a region is
only gone when the postcode beside it is gone too (`shoal.table.dependencies`), an age only when the year of birth is
(`shoal.table.arithmetic`). The laws are those of the table before cells were blanked, however few are left to show them
(`shoal.table.laws`). Where the year of birth stays, no blanking of ages helps: the other keys are blanked instead, and
if they do not suffice, the requirement on the release names the year.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.classes import classes
from shoal.table.arithmetic import ArithmeticLaw, filled_by
from shoal.table.dependencies import UNITS, Completion, Dependencies
from shoal.table.laws import Laws
from shoal.table.prelude import Bools, Ints, Records


@dataclass(frozen=True, kw_only=True, eq=False)
class Restored:
    """A table with blanked cells filled in, once."""

    records: Records
    laws: Laws  # Of the table before cells were blanked
    completion: Completion  # By other records
    computed: list[tuple[ArithmeticLaw, str, Bools]]  # By arithmetic: the law, the column, and shape (n,), its cells

    @classmethod
    def of(cls, released: Records, laws: Laws, *, exceptions: bool = True) -> "Restored":
        """Fill in cells by laws, with or without the laws that have exceptions."""
        completion = Dependencies(released, exceptions=exceptions, also=laws.look_ups).completed()
        formulas = [law for law in laws.arithmetic if exceptions or law.exact]
        records, computed = filled_by(completion.records, formulas)
        return cls(records=records, laws=laws, completion=completion, computed=computed)

    def blank_sources(self, codes: Ints, records: Records, keys: Sequence[str], keep: Collection[str]) -> None:
        """Blank in `codes`, shape (n, q or more), what filled cells of the keys in: the source's cell in the same
        record where the source is a key that may lose cells, else the key's cells of all records with the same source,
        unless the source gives these back by arithmetic.
        """
        free = [name for name in keys if name not in keep]
        tied = [set(law.columns) for law in self.laws.arithmetic]
        for dependency, cells in self.completion.cells.items():
            by, on = dependency.by, dependency.on
            if on not in keys:
                continue
            if terms := [name for name in by if name in free]:
                codes[cells, keys.index(terms[0])] = -1
            elif on in free and {*by, on} not in tied:
                source = classes([records[name].codes() for name in by], len(cells))[0]
                codes[np.isin(source, source[cells]), keys.index(on)] = -1
        for law, name, cells in self.computed:
            terms = [term for term in law.columns if term != name and term in free]
            if name in keys and terms:
                codes[cells, keys.index(terms[0])] = -1


def given_back(records: Records, laws: Laws, keys: Sequence[str], keep: Collection[str]) -> dict[str, str]:
    """The keys whose cells arithmetic with columns that stay gives back, each with the law in words.

    `keep`: keys that lose no cell.
    """
    known = {name: int((~records[name].missing).sum()) for name in keys}
    return laws.given_back(known, _staying(records, keys, keep))


def cells_a_blank(records: Records, laws: Laws, keys: Sequence[str], keep: Collection[str]) -> dict[str, float]:
    """For each key that columns which stay determine, the cells that must go with one, or else 1.

    Of a key that is the same throughout units, a unit's mean size; parameters as for `given_back`.
    """
    units = [records[name] for name in records.names(*UNITS)]
    stay = [name for name in _staying(records, keys, keep) if name not in records.names(*UNITS)]
    sizes = {unit.name: len(unit) / max(len(np.unique(unit.codes())), 1) for unit in units}
    shared = {
        name: Dependencies(records.select(dict.fromkeys((*sizes, name))), exceptions=True).of(name) for name in keys
    }
    looked_up = laws.looked_up(keys, stay)
    return {name: max([looked_up.get(name, 1.0), *(sizes[law.by[0]] for law in shared[name])]) for name in keys}


def _staying(records: Records, keys: Sequence[str], keep: Collection[str]) -> list[str]:
    lose = set(keys).difference(keep)
    return [name for name in records.names() if name not in lose]
