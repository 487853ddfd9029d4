import numpy as np
import pandas as pd
import pytest

import shoal
from utility.test_generalised import AFTER, BEFORE, TOWNS, measured


def test_ncp_by_hand():
    """Town: two labels of 2 of 4 leaves, 1/3 each, mean 1/6. Sex: two labels of 2 of 2, mean 1/2."""
    finding = measured("label-loss")
    assert finding.by_column.private() == pytest.approx({"town": 1 / 6, "sex": 1 / 2})
    assert finding.value == pytest.approx(1 / 3)
    assert measured("label-loss", after=AFTER.iloc[:2]).value is not None


def test_records_that_are_left_out_stand_beside_the_loss():
    """Two of four records are left, whose towns lose 1/3 and whose sexes nothing; or (2/3 + 2)/4 and 2/4."""
    finding = measured("label-loss", after=AFTER.iloc[:2])
    assert finding.by_column.private() == pytest.approx({"town": 1 / 3, "sex": 0})
    assert finding.details["share of records left out"] == 1 / 2
    assert finding.sentence.endswith("in 'town'; 50 % of the records were left out.")
    lost = measured("label-loss", after=AFTER.iloc[:2], left_out="lost")
    assert lost.by_column.private() == pytest.approx({"town": (2 / 3 + 2) / 4, "sex": 1 / 2})


def test_a_sample_of_untouched_records_loses_no_label():
    frame = pd.DataFrame({"town": list("aabbccdd")})
    plan = {"columns": {"town": "quasi-identifier"}, "steps": [{"mask": "sample", "fraction": 0.5}]}
    release = shoal.protect(frame, plan, seed=1)
    loss = next(finding for finding in release.evidence.findings if finding.measure == "label-loss")
    assert loss.value == 0 and loss.details["share of records left out"] == 1 / 2


def test_precision_by_hand():
    """Level 1 of 2 in half of the towns, 1 of 1 in half of the sexes."""
    assert measured("label-loss", loss="precision").by_column.private() == pytest.approx({"town": 1 / 4, "sex": 1 / 2})


def test_entropy_by_hand():
    """South hides each of two towns borne once: log 2 / log 4, in half of the records. Any sex: log 4/3 and log 4/1."""
    expected = {"town": 1 / 4, "sex": (np.log(4 / 3) + np.log(4)) / (4 * np.log(4))}
    assert measured("label-loss", loss="entropy").by_column.private() == pytest.approx(expected)


def test_conditional_entropy_by_hand():
    """Of three records released as x two were x, which lose log 3/2, and one was y, which loses log 3; y loses nothing.

    Labels stand for nothing but themselves, so that no other loss sees a change.
    """
    before, after = pd.DataFrame({"town": list("xxyy")}), pd.DataFrame({"town": list("xxxy")})
    roles = {"town": "quasi-identifier"}
    tables = [shoal.Microdata.of(frame, roles) for frame in (before, after)]
    finding = shoal.LabelLoss(loss="conditional entropy").measure(*tables)
    assert finding.value == pytest.approx((2 * np.log(3 / 2) + np.log(3)) / (4 * np.log(4)))
    assert shoal.LabelLoss(loss="conditional entropy").measure(tables[0], tables[0]).value == 0
    assert shoal.LabelLoss(loss="entropy").measure(*tables).value == 0


def test_both_entropies_agree_where_labels_are_coarser():
    """Released records of a label are then all that have one of its values."""
    conditional, plain = (measured("label-loss", loss=loss) for loss in ("conditional entropy", "entropy"))
    assert conditional.by_column.private()["sex"] != plain.by_column.private()["sex"]  # one record kept its label
    whole = BEFORE.assign(sex="*")
    losses = [
        measured("label-loss", after=whole, loss=loss).by_column.private()["sex"]
        for loss in ("entropy", "conditional entropy")
    ]
    assert losses[0] == pytest.approx(losses[1]) and losses[0] > 0


def test_intervals_and_sets_stand_for_what_lies_in_them():
    ages = shoal.Hierarchy(tuple((str(age), "*") for age in range(20, 31)))
    before = pd.DataFrame({"age": ["20", "25", "30"], "town": ["Arles", "Bonn", "Cork"]})
    after = pd.DataFrame({"age": ["[20, 25]", "[20, 25]", "30"], "town": ["Arles | Bonn", "Arles | Bonn", "Cork"]})
    roles = {name: {"role": "quasi-identifier", "level": "nominal"} for name in before}
    spec = {"age": {**roles["age"], "hierarchy": ages}, "town": {**roles["town"], "hierarchy": TOWNS}}
    finding = shoal.LabelLoss().measure(shoal.Microdata.of(before, spec), shoal.Microdata.of(after, roles))
    assert finding.by_column.private() == pytest.approx({"age": (2 * 5 / 10) / 3, "town": (2 * 1 / 3) / 3})


def test_labels_that_lose_nothing_are_named_and_none_loses_most():
    assert measured("label-loss", after=BEFORE).sentence == "No label of 'town', 'sex' lost anything."
