"""The closure of a release: the table with every cell filled in that the release itself reveals.

Cells are filled in, until no more can be, by the table's own laws (`shoal.table.dependencies`), by arithmetic
(`shoal.table.arithmetic`), by hierarchies (`shoal.judges.refinement`) and by the rules of the plan
(`Constraints.deduced`); docs/explanation/what-is-given-away.md lists the deductions.

Every requirement must hold on three tables: the table as released, the table with the certain deductions, and the
closure, where laws with exceptions have filled in cells too, some of them wrongly. None of the three suffices alone: a
hidden record can be singled out once its cells are filled in, but a wrong cell can also put a record among many others.
Figures of risk that count classes are computed on the closure, with which an intruder works.

If the original is at hand, requirements must hold as well on the cells that an intruder fills in who knows the laws of
the original (`shoal.table.laws`), though the release hardly shows them. No figure is computed there, since it would
reveal more about the original than the release does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from shoal.judges.refinement import refined
from shoal.table.arithmetic import Arithmetic, ArithmeticLaw, filled_by, uncontradicted
from shoal.table.dependencies import UNITS, Dependencies, gives_back
from shoal.table.hierarchy import Hierarchy
from shoal.table.laws import NO_LAWS, Laws, look_ups_of, with_steps
from shoal.table.narrowed_ranges import has_ranges, narrowed
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import plural, quoted

NO_TREES: Mapping[str, Hierarchy] = MappingProxyType({})

Deduction = Callable[[Records], Records]
"""Fills in cells by rules about single records."""


@dataclass(slots=True)
class Origin:
    """Sources of the cells that were filled in, in order."""

    sources: dict[str, None] = field(default_factory=dict)  # Columns from which cells of other records were filled in
    # Which columns give which back, by look-up or by arithmetic, and with how many exceptions; those of households are
    # not named
    laws: dict[tuple[tuple[str, ...], str], int] = field(default_factory=dict)
    by_arithmetic: bool = False
    by_rules: bool = False
    by_laws_of_original: bool = False  # Some of the laws need the original


@dataclass(frozen=True, kw_only=True, eq=False)
class Closure:
    """A released table as far as it can be filled in."""

    records: Records
    # Missing cells that were filled in, and generalised ones that were narrowed down, by column; only columns with some
    filled: dict[str, int]
    # The table filled in by laws without exceptions, if laws with exceptions filled in more; None if they did not
    certain: Records | None = None
    origin: Origin = field(default_factory=Origin)
    # The closure by the laws of the original as well; None if these fill in nothing else, or are not at hand
    informed: "Closure | None" = None

    @property
    def stages(self) -> tuple[Records, ...]:
        """Filled-in tables on which a requirement must hold, too: with certain cells only, then with all."""
        if not self.filled:
            return ()
        return (self.records,) if self.certain is None else (self.certain, self.records)

    @property
    def sentence(self) -> str:
        """Number of cells filled in, their sources, and the remedy."""
        total, origin = sum(self.filled.values()), self.origin
        sources = [f"other records with the same {quoted(origin.sources)}"] if origin.sources else []
        sources += ["arithmetic"] * origin.by_arithmetic + ["the rules"] * origin.by_rules
        clauses = [
            gives_back(sources, name, 0 if origin.by_laws_of_original else exceptions)
            for (sources, name), exceptions in origin.laws.items()
        ]
        sentence = (
            f"The release {'and the laws of the original give' if origin.by_laws_of_original else 'itself gives'} away "
            f"{plural(total, 'missing or generalised cell')} of {quoted(self.filled)}, by {' and '.join(sources)}."
        )
        return f"{sentence} {remedy(clauses)}" if clauses else sentence


def remedy(laws: Iterable[str]) -> str:
    """Remedy against columns that determine others, which are named in words."""
    return f"{'; '.join(laws)}: take it out, coarsen it alike, or give it the role quasi-identifier."


def closure(
    released: Records, deduce: Deduction | None = None, trees: Mapping[str, Hierarchy] = NO_TREES, laws: Laws = NO_LAWS
) -> Closure:
    """Fill in every cell that a released table, and rules about its records, let one deduce.

    `deduce`: fills in cells by the rules of the plan; none by default. `trees`: hierarchies of which released labels
    are nodes, by column (`shoal.judges.refinement.trees`). `laws`: laws of the original; none by default.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"home": [1, 1, 2, 2], "town": ["A", None, "B", "B"]})
    >>> roles = {"home": "household", "town": {"role": "quasi-identifier", "missing": "keep"}}
    >>> closure(shoal.Microdata.of(frame, roles).records).sentence
    "The release itself gives away 1 missing or generalised cell of 'town', by other records with the same 'home'."
    """
    own, look_ups = Arithmetic(released), look_ups_of(released, [v.name for v in released.variables if not v.complete])
    joint = {law: support for law, support in look_ups.items() if len(law.by) > 1}
    closed = _closed(released, deduce, trees, Laws(look_ups=joint, arithmetic=tuple(own.laws)), Origin())
    carried = uncontradicted(released, laws.arithmetic)
    ranged = tuple(law for law in laws.arithmetic if any(has_ranges(released[name]) for name in law.columns))
    if not ranged and laws.look_ups.keys() <= look_ups.keys() and _rounded(carried, own):
        return closed
    both = Laws(look_ups={**joint, **laws.look_ups}, arithmetic=(*carried, *own.laws))
    informed = _closed(released, deduce, trees, both, Origin(by_laws_of_original=True), ranged)
    same = all(not _changed(v, informed.records[v.name]) for v in closed.records.variables)
    return closed if same and informed.certain is None else replace(closed, informed=informed)


def _rounded(carried: Sequence[ArithmeticLaw], own: Arithmetic) -> bool:
    """True if the release itself shows some laws of the original, with the steps that columns are rounded to."""
    rounded = {(law.on, law.by, law.operation, with_steps(law, own).steps) for law in own.laws}
    return all((law.on, law.by, law.operation, law.steps) in rounded for law in carried)


def _closed(
    released: Records,
    deduce: Deduction | None,
    trees: Mapping[str, Hierarchy],
    laws: Laws,
    origin: Origin,
    ranged: Sequence[ArithmeticLaw] = (),
) -> Closure:
    """The closure by some laws, the table's own look-ups and its trees; `ranged`: laws that narrow ranges down."""
    certain = _filled_in(released, deduce, trees, laws, origin, ranged, exceptions=False)
    records = _filled_in(certain, deduce, trees, laws, origin, ranged, exceptions=True)
    changed = {v.name: _changed(v, records[v.name]) for v in released.variables}
    return Closure(
        records=records,
        filled={name: count for name, count in changed.items() if count},
        certain=None if records is certain else certain,
        origin=origin,
    )


def _filled_in(
    records: Records,
    deduce: Deduction | None,
    trees: Mapping[str, Hierarchy],
    laws: Laws,
    origin: Origin,
    ranged: Sequence[ArithmeticLaw],
    *,
    exceptions: bool,
) -> Records:
    """The records once nothing more can be filled in; the same object if nothing was."""
    formulas = [law for law in laws.arithmetic if exceptions or law.exact]
    bounds = [law for law in ranged if exceptions or law.exact]
    while trees or bounds or any(not v.complete for v in records.variables):
        deduced = records if deduce is None else deduce(records)
        dependencies = Dependencies(deduced, exceptions=exceptions, also=laws.look_ups)
        step = dependencies.completed()
        computed, filled = filled_by(step.records, formulas)
        bounded, smaller = narrowed(computed, bounds, exceptions=exceptions)
        refinement, narrowing = refined(bounded, trees, exceptions=exceptions)
        origin.by_rules |= deduced is not records
        origin.sources |= dict.fromkeys([*(name for law in step.cells for name in law.by), *narrowing])
        for law in (law for law in step.cells if records[law.by[0]].role not in UNITS):
            origin.laws.setdefault((law.by, law.on), dependencies.support(law).exceptions)
        for formula, name, _ in (*filled, *smaller):
            origin.laws.setdefault((tuple(formula.others(name)), name), formula.exceptions)
        origin.by_arithmetic |= bool(filled or smaller)
        if refinement is records:
            break
        records = refinement
    return records


def _changed(before: Variable, after: Variable) -> int:
    """Number of changed cells; a known cell is unchanged if it keeps its value or its code."""
    if after is before:
        return 0
    kept = (after.values == before.values) | (before.missing & after.missing)
    return int((~kept).sum())
