"""The closure of a release: the table with everything filled in that the release itself lets one fill in.

A release promises nothing with a cell that it leaves blank and gives away elsewhere. What whoever holds it can do is
to apply, again and again, until nothing more comes of it:

- *the table's own laws* (`shoal.data.dependencies`): a column that is the same throughout every household or every
  person's records; a column that determines another, as a postcode does its region and a finer classification the
  coarser one beside it; the same with a few exceptions;
- *arithmetic* (`shoal.data.arithmetic`): an age beside a year of birth, the third of two numbers and their sum, product
  or ratio;
- *hierarchies* (`shoal.judges.refinement`): a generalised cell is narrowed down to what the members of a household,
  or another column, leave of it;
- *the rules of the plan*, which stand in the public plan or are plain sense: of an addition the one missing term, of
  a condition that is met its consequence (`Constraints.deduced`).

Every requirement must hold on the table as it was released, on what follows without exception, and on its closure,
where laws with exceptions have filled in cells too, of which some are wrong. None alone is enough: filled in, a record
can stand alone that was hidden before, and a class of records that all lack a cell can fall apart; but a record can
also be put among many by a cell that nobody needs to fill in, or that a law got wrong. Figures of risk that count
classes are taken on the closure, which is what an intruder works with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shoal.data.arithmetic import Arithmetic, ArithmeticLaw, filled_by
from shoal.data.dependencies import UNITS, Dependencies, gives_back
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
    certain
        What follows without exception, where laws with exceptions filled in more; None where they did not.
    sources
        Columns from which cells of other records were filled in.
    laws
        Which columns give which back, by look-up or by arithmetic, in words; those of households are not named.
    by_arithmetic, by_rules
        Whether arithmetic, and rules, filled in some.
    """

    records: Records
    filled: dict[str, int]
    certain: Records | None = None
    sources: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    by_arithmetic: bool = False
    by_rules: bool = False

    @property
    def stages(self) -> tuple[Records, ...]:
        """What a requirement must hold on beside the table as released: what is certain, and all."""
        if not self.filled:
            return ()
        return (self.records,) if self.certain is None else (self.certain, self.records)

    @property
    def sentence(self) -> str:
        """What could be filled in, from what, and what helps."""
        total = sum(self.filled.values())
        origin = [f"other records with the same {quoted(self.sources)}"] if self.sources else []
        origin += ["arithmetic"] * self.by_arithmetic
        origin += ["the rules"] * self.by_rules
        sentence = (
            f"The release itself gives away {plural(total, 'missing or generalised cell')} of {quoted(self.filled)}, "
            f"by {' and '.join(origin)}."
        )
        return f"{sentence} {remedy(self.laws)}" if self.laws else sentence


def remedy(laws: Sequence[str]) -> str:
    """What helps against columns that give others back, named in words."""
    return f"{'; '.join(laws)}: take it out, coarsen it alike, or give it the role quasi-identifier."


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
    laws = Arithmetic(released).laws
    origin = Origin()
    certain = _filled_in(released, deduce, trees, [law for law in laws if law.exact], origin, exceptions=False)
    records = _filled_in(certain, deduce, trees, laws, origin, exceptions=True)
    changed = {v.name: _changed(v, records[v.name]) for v in released.variables}
    return Closure(
        records=records,
        filled={name: count for name, count in changed.items() if count},
        certain=None if records is certain else certain,
        sources=tuple(origin.sources),
        laws=tuple(origin.laws),
        by_arithmetic=origin.by_arithmetic,
        by_rules=origin.by_rules,
    )


@dataclass(slots=True)
class Origin:
    """Where what was filled in came from."""

    sources: dict[str, None] = field(default_factory=dict)
    laws: dict[str, None] = field(default_factory=dict)
    by_arithmetic: bool = False
    by_rules: bool = False


def _filled_in(
    records: Records,
    deduce: Deduction | None,
    trees: Mapping[str, Hierarchy],
    laws: Sequence[ArithmeticLaw],
    origin: Origin,
    *,
    exceptions: bool,
) -> Records:
    """The records when nothing more can be filled in; the same object where nothing can be."""
    while trees or any(not v.complete for v in records.variables):
        deduced = records if deduce is None else deduce(records)
        step = Dependencies(deduced, exceptions=exceptions).completed()
        computed, filled = filled_by(step.records, laws)
        narrowed, narrowing = refined(computed, trees, exceptions=exceptions)
        origin.by_rules |= deduced is not records
        origin.sources |= dict.fromkeys([*(dependency.by for dependency in step.cells), *narrowing])
        by_column = [law for law in step.cells if records[law.by].role not in UNITS]
        origin.laws |= dict.fromkeys(gives_back([law.by], law.on) for law in by_column)
        origin.laws |= dict.fromkeys(gives_back(law.others(name), name) for law, name, _ in filled)
        origin.by_arithmetic |= bool(filled)
        if narrowed is records:
            break
        records = narrowed
    return records


def _changed(before: Variable, after: Variable) -> int:
    """Cells that are not what they were: known ones keep their value, or their code."""
    if after is before:
        return 0
    kept = (after.values == before.values) | (before.missing & after.missing)
    return int((~kept).sum())
