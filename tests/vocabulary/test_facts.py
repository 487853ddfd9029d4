"""What facts show to the public: figures that nobody has changed, bands that nobody could leave, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.vocabulary.facts import (
    FEWEST,
    Band,
    ByColumn,
    Count,
    Figure,
    Interval,
    Nested,
    OfOriginal,
    OfPlan,
    OfRelease,
    PrivacyLoss,
    Share,
    as_known,
    band,
    losses,
    private_form,
    public_form,
    unbounded,
)


@pytest.mark.parametrize(
    ("n", "bound"), [(0, 20), (3, 20), (19, 20), (20, 100), (49, 50), (50, 100), (100, 300), (999, 1000), (1000, 3000)]
)
def test_counts_in_bands_by_hand(n: int, bound: int) -> None:
    """49 stays at most 50 whoever is left out; 50 could become 51, and 100 could become 101."""
    assert Count(n=n, influence=1).public() == Band(at_most=bound, unit="records")


def test_figures_in_bands_by_hand() -> None:
    assert Figure(value=0.0474, influence=0.001).public() == Band(at_most=0.05)
    assert Figure(value=0.0499, influence=0.001).public() == Band(at_most=0.1)
    assert Figure(value=0.93, influence=0.001, better="higher").public() == Band(at_least=0.5)
    assert Share(value=0.6, influence=0.01).public() == Band(at_most=1.0)
    assert Share(value=0.999, influence=0.01).public() is None  # nothing is said by 'at most 3'
    assert Share(value=0.5, influence=0.06).public() is None  # nor by 'at most 2', which 20 records could do
    assert Figure(value=1.0, influence=0.1, better="higher").public() == Band(at_least=0.3)
    assert band(0.1, 0.001) == Band(at_most=0.3)  # in floats 30 times 0.01 and 3 times 0.1 are two numbers
    assert Figure(value=0.0, influence=1.05).public() == Band(at_most=50)  # 20 records could do 21
    assert Figure(value=0.0474, influence=0).public() == 0.0474


def test_nothing_is_public_by_accident() -> None:
    facts = {
        "counted": Count(n=2),
        "measured": Figure(value=1.5),
        "inside": Nested({"text": "Secretville", "again": Count(n=7)}),
        "by column": ByColumn({"age": Share(value=0.3), "income": Figure(value=2.0)}),
        "of the original": OfOriginal([1, 2]),
    }
    assert public_form(facts) == {}
    assert public_form({"values beyond ten steps": 2, "a share": 0.02}) == {}  # nor what a plugin left untyped
    assert private_form(facts)["inside"] == {"text": "Secretville", "again": 7}


def test_what_depends_on_no_record_is_shown_as_it_is() -> None:
    facts = {
        "classes": OfRelease(17),
        "used": OfPlan({"k": 5}),
        "columns": ByColumn({"age": OfRelease(1), "income": OfOriginal(2)}),
        "unchanged": Count(n=3, influence=0),
    }
    shown = public_form(facts)
    assert shown == {"classes": 17, "used": {"k": 5}, "columns": {"age": 1}, "unchanged": 3}


def test_a_step_bounds_nothing_after_others() -> None:
    facts = {
        "dropped": Count(n=30, influence=1),
        "part of all": Share(value=0.03, influence=0.001),
        "of the release": Share(value=0.5, influence=0),
        "inside": Nested({"moved": Figure(value=3.0, influence=0.1)}),
        "by column": ByColumn({"age": Count(n=7, influence=1), "sex": OfPlan(2)}),
    }
    assert public_form(facts).keys() == facts.keys()
    assert private_form(unbounded(facts)) == private_form(facts)
    assert public_form(unbounded(facts)) == {"of the release": 0.5, "by column": {"sex": 2}}


def test_privacy_losses_are_found_by_their_type() -> None:
    one, two = PrivacyLoss(epsilon=0.5, columns=("a",)), PrivacyLoss(epsilon=1.0, columns=("b",), delta=1e-6)
    assert list(losses({"x": one, "inner": Nested({"y": two}), "epsilon": Figure(value=3.0)})) == [one, two]
    assert one.public() == {"epsilon": 0.5, "columns": ["a"]}
    assert two.public() == {"epsilon": 1.0, "columns": ["b"], "delta": 1e-6}


@given(st.floats(0, 1e6), st.floats(1e-6, 10))
def test_no_single_record_leads_out_of_a_band(value: float, influence: float) -> None:
    """The bound holds for every neighbour, and is no finer than what `FEWEST` records can do."""
    shown = band(value, influence)
    if shown is not None:
        assert shown.at_most is not None
        assert shown.at_most >= value + influence
        assert shown.at_most >= FEWEST * influence


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_an_influence_that_nobody_bounded_gives_no_band(bad: float | None) -> None:
    assert band(5.0, bad) is None
    assert band(float("nan"), 1.0) is None


def test_a_figure_has_the_digits_that_its_interval_leaves_certain_and_one_more() -> None:
    """Half the width is 0.05, 0.004, 300 and nothing."""
    wide, narrow, huge = (Interval(low=low, high=high) for low, high in ((0.4, 0.5), (0.446, 0.454), (700, 1300)))
    assert [interval.decimals for interval in (wide, narrow, huge)] == [3, 4, 0]
    assert [as_known(0.45, interval) for interval in (wide, narrow)] == ["0.450", "0.4500"]
    assert as_known(999.6, huge) == "1000" and str(huge) == " [700, 1300]"
    point, endless = Interval(low=0.45, high=0.45), Interval(low=0.0, high=float("inf"))
    assert point.decimals is None and endless.decimals is None
    assert as_known(0.123456, point) == as_known(0.123456) == "0.1235"
    rounded = Interval(low=0.95 - 2e-16, high=0.95 + 1e-16)
    assert as_known(0.95, rounded) + str(rounded) == "0.95 [0.95, 0.95]"


def test_bands_in_words() -> None:
    assert str(Band(at_most=2000, unit="records")) == "at most 2,000 records"
    assert str(Band(at_least=0.5)) == "at least 0.5"
