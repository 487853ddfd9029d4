"""The measures of categorical releases, each on one table worked by hand."""

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.vocabulary.registry import build

TOWNS = shoal.Hierarchy(
    (("Arles", "south", "*"), ("Evora", "south", "*"), ("Bonn", "north", "*"), ("Cork", "north", "*"))
)
SEXES = shoal.Hierarchy((("f", "*"), ("m", "*")))
SPEC = {
    "town": {"role": "quasi-identifier", "hierarchy": TOWNS},
    "sex": {"role": "quasi-identifier", "hierarchy": SEXES},
    "ill": "confidential",
}
BEFORE = pd.DataFrame(
    {"town": ["Arles", "Evora", "Bonn", "Bonn"], "sex": ["f", "f", "f", "m"], "ill": ["flu", "flu", "flu", "gout"]}
)
AFTER = BEFORE.assign(town=["south", "south", "Bonn", "Bonn"], sex=["f", "f", "*", "*"])


def measured(name, after=AFTER, before=BEFORE, **parameters):
    plain = {name: role if name == "ill" else {"role": "quasi-identifier"} for name, role in SPEC.items()}
    original, released = shoal.Microdata.of(before, SPEC), shoal.Microdata.of(after, plain)
    return build("utility", {"method": name, **parameters}).measure(original, released)


def test_an_untouched_table_loses_nothing():
    for name, best in (("label-loss", 0), ("divergence", 0), ("class-majority", 0)):
        assert measured(name, after=BEFORE).value == pytest.approx(best, abs=1e-12)


def test_no_figure_without_categories():
    x = np.arange(10.0)
    for measure in (shoal.LabelLoss(), shoal.PublisherPayout()):
        assert measure.measure(x, x).reason == "The two tables have no categorical quasi-identifier in common."
    assert shoal.ClassMajority().measure(x, x).reason.startswith("There is no categorical confidential column")
