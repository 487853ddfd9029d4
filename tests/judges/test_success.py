"""Success beyond a control, by hand and by the figures that Anonymeter 1.1.0 gives for the same counts."""

import pytest

from shoal.judges.success import AttackResult, SuccessRate


def result(hits, control, guesses=500, baseline=0.1):
    return AttackResult(
        attack=SuccessRate(hits=hits, guesses=guesses),
        control=None if control is None else SuccessRate(hits=control, guesses=guesses),
        baseline=baseline,
    )


@pytest.mark.parametrize(
    ("hits", "control", "value", "low", "high"),
    # from anonymeter.stats.confidence import EvaluationResults as E
    # for h, c in ((16, 9), (200, 100), (500, 250), (3, 30), (0, 0)): print(E(500, h, 0, c).risk())
    [
        (16, 9, 0.014201066, 0.0, 0.034464378),
        (200, 100, 0.248805281, 0.185853962, 0.311756600),
        (500, 250, 0.992375660, 0.984722309, 1.0),
        (3, 30, 0.0, 0.0, 0.0),
        (0, 0, 0.0, 0.0, 0.005411854),
    ],
)
def test_as_anonymeter(hits, control, value, low, high):
    made = result(hits, control)
    assert (made.value, made.interval.low, made.interval.high) == pytest.approx((value, low, high), abs=1e-9)


def test_without_a_control_it_is_the_rate():
    alone = result(125, None)
    assert alone.value == 0.25
    assert alone.interval.low < 0.25 < alone.interval.high
    assert "right on strangers" not in alone.facts


def test_an_attack_that_finds_no_more_than_guessing_says_so():
    weak, strong = result(50, 50), result(400, 50)
    assert weak.facts["better than guessing"] is False
    assert "finds no more than guessing" in weak.sentence
    assert strong.facts["better than guessing"] is True
    assert strong.sentence == (
        "right for 80 % of the people attacked, for 10 % of people who are not in the data, and by guessing at random "
        "for 10 %."
    )


def test_chances_may_be_fractions_of_hits():
    assert SuccessRate(hits=0.5, guesses=10).share == 0.05
