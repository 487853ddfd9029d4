"""k-anonymity (Samarati & Sweeney 1998)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from shoal.errors import plural
from shoal.evidence import Verdict
from shoal.groups import Partition
from shoal.methods import method
from shoal.privacy.model import PrivacyModel
from shoal.records import Records


@method("k-anonymity", title="k-anonymity", source="Samarati & Sweeney (1998)")
class KAnonymity(PrivacyModel):
    """Every combination of quasi-identifier values is shared by at least k records.

    Checked on the finished table alone: values are compared as they are written, so 0 and -0, or 1 and
    1.0000001, are different. A missing value equals a missing value and nothing else. A table without
    records holds no one and satisfies any k; a table without quasi-identifiers is a single class.

    Parameters
    ----------
    k
        Smallest number of records that must share a combination.
    """

    k: Annotated[int, Ge(1)]

    def judge(
        self, released: Records, original: Records | None = None, partition: Partition | None = None
    ) -> Verdict:
        classes = released.classes(released.quasi_identifiers)
        smallest = int(classes.sizes.min()) if len(released) else None
        holds = smallest is None or smallest >= self.k
        small = classes.sizes[classes.sizes < self.k]
        if smallest is None:
            sentence = "The table has no records, so no one can be singled out."
        elif holds:
            sentence = (
                f"Every record shares its quasi-identifiers with at least {smallest - 1:,} others "
                f"({plural(len(classes.sizes), 'class')}, the smallest of {smallest:,})."
            )
        else:
            sentence = (
                f"{plural(len(small), 'class')} with {plural(int(small.sum()), 'record')} in all "
                f"{'is' if len(small) == 1 else 'are'} smaller than {self.k}; the smallest holds {smallest}."
            )
        return Verdict(
            requirement=f"{self.k}-anonymity",
            holds=holds,
            required=self.k,
            achieved=smallest,
            sentence=sentence,
            details={
                "classes": len(classes.sizes),
                "smallest class": smallest,
                "mean class size": float(np.mean(classes.sizes)) if len(released) else None,
                "classes too small": len(small),
                "records in classes too small": int(small.sum()),
            },
        )
