"""p-sensitive k-anonymity (Truta & Vinay 2006)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.prelude import Records, Verdict
from shoal.kernels.requirement import emd
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import verdict
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.l_diversity import LDiversity
from shoal.table.confidential_bins import without_missing
from shoal.vocabulary.prelude import Ge, Nested, Scales, method


@method("p-sensitivity", title="p-sensitive k-anonymity", source="Truta & Vinay (2006)", example={"p": 2})
class PSensitivity(ClassModel):
    """Every class has at least p different values in every confidential column, and at least k records.

    Parameters
    ----------
    p
        Number of different values. A missing value counts for none.
    k
        Smallest class size; 1 for no limit.
    """

    scales: ClassVar[Scales] = "classes"
    emptily: ClassVar[Mapping[str, float]] = {"p": 1, "k": 1}

    p: Annotated[int, Ge(1)]
    k: Annotated[int, Ge(1)] = 1

    def group_limits(self, records: Records) -> GroupLimits:
        columns = tuple(without_missing(records))
        requirements = tuple(emd.Diverse("distinct", self.p) for _ in columns)
        return GroupLimits(k=self.k, columns=columns, requirements=requirements)

    def look(self, table: ClassTable) -> ClassFigures:
        return LDiversity(l=self.p).look(table)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        name = f"{self.p}-sensitive {self.k}-anonymity" if self.k > 1 else f"{self.p}-sensitivity"
        sensitive = verdict(class_figures, requirement=name, required=self.p, best="high", figure="number of values")
        anonymous = KAnonymity(k=self.k).conclude(ClassFigures(sizes=class_figures.sizes))
        if anonymous.holds:
            return sensitive
        return replace(
            sensitive,
            holds=False,
            failing=(class_figures.sizes < self.k) | (False if sensitive.failing is None else sensitive.failing),
            sentence=f"{anonymous.sentence} {sensitive.sentence}",
            facts={**sensitive.facts, "k-anonymity": Nested(anonymous.facts)},
        )
