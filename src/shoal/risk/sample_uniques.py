"""Sample uniques."""

import numpy as np

from shoal.judges.evidence import Finding
from shoal.risk.class_risk import LookalikeRisk
from shoal.risk.population import Lookalikes
from shoal.vocabulary.prelude import in_digits, method, of_release


@method("sample-uniques", title="Records unique in the table", source="Bethlehem, Keller & Pannekoek (1990)")
class SampleUniques(LookalikeRisk):
    """Share of records whose combination of quasi-identifiers occurs only once in the released table."""

    question = "singling out"
    over_tables = "classes"
    of_persons = "{} % of the persons have records, all taken together, that nobody else has."

    def of(self, alike: Lookalikes) -> Finding:
        share = alike.share(alike.sizes == 1)
        return self.finding(
            share,
            f"{in_digits(100 * share, 3)} % of the records have a combination of quasi-identifiers that nobody else "
            f"in the table has.",
            facts=of_release({"records": alike.count}),
            record_risk=(alike.sizes == 1).astype(np.float64),
        )
