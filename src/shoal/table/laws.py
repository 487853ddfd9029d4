"""Laws of an original table, which need no evidence in the release.

An intruder with common knowledge knows that a postcode lies in one region, that a household lives in one place, and
that an age follows from a year of birth, however few cells that show it are left. So the cells that a law of the
original gives back count as given away, provided that the released cells do not contradict the law: masking may have
ended it.

The original shows only *that* there is a law, by the same test of chance as in a release. The content of the law comes
from the release: for arithmetic from the formula, for a look-up from the visible pairs alone. If all regions of a
postcode are blanked, a look-up gives none of them back, though an atlas would. A table does not distinguish look-ups
that stand in an atlas (postcode and region) from those that nobody can look up (household and region). If all were
taken for public, no region could be blanked in any household, and nothing would be gained against the atlas: the
postcode itself must be coarsened or left out, and a plan that gives it the role `other` states that nobody identifies a
person by it.

A law of the original is a fact of the whole table rather than of one record, but a record can decide if the evidence is
borderline. So laws of an original may lead to a refusal or to more blanks, but to nothing that is published: all
figures describe what the release itself gives away.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from shoal.table.arithmetic import Arithmetic, ArithmeticLaw
from shoal.table.dependencies import UNITS, Dependency, LawSupport, gives_back, support_if_believed
from shoal.table.joint_dependencies import joint_laws
from shoal.table.narrowed_ranges import generalised
from shoal.table.records import Records


@dataclass(frozen=True, kw_only=True, eq=False)
class Laws:
    """Laws of a table, which give back cells in tables made from it."""

    look_ups: Mapping[Dependency, LawSupport] = field(default_factory=dict)  # By one column or two, with their evidence
    arithmetic: tuple[ArithmeticLaw, ...] = ()

    @classmethod
    def of(
        cls,
        original: Records,
        lacking: Collection[str],
        ranges: Collection[str] = (),
        by: Collection[str] | None = None,
    ) -> "Laws":
        """The laws of a table that give back columns with cells that are missing elsewhere or will be.

        `ranges`: columns whose cells are ranges elsewhere; only arithmetic narrows these down. `by`: laws of two
        columns are given only where both are among these, with the evidence that they need where all are asked for.
        """
        if not lacking and not ranges:
            return NO_LAWS
        arithmetic = Arithmetic(original, [*lacking, *ranges], by)
        return cls(
            look_ups=look_ups_of(original, lacking, by),
            arithmetic=tuple(with_steps(law, arithmetic) for law in arithmetic.laws),
        )

    @classmethod
    def for_release(cls, original: Records, released: Records) -> "Laws":
        """The laws among released columns that give back cells which the release lacks, or has as ranges."""
        names = [name for name in released.names() if name in original]
        lacking = [name for name in names if not released[name].complete]
        return cls.of(original.select(names), lacking, generalised(released, original))

    def given_back(self, known: Mapping[str, int], stay: Collection[str]) -> dict[str, str]:
        """Columns that arithmetic with others that stay gives back in at least half of their cells, with the law.

        `known`: number of known cells of each column that is asked about; `stay`: columns that lose no cell.
        """
        return {
            law.on: gives_back(law.by, law.on, law.exceptions)
            for law in reversed(self.arithmetic)
            if law.on in known and law.on not in stay and set(law.by) <= set(stay) and 2 * law.records >= known[law.on]
        }

    def looked_up(self, names: Collection[str], stay: Collection[str]) -> dict[str, float]:
        """For columns that others which stay determine, the cells that must go with one: the mean size of a group."""
        laws = [
            (law, support) for law, support in self.look_ups.items() if law.on in names and set(law.by) <= set(stay)
        ]
        sizes = [(law.on, support.pairs / support.groups) for law, support in laws if law.on not in stay]
        return {name: max(size for on, size in sizes if on == name) for name in dict.fromkeys(on for on, _ in sizes)}


NO_LAWS = Laws()


def look_ups_of(
    records: Records, lacking: Collection[str], by: Collection[str] | None = None
) -> dict[Dependency, LawSupport]:
    """The laws by which one column, or two together (both among `by`, if given), determine some columns."""
    if not lacking:
        return {}
    codes = {v.name: v.codes() for v in records.variables}
    units = records.names(*UNITS)
    pairs = [(source, on) for on in codes if on in lacking for source in codes if source != on]
    seen = {(source, on): support_if_believed(codes[source], codes[on], unit=source in units) for source, on in pairs}
    alone = {Dependency((source,), on): support for (source, on), support in seen.items() if support is not None}
    return alone | joint_laws(records, lacking, alone, by)


def with_steps(law: ArithmeticLaw, arithmetic: Arithmetic) -> ArithmeticLaw:
    """The law with the rounding steps of its columns, so that it can be applied to another table."""
    return replace(law, steps=tuple(arithmetic.cells[name].step for name in law.columns))
