import pandas as pd

import shoal

TABLE = pd.DataFrame({"town": ["south", "south", "Bonn", "Bonn"], "sex": ["f", "f", "*", "*"], "ill": ["flu"] * 4})


def test_no_attack_by_hand():
    """Classes of two: an attack that gains 300 pays 150 on average."""
    released = shoal.Microdata.of(TABLE, {"town": "quasi-identifier", "sex": "quasi-identifier", "ill": "confidential"})
    assert shoal.NoAttack(gain=300, cost=150).check(released).holds
    verdict = shoal.NoAttack(gain=300, cost=149).check(released)
    assert not verdict.holds and verdict.required == 3
    assert verdict.sentence == "An attack pays on 4 records, whose classes hold fewer than 3."
    assert verdict.failing.all()


def test_records_that_an_attack_pays_on_are_dropped():
    table = shoal.Microdata.of(pd.DataFrame({"sex": list("ffmmmd")}), {"sex": "quasi-identifier"})
    mask = shoal.SuppressRecords(k=1, limit=1.0, requirements=[{"method": "no-attack", "gain": 3, "cost": 1}])
    assert len(mask.apply(table.records, ["sex"], None).records) == 3


def test_the_smallest_class_is_what_the_gain_is_of_the_cost():
    assert [shoal.NoAttack(gain=g, cost=c).smallest for g, c in ((300, 4), (3, 2), (0.3, 0.1), (0, 1))] == [75, 2, 3, 1]


def test_generalisation_keeps_it():
    spec = {name: {"role": "quasi-identifier", "hierarchy": {"nested": {"any": ["a", "b"]}}} for name in ("x", "y")}
    table = shoal.Microdata.of(pd.DataFrame({"x": list("abababab"), "y": list("aabbaabb")}), spec)
    mask = shoal.Generalise(k=1, requirements=[{"method": "no-attack", "gain": 4, "cost": 1}])
    released = mask.apply(table.records, ["x", "y"], None).records
    assert shoal.NoAttack(gain=4, cost=1).check(released).holds


def test_it_holds_on_the_table_as_released_and_once_filled_in():
    """Filled in, three homes make one class of six in the town; as released, the blank cells are a class of two."""
    frame = pd.DataFrame({"home": [1, 1, 2, 2, 3, 3], "town": ["A", None, "A", None, "A", "A"]})
    roles = {"home": "household", "town": {"role": "quasi-identifier", "missing": "keep"}}
    released = shoal.Microdata.of(frame, roles)
    verdict = shoal.NoAttack(gain=4, cost=1).check(released)
    assert not verdict.holds and verdict.achieved == 2
    assert shoal.NoAttack(gain=2, cost=1).check(released).holds
