"""The measures of categorical releases, each on one table worked by hand."""

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.methods import build

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


def test_ncp_by_hand():
    """Town: two labels of 2 of 4 leaves, 1/3 each, mean 1/6. Sex: two labels of 2 of 2, mean 1/2."""
    found = measured("label-loss")
    assert found.by_column.private() == pytest.approx({"town": 1 / 6, "sex": 1 / 2})
    assert found.value == pytest.approx(1 / 3)
    assert measured("label-loss", after=AFTER.iloc[:2]).value is not None


def test_suppressed_records_lose_everything():
    """Two of four records are left, whose towns lose 1/3 and whose sexes nothing: (2/3 + 2)/4 and 2/4."""
    found = measured("label-loss", after=AFTER.iloc[:2])
    assert found.by_column.private() == pytest.approx({"town": (2 / 3 + 2) / 4, "sex": 1 / 2})


def test_precision_by_hand():
    """Level 1 of 2 in half of the towns, 1 of 1 in half of the sexes."""
    assert measured("label-loss", loss="precision").by_column.private() == pytest.approx({"town": 1 / 4, "sex": 1 / 2})


def test_entropy_by_hand():
    """South hides each of two towns borne once: log 2 / log 4, in half of the records. Any sex: log 4/3 and log 4/1."""
    expected = {"town": 1 / 4, "sex": (np.log(4 / 3) + np.log(4)) / (4 * np.log(4))}
    assert measured("label-loss", loss="entropy").by_column.private() == pytest.approx(expected)


def test_intervals_and_sets_stand_for_what_lies_in_them():
    ages = shoal.Hierarchy(tuple((str(age), "*") for age in range(20, 31)))
    before = pd.DataFrame({"age": ["20", "25", "30"], "town": ["Arles", "Bonn", "Cork"]})
    after = pd.DataFrame({"age": ["[20, 25]", "[20, 25]", "30"], "town": ["Arles | Bonn", "Arles | Bonn", "Cork"]})
    roles = {name: {"role": "quasi-identifier", "level": "nominal"} for name in before}
    spec = {"age": {**roles["age"], "hierarchy": ages}, "town": {**roles["town"], "hierarchy": TOWNS}}
    found = shoal.LabelLoss().measure(shoal.Microdata.of(before, spec), shoal.Microdata.of(after, roles))
    assert found.by_column.private() == pytest.approx({"age": (2 * 5 / 10) / 3, "town": (2 * 1 / 3) / 3})


def test_sizes_of_classes_by_hand():
    """Two classes of two: 2 on average, once 2; a record cannot be told from (4 + 4)/16 of the records."""
    assert measured("class-size").value == pytest.approx(2)
    assert measured("class-size", k=2).value == pytest.approx(1)
    assert measured("class-size", kind="discernibility").value == pytest.approx(0.5)
    assert measured("class-size", after=AFTER.iloc[:2], kind="discernibility").value == pytest.approx((4 + 2 * 4) / 16)


def test_the_majority_misleads_by_hand():
    """South, f: both flu. Bonn: flu and gout, one of which the best guess gets wrong."""
    assert measured("class-majority").value == pytest.approx(1 / 4)
    assert measured("class-majority", after=AFTER.iloc[:2]).value == pytest.approx(2 / 4)


def test_divergence_by_hand():
    """Each of four rows has 1/4; the labels give each class of two half, over two rows each: nothing is lost. If all
    towns become one label, each row has 1/2 x 1/4 for f and m together: log(1/4 x 8)."""
    assert measured("divergence").value == pytest.approx(0, abs=1e-12)
    coarse = BEFORE.assign(town="*", sex="*")
    assert measured("divergence", after=coarse).value == pytest.approx(np.log(8 / 4))


def test_payout_by_hand():
    """Of log 4 + log 2 (three halves of log 4) the first two records hide log 2 (1/3), and so do the others: 2/3 are
    kept. A class of two pays an attacker 300 / 2 > 4; the publisher loses 150 of 1200 x 2/3."""
    assert measured("publisher-payout").value == pytest.approx((800 - 150) / 1200)
    assert measured("publisher-payout", cost=150.0).value == pytest.approx(2 / 3)  # an attack gains nothing
    assert measured("publisher-payout", cost=150.0, after=AFTER.iloc[:2]).value == pytest.approx(1 / 3)


def test_an_untouched_table_loses_nothing():
    for name, best in (("label-loss", 0), ("divergence", 0), ("class-majority", 0)):
        assert measured(name, after=BEFORE).value == pytest.approx(best, abs=1e-12)


def test_no_figure_without_categories():
    x = np.arange(10.0)
    assert shoal.LabelLoss().measure(x, x).value is None
    assert shoal.ClassMajority().measure(x, x).reason.startswith("There is no categorical confidential column")
