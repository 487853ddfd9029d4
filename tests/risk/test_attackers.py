"""Prosecutor, journalist and marketer."""

import numpy as np
import pandas as pd
import pytest

from shoal.risk.journalist import Journalist
from shoal.risk.marketer import Marketer
from shoal.risk.prosecutor import Prosecutor
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError

# Classes: (f, 1) twice with weights 3 and 5; (m, 1) once, weight 2; (m, 2) three times, weights 1, 1, 0.5.
FRAME = pd.DataFrame(
    {"sex": ["f", "f", "m", "m", "m", "m"], "area": ["1", "1", "1", "2", "2", "2"], "w": [3.0, 5, 2, 1, 1, 0.5]}
)
ROLES = {"sex": "quasi-identifier", "area": "quasi-identifier", "w": "weight"}


def records(frame=FRAME, **roles):
    return Microdata.of(frame, {**ROLES, **roles}).records


def test_a_weight_of_nothing_is_refused():
    with pytest.raises(DataError, match="1 weight of zero or less"):
        records(FRAME.assign(w=[3.0, 5, 0, 1, 1, 1]))


@pytest.mark.parametrize("measure", [Prosecutor(), Journalist(), Marketer()])
def test_index_and_order_of_records_do_not_matter(measure):
    shuffled = FRAME.sample(frac=1, random_state=1)
    assert measure.measure(records(shuffled), records(shuffled)).value == measure.measure(records(), records()).value


@pytest.mark.parametrize("measure", [Prosecutor(), Journalist(), Marketer()])
def test_without_records_or_quasi_identifiers_there_is_no_figure(measure):
    nobody = records().take(np.arange(0))
    assert measure.measure(nobody, nobody).value is None
    bare = records().without(["sex", "area"])
    assert "no quasi-identifier" in measure.measure(bare, bare).reason
