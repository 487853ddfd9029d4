"""l-diversity of sdcMicro's demo survey, figures by its function ldiversity (R):

ldiversity(testdata, keyVars = c("urbrur", "roof", "walls", "water", "electcon", "relat", "sex"),
           ldiv_index = c("hhcivil", "age"), l_recurs_c = 2)
"""

import numpy as np
import polars as pl
import pytest

from published.reference import reference
from shoal.privacy.confidential import Occurrences
from shoal.privacy.l_diversity import diversity
from shoal.table.confidential_bins import confidential_bins
from shoal.table.microdata import as_records

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


@pytest.mark.parametrize("column", ["hhcivil", "age"])
def test_every_record_agrees(column):
    table = pl.read_csv(reference("testdata.csv")).select([*KEYS, column])
    figures = pl.read_csv(reference("sdcmicro/ldiversity_testdata.csv"))
    records = as_records(table, confidential=[column])
    classes = records.classes(KEYS)
    occurrences = Occurrences.of(confidential_bins(records, "equal")[0], classes)
    for kind, name in (("distinct", "Distinct"), ("entropy", "Entropy"), ("recursive", "Recursive")):
        ours = diversity(occurrences, len(classes.sizes), kind, 2.0)[classes.ids]
        theirs = figures[f"{column}_{name}_Ldiversity"].to_numpy().astype(float)
        assert np.abs(ours - theirs).max() < 1e-9, kind
