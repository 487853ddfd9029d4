import numpy as np
import pandas as pd
import pytest

import shoal
from naive.generalise import nested
from shoal.table.hierarchy import Hierarchy
from shoal.vocabulary.errors import InputError

PAIRS = Hierarchy(tuple(nested(list("abcdef"), [2]).values()))


def table(values, tree=PAIRS, **more):
    frame = pd.DataFrame({"x": list(values), **more})
    spec = {"x": {"role": "quasi-identifier", "hierarchy": tree}}
    spec |= {name: {"role": "quasi-identifier", "hierarchy": tree} for name in more}
    return shoal.Microdata.of(frame, spec)


def recoded(before, **parameters):
    records = before.records
    return shoal.Generalise(**parameters).apply(records, records.quasi_identifiers, np.random.default_rng(0)).records


def attack(before, after, **parameters):
    return shoal.Downcoding(**parameters).measure(before, after)


def facts(finding):
    return {name: fact.value for name, fact in finding.facts.items()}


def test_pairs_under_a_node_of_two_leaves_are_undone_for_certain():
    """Two records under a label of two leaves: were both the same, the label would have been that leaf."""
    before = table("ab" * 10 + "cc" * 10)
    frame = before.native.assign(group=np.repeat(np.arange(20), 2).astype(str))
    groups = Hierarchy(tuple((str(g), "*") for g in range(20)))
    spec = {"x": {"role": "quasi-identifier", "hierarchy": PAIRS}}
    before = shoal.Microdata.of(frame, {**spec, "group": {"role": "quasi-identifier", "hierarchy": groups}})
    finding = attack(before, recoded(before, k=2, recoding="local"))
    assert finding.value == pytest.approx(0.5)  # all of those that were generalised
    assert facts(finding)["right guesses"] == facts(finding)["guesses"] == 10
    assert facts(finding)["without knowing the choice"] == 0.0
    assert finding.record_risk.tolist() == [1.0] * 20 + [0.0] * 20


def test_larger_classes_keep_what_they_hide():
    before = table("aabbab" * 10)
    finding = attack(before, recoded(before, k=60, recoding="local"), recoding="local")
    assert finding.value == 0.0 and facts(finding)["guesses"] == 0


def test_one_rare_value_among_a_common_one_is_given_away_by_its_label():
    """nine a and one b of a population that is a by 999 in 1000: ten a are likeliest, but would have been called a."""
    before = table("a" * 9 + "b" + "a" * 1990 + "b", y=list("c" * 10 + "d" * 1991))
    released = before.native.assign(x=["2:0"] * 10 + ["a"] * 1990 + ["2:0"])
    spec = {name: {"role": "quasi-identifier", "level": "nominal"} for name in ("x", "y")}
    finding = attack(before, shoal.Microdata.of(released, spec), recoding="local")
    assert finding.record_risk[:10].tolist() == [1.0] * 10
    assert facts(finding)["without knowing the choice"] == 0.0  # ten a, which is wrong


def test_one_class_that_alone_can_have_forbidden_the_lower_level_is_undone():
    """One level for all: two classes of e, f cannot be parted by a lower level, so the third is what forbade it."""
    lopsided = Hierarchy((("a", "ab", "*"), ("b", "ab", "*"), ("e", "e", "*")))
    before = table("eeeeab", lopsided)
    after = recoded(before, k=2)
    assert set(after["x"].categories) == {"e", "ab"}
    finding = attack(before, after)
    assert facts(finding)["recoding"] == "full-domain"
    assert finding.record_risk.tolist() == [0.0] * 4 + [1.0] * 2
    assert facts(finding)["without knowing the choice"] == 0.0


def test_tight_labels_of_as_many_values_as_records_are_undone_for_certain():
    ages = Hierarchy.from_intervals(range(20, 30), [5])
    before = table(["21", "24", "28", "29"], ages)
    after = recoded(before, k=2, recoding="local", labels="tight")
    finding = attack(before, after)
    assert finding.value == 1.0 and facts(finding)["guesses"] == 2
    sets = Hierarchy(tuple((leaf, "*") for leaf in "abcdef"))
    before = table("abcd", sets)
    assert attack(before, recoded(before, k=2, recoding="local", labels="tight")).value == 1.0


def test_an_unchanged_table_has_nothing_to_undo_and_needs_a_hierarchy():
    before = table("aabb")
    assert attack(before, before.records).value == 0.0
    plain = shoal.Microdata.of(before.native, {"x": "quasi-identifier"})
    finding = attack(plain, plain)
    assert finding.value is None and "no categorical column with a hierarchy" in finding.reason
    with pytest.raises(InputError, match="sure must be"):
        shoal.Downcoding(sure=0.4)
