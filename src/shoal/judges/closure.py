"""The closure of a release: the table with everything filled in that the release itself lets one fill in.

A release promises nothing with a cell that it leaves blank and gives away elsewhere. What whoever holds it can do is
to apply, again and again, until nothing more comes of it:

- *the table's own laws* (`shoal.data.dependencies`): a column that is the same throughout every household or every
  person's records; a column that determines another, as a postcode does its region and a finer classification the
  coarser one beside it;
- *hierarchies* (`shoal.judges.refinement`): a generalised cell is narrowed down to what the members of a household,
  or another column, leave of it;
- *the rules of the plan*, which stand in the public plan or are plain sense: of an addition the one missing term, of
  a condition that is met its consequence (`Constraints.deduced`).

Every requirement must hold on the table as it was released and on its closure too. Neither alone is enough: filled in,
a record can stand alone that was hidden before, and a class of records that all lack a cell can fall apart; but a
record can also be put among many by a cell that nobody needs to fill in. Figures of risk that count classes are taken
on the closure, which is what an intruder works with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shoal.data.dependencies import Dependencies
from shoal.data.hierarchy import Hierarchy
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import plural, quoted
from shoal.judges.refinement import refined

NO_TREES: Mapping[str, Hierarchy] = MappingProxyType({})

Deduction = Callable[[Records], Records]
"""Fills in what rules about single records let one fill in."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Closure:
    """A released table as far as it can be filled in.

    Parameters
    ----------
    filled
        Missing cells that were filled in, and generalised ones that were narrowed down, by column; only columns with
        some.
    sources
        Columns from which they were.
    by_rules
        Whether rules filled in some.
    """

    records: Records
    filled: dict[str, int]
    sources: tuple[str, ...] = ()
    by_rules: bool = False

    @property
    def sentence(self) -> str:
        """What could be filled in, and from what."""
        total = sum(self.filled.values())
        origin = [f"other records with the same {quoted(self.sources)}"] if self.sources else []
        origin += ["the rules"] * self.by_rules
        return (
            f"The release itself gives away {plural(total, 'missing or generalised cell')} of {quoted(self.filled)}, "
            f"by {' and '.join(origin)}."
        )


def closure(released: Records, deduce: Deduction | None = None, trees: Mapping[str, Hierarchy] = NO_TREES) -> Closure:
    """Fill in all that a released table, and rules about its records, let one fill in.

    Parameters
    ----------
    deduce
        What the rules of the plan let one fill in; nothing by default.
    trees
        Hierarchies of which released labels are nodes, by column (`shoal.judges.refinement.trees`).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"home": [1, 1, 2, 2], "town": ["A", None, "B", "B"]})
    >>> roles = {"home": "household", "town": {"role": "quasi-identifier", "missing": "keep"}}
    >>> closure(shoal.Microdata.of(frame, roles).records).sentence
    "The release itself gives away 1 missing or generalised cell of 'town', by other records with the same 'home'."
    """
    records, sources, by_rules = released, dict[str, None](), False
    while trees or any(not v.complete for v in records.variables):
        deduced = records if deduce is None else deduce(records)
        step = Dependencies(deduced).completed()
        narrowed, narrowing = refined(step.records, trees)
        by_rules |= deduced is not records
        sources |= dict.fromkeys([*(dependency.by for dependency in step.cells), *narrowing])
        if narrowed is records:
            break
        records = narrowed
    changed = {v.name: _changed(v, records[v.name]) for v in released.variables}
    filled = {name: count for name, count in changed.items() if count}
    return Closure(records=records, filled=filled, sources=tuple(sources), by_rules=by_rules)


def _changed(before: Variable, after: Variable) -> int:
    """Cells that are not what they were: known ones keep their value, or their code."""
    if after is before:
        return 0
    kept = (after.values == before.values) | (before.missing & after.missing)
    return int((~kept).sum())
