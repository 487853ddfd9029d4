"""Laws of an original table, which need no evidence in what is released of it.

Whoever knows the world knows that a postcode lies in one region, that a household lives there too, and that an age
follows from a year of birth, however few of the cells that show it are left. So what a law of the original gives back
counts as given away, if the released cells do not contradict the law: masks may have ended it.

What comes from the original is *that* there is a law, by the same test of chance as in a release. What the law says of
a cell comes from the release: by arithmetic from the formula, by look-up from the visible pairs alone. Where all
regions of a postcode are blanked, a look-up gives none of them back, though an atlas would. A table does not tell the
look-ups that stand in an atlas (postcode and region) from those that nobody can look up (household and region); were
all taken for public, no region could be blanked in any household, and nothing would be gained against the atlas: it is
the postcode that must be coarsened or left out, and a plan that calls it `other` says that nobody finds a person by it.

A law of the original is a fact of the table as a whole, not of one record, but a record can tip the scales where the
evidence is at its edge. So laws of an original may lead to a refusal, or to more blanks, and to nothing that is
published: all figures are of what the release itself gives away.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from shoal.table.arithmetic import Arithmetic, ArithmeticLaw
from shoal.table.dependencies import UNITS, Dependency, exceptions_to
from shoal.table.records import Records


@dataclass(frozen=True, kw_only=True, eq=False)
class Laws:
    """Laws of a table, by which cells are given back in tables that were made from it."""

    look_ups: Mapping[Dependency, int] = field(default_factory=dict)  # With the number of exceptions
    arithmetic: tuple[ArithmeticLaw, ...] = ()

    @classmethod
    def of(cls, original: Records, lacking: Collection[str]) -> "Laws":
        """Those that give some columns back, of which cells are missing elsewhere or are to be."""
        if not lacking:
            return NO_LAWS
        codes = {v.name: v.codes() for v in original.variables}
        units = original.names(*UNITS)
        pairs = [Dependency(by, on) for on in original.names() if on in lacking for by in original.names() if by != on]
        seen = {pair: exceptions_to(codes[pair.by], codes[pair.on], unit=pair.by in units) for pair in pairs}
        arithmetic = Arithmetic(original, lacking)
        return cls(
            look_ups={pair: exceptions for pair, exceptions in seen.items() if exceptions is not None},
            arithmetic=tuple(with_steps(law, arithmetic) for law in arithmetic.laws),
        )

    @classmethod
    def for_release(cls, original: Records, released: Records) -> "Laws":
        """The laws among released columns that give back cells which the release lacks."""
        names = [name for name in released.names() if name in original]
        return cls.of(original.select(names), [name for name in names if not released[name].complete])


NO_LAWS = Laws()


def with_steps(law: ArithmeticLaw, arithmetic: Arithmetic) -> ArithmeticLaw:
    """A law with what its columns are rounded to, so that it can be carried to another table."""
    return replace(law, steps=tuple(arithmetic.cells[name].step for name in law.columns))
