import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.table.hierarchy import Hierarchy
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import DataError


def test_a_planted_lie_is_caught():
    """All classes have one income of each quarter, until one class is given low incomes only."""
    frame = pd.DataFrame(
        {"age": np.repeat([1, 2, 3, 4], 4), "pay": [1, 8, 9, 16, 2, 7, 10, 15, 3, 6, 11, 14, 4, 5, 12, 13]}
    )
    honest = shoal.TCloseness(t=0.1).check(frame, confidential="pay")
    assert honest.holds and honest.details["classes that fail"] == 0
    lie = frame.copy()
    lie.loc[[2, 3, 4, 8], "pay"] = [2, 3, 9, 16]
    verdict = shoal.TCloseness(t=0.3).check(lie, confidential="pay")
    assert not verdict.holds and verdict.achieved > 0.3
    assert verdict.details["worst class"] == {"size": 4, "distance": verdict.achieved, "column": "pay"}
    assert verdict.details["classes that fail"] == 1
    assert verdict.sentence == (
        f"1 class with 4 records in all breaks the requirement; the worst holds 4 records at distance "
        f"{verdict.achieved:.4g}, where 0.3 is required."
    )
    assert shoal.TCloseness(t=verdict.achieved).check(lie, confidential="pay").holds


def test_several_columns_count_with_their_worst():
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "even": [1, 2, 1, 2], "odd": [1, 2, 3, 4]})
    both = shoal.TCloseness(t=0.1).check(frame, confidential=["even", "odd"])
    assert both.achieved == shoal.TCloseness(t=0.1).check(frame[["q", "odd"]], confidential="odd").achieved
    assert both.details["worst class"]["column"] == "odd"
    assert shoal.TCloseness(t=0).check(frame[["q", "even"]], confidential="even").holds
    assert shoal.LDiversity(l=3).check(frame, confidential=["even", "odd"]).achieved == 2


def test_hierarchy_makes_near_categories_near():
    tree = Hierarchy.from_nested({"lung": ["flu", "cold"], "skin": ["rash", "acne"]})
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", "rash", "cold", "acne"]})
    columns = {"q": "quasi-identifier", "ill": {"role": "confidential", "hierarchy": tree}}
    # Each class has half of each branch, on one of its two leaves: 1/4 + 1/4 moves half the height.
    assert shoal.TCloseness(t=1).check(Microdata.of(frame, columns)).achieved == 0.25
    assert shoal.TCloseness(t=1, distance="equal").check(Microdata.of(frame, columns)).achieved == 0.5
    with pytest.raises(DataError, match="Column 'ill' has no hierarchy that holds all of its values, which distance"):
        shoal.TCloseness(t=1, distance="hierarchical").check(frame, confidential="ill")


def test_missing_is_as_far_from_every_category_as_two_can_be():
    tree = Hierarchy.from_nested({"lung": ["flu", "cold"], "skin": ["rash"]})
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", None, "flu", "flu"]})
    columns = {"q": "quasi-identifier", "ill": {"role": "confidential", "hierarchy": tree, "missing": "keep"}}
    # A quarter of the table is missing, of one class half and of the other nothing: a quarter moves a whole height.
    assert shoal.TCloseness(t=1).check(Microdata.of(frame, columns)).achieved == 0.25


ILL = {"role": "confidential", "hierarchy": {"nested": {"lung": ["flu", "cold"], "skin": ["rash", "acne"]}}}


@pytest.mark.parametrize("distance", ["distinct", "hierarchical"])
def test_a_plan_requires_closeness_along_the_hierarchy_of_a_confidential_column(tmp_path, distance):
    """Half the height lies between the table and each class, as above; without the hierarchy it were the whole."""
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", "rash", "cold", "acne"]})
    columns = {"q": "quasi-identifier", "ill": ILL}
    plan = {"columns": columns, "requirements": [{"privacy": "t-closeness", "t": 0.25, "distance": distance}]}
    release = shoal.protect(frame, plan)
    release.write(tmp_path / "out")
    for evidence in (release.evidence, shoal.audit(frame, plan)):
        assert [(v.holds, v.achieved) for v in evidence.verdicts] == [(True, 0.25)]


def test_labels_above_the_leaves_are_taken_to_lie_apart():
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "ill": ["flu", "skin", "cold", "skin"]})
    plan = {"columns": {"q": "quasi-identifier", "ill": ILL}, "requirements": [{"privacy": "t-closeness", "t": 0.25}]}
    assert [v.achieved for v in shoal.audit(frame, plan).verdicts] == [0.25]  # along the hierarchy it were 1/8
    plan["requirements"] = [{"privacy": "t-closeness", "t": 0.25, "distance": "hierarchical"}]
    with pytest.raises(DataError, match="Column 'ill' has no hierarchy that holds all of its values, which distance"):
        shoal.audit(frame, plan)
