"""p-sensitive k-anonymity (Truta & Vinay 2006)."""

from dataclasses import replace
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.data.confidential_bins import confidential_bins, without_missing
from shoal.data.records import Records
from shoal.facts import Nested
from shoal.judges.class_figures import ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.requirement import emd
from shoal.methods import Scales, method
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import class_figures, verdict
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.l_diversity import diversity, least_diverse


@method("p-sensitivity", title="p-sensitive k-anonymity", source="Truta & Vinay (2006)", example={"p": 2})
class PSensitivity(ClassModel):
    """Every class has at least p different values in every confidential column, and at least k records.

    Parameters
    ----------
    p
        Number of different values. A missing value is none.
    k
        Smallest class; 1 leaves it free.
    """

    scales: ClassVar[Scales] = "classes"

    p: Annotated[int, Ge(1)]
    k: Annotated[int, Ge(1)] = 1

    def group_limits(self, records: Records) -> GroupLimits:
        columns = tuple(without_missing(records))
        requirements = tuple(emd.diverse("distinct", self.p) for _ in columns)
        return GroupLimits(k=self.k, columns=columns, requirements=requirements)

    def look(self, pair: TablePair) -> ClassFigures:
        released = pair.released
        classes = released.classes(released.quasi_identifiers)
        figures = {
            column.name: diversity(least_diverse(released, column, classes), len(classes.sizes), "distinct")
            for column in confidential_bins(released, "equal")
        }
        return class_figures(released, classes, figures)

    def conclude(self, seen: ClassFigures) -> Verdict:
        name = f"{self.p}-sensitive {self.k}-anonymity" if self.k > 1 else f"{self.p}-sensitivity"
        sensitive = verdict(seen, requirement=name, required=self.p, best="high", figure="number of values")
        anonymous = KAnonymity(k=self.k).conclude(ClassFigures(sizes=seen.sizes))
        if anonymous.holds:
            return sensitive
        return replace(
            sensitive,
            holds=False,
            failing=(seen.sizes < self.k) | (False if sensitive.failing is None else sensitive.failing),
            sentence=f"{anonymous.sentence} {sensitive.sentence}",
            facts={**sensitive.facts, "k-anonymity": Nested(anonymous.facts)},
        )
