import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.evidence import Evidence, Finding, Verdict
from shoal.judges.table_pair import TablePair
from shoal.vocabulary.errors import NoFigure
from shoal.vocabulary.facts import Band, Figure

FRAME = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "b": ["x", "y", "x", "y", "x", "x"]})


def test_what_depends_on_the_original_and_is_not_bounded_stays_private():
    finding = Finding(
        measure="m", kind="utility", title="Loss", value=0.123, sentence="The mean of 17 moved.", facts={"secret": 3.5}
    )
    assert finding.public_value is None and finding.public_sentence == ""
    assert "0.123" not in str(finding.public_form()) and "17" not in str(finding.public_form())
    assert finding.public_form()["facts"] == {}
    assert finding.private_form()["value"] == 0.123 and finding.details == {"secret": 3.5}


def test_a_bounded_figure_is_shown_in_a_band():
    finding = Finding(measure="m", kind="utility", title="Loss", value=0.123, influence=0.001, sentence="private")
    assert finding.public_value == Band(at_most=0.2)
    assert finding.public_sentence == "Loss: at most 0.2."


def test_a_band_that_reaches_the_limit_says_nothing():
    assert (
        Finding(measure="m", kind="utility", title="t", value=0.9, limits=(0, 1), influence=0.01).public_value is None
    )


def test_the_clipped_loss_stands_for_the_loss():
    finding = Finding(measure="m", kind="utility", title="t", value=7.0, clipped=Figure(value=0.45, influence=0.01))
    assert finding.public_value == Band(at_most=0.5)


def test_figures_of_the_release_alone_are_shown_as_they_are():
    finding = shoal.Prosecutor().measure(FRAME, FRAME)
    assert finding.public_value == finding.value and finding.public_sentence == finding.sentence
    assert finding.public_form()["facts"]["share unique"] == finding.details["share unique"]


def test_a_verdict_on_the_release_alone_is_public_and_another_is_not():
    verdict = shoal.KAnonymity(k=1).check(FRAME)
    assert verdict.public_form()["sentence"] == verdict.sentence and verdict.public_form()["achieved"] == 1
    private = Verdict(requirement="r", holds=True, required=2, achieved=17, sentence="17 of them.", facts={"x": 17})
    assert "17" not in str(private.public_form())


def test_the_record_holds_all_but_figures_by_record():
    finding = shoal.Prosecutor().measure(FRAME, FRAME)
    written = json.loads(json.dumps(Evidence(verdicts=(), findings=(finding,)).as_mapping()))
    assert written["measures"][0]["value"] == finding.value
    assert "record_risk" not in written["measures"][0]


@pytest.mark.parametrize("name", ["before", "pairing"])
def test_what_is_not_known_of_a_pair_is_no_figure(name):
    pair = TablePair.of(None, shoal.Microdata.of(FRAME, {"a": "quasi-identifier", "b": "confidential"}).records)
    with pytest.raises(NoFigure):
        getattr(pair, name)


def test_a_measure_without_the_original_says_so():
    released = shoal.Microdata.of(FRAME, {"a": "quasi-identifier", "b": "confidential"}).records
    rng = np.random.default_rng(0)
    assert "not at hand" in shoal.DistanceLinkage().finding_on(TablePair.of(None, released), rng).reason
    assert shoal.Prosecutor().finding_on(TablePair.of(None, released), rng).value == 1 / 3
