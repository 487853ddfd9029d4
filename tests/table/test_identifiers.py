"""Signs of the eighteen identifiers, in names and in values, on invented columns; and check digits by known numbers."""

import random
from datetime import date
from itertools import product

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pytest

from shoal.table import check_digits
from shoal.table.identifiers import IDENTIFIERS, outright, signs

DRAW = random.Random(5)


def digits(count):
    return "".join(DRAW.choice("0123456789") for _ in range(count))


def passing(kind, draw, count=40):
    """Numbers that pass the check of a kind."""
    looks, passes = check_digits.CHECKED[kind]
    out = []
    while len(out) < count:
        value = draw()
        if looks.fullmatch(value) and passes(value):
            out.append(value)
    return out


@pytest.mark.parametrize(
    ("check", "right"),
    [
        (check_digits.luhn, "79927398713"),  # the usual example
        (check_digits.luhn, "4539578763621486"),
        (check_digits.verhoeff, "2363"),  # the usual example
        (check_digits.iban, "GB82WEST12345698765432"),
        (check_digits.iban, "DE89370400440532013000"),
        (check_digits.iban, "AZ21NABZ00000000137010001944"),  # with the last letter
        (check_digits.isbn10, "080442957X"),
        (check_digits.isbn10, "0306406152"),
        (check_digits.ean13, "9780306406157"),
        (check_digits.isbn10, "9434765919"),
        (check_digits.dni, "12345678Z"),
        (check_digits.dni, "X1234567L"),
        (check_digits.vin, "1M8GDM9AXKP042788"),
        (check_digits.vin, "11111111111111111"),
    ],
)
def test_check_digits_by_known_numbers(check, right):
    assert check(right)
    places = [i for i, c in enumerate(right) if c.isdigit()]
    slips = [right[:i] + str((int(right[i]) + 1) % 10) + right[i + 1 :] for i in places]
    assert not any(check(slip) for slip in slips if slip != right)


@pytest.mark.parametrize("share", [0, 0.3, 0.5, 0.9, 1])
def test_a_share_holds_as_counting_says_and_no_more_are_asked_than_it_takes(share):
    for answers in product([True, False], repeat=6):
        rest = iter(answers)
        enough = check_digits.enough_hold(rest, 6, share)
        assert enough == (sum(answers) >= share * 6)
        asked = answers[: 6 - len(list(rest))]
        assert enough or asked.count(False) == next(n for n in range(7) if 6 - n < share * 6)


def test_the_group_of_the_pentagon_is_the_published_one():
    rows = {3: (3, 4, 0, 1, 2, 8, 9, 5, 6, 7), 5: (5, 9, 8, 7, 6, 0, 4, 3, 2, 1), 9: (9, 8, 7, 6, 5, 4, 3, 2, 1, 0)}
    assert {number: check_digits.VERHOEFF_TABLE[number] for number in rows} == rows


def test_verhoeff_sees_every_slip_and_every_turn():
    """What the scheme is known for: all single digits, and all neighbours exchanged."""
    number = next(f"58340197{d}" for d in range(10) if check_digits.verhoeff(f"58340197{d}"))
    for i, c in enumerate(number):
        assert not any(check_digits.verhoeff(number[:i] + d + number[i + 1 :]) for d in "0123456789" if d != c)
    for i in range(len(number) - 1):
        turned = number[:i] + number[i + 1] + number[i] + number[i + 2 :]
        assert turned == number or not check_digits.verhoeff(turned)


VALUES = {
    "F": [f"p{i}@example.org" for i in range(12)],
    "N": [f"see https://example.org/{i}" for i in range(12)],
    "O": [f"192.168.0.{i}" for i in range(12)],
    "M": [f"00:1b:63:84:45:{i:02x}" for i in range(12)],
    "D": [f"+34 600 {i:03} {i:03}" for i in range(12)],
    "G": [f"219-09-{1000 + i}" for i in range(12)],
    "B": [f"SW1A {i % 10}A{c}" for i, c in enumerate("ABCDEFGHJKLM")],
    "C": [f"19{50 + i}-03-0{1 + i % 9}" for i in range(12)],
    "J": passing("IBAN", lambda: "GB" + digits(2) + "WEST" + digits(14)),
    "L": passing("VIN", lambda: digits(17)),
    "H": passing("NHS or ISBN-10", lambda: digits(10)),
    "R": [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(12)],
}


@pytest.mark.parametrize("letter", sorted(VALUES))
@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_values_are_known_by_their_form(letter, kind):
    frame = nw.from_native(kind({"x": VALUES[letter]}), eager_only=True)
    seen = {sign.letter: sign.reason for sign in signs(frame)}
    assert letter in seen
    assert not any(value in reason for value in VALUES[letter] for reason in seen.values())


def test_addresses_of_machines_are_no_telephones():
    frame = nw.from_native(pl.DataFrame({"x": [f"192.168.10.{10 + i}" for i in range(12)]}), eager_only=True)
    assert {sign.letter for sign in signs(frame)} == {"O", "R"}


@pytest.mark.parametrize("letter", ["F", "N", "O", "M", "G", "J", "L", "H"])
def test_what_names_a_person_by_itself_is_known_by_its_form(letter):
    assert outright(VALUES[letter])
    assert not outright(VALUES[letter][:5]), "a form that numbers take by chance"
    others = [f"text {i}" for i in range(4)]
    assert not outright([*VALUES[letter][:12], *others]), "free text that holds a few"


def test_what_names_nobody_by_itself_is_not_taken_for_it():
    assert not any(outright(values) for values in (range(100), [f"{i:05}" for i in range(0, 90_000, 77)], VALUES["C"]))


def test_cards_as_whole_numbers():
    cards = [int(card) for card in passing("Luhn", lambda: "4" + digits(15))]
    frame = nw.from_native(pl.DataFrame({"x": cards}), eager_only=True)
    assert ("J", "its values are numbers with a check digit (Luhn)") in {(s.letter, s.reason) for s in signs(frame)}


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("first_name", "A"), ("Surname", "A"), ("homeAddress", "B"), ("ZIP", "B"), ("DOB", "C"), ("birth_date", "C"),
        ("mobile", "D"), ("fax", "E"), ("e-mail", "F"), ("SSN", "G"), ("MRN", "H"), ("insurance_no", "I"),
        ("accountNumber", "J"), ("driver licence", "K"), ("plate", "L"), ("device_serial", "M"), ("homepage", "N"),
        ("ip_address", "O"), ("fingerprint", "P"), ("photo", "Q"), ("respondent_id", "R"),
    ],
)  # fmt: skip
def test_columns_are_known_by_their_names(name, letter):
    frame = nw.from_native(pl.DataFrame({name: ["a", "b", "a"]}), eager_only=True)
    assert letter in {sign.letter for sign in signs(frame)}


def test_what_is_no_identifier_gives_no_sign():
    rng = random.Random(3)
    frame = pl.DataFrame(
        {
            "sex": ["f", "m"] * 50,
            "income": [rng.lognormvariate(7, 1) for _ in range(100)],
            "children": [rng.randrange(4) for _ in range(100)],
            "diagnosis": [rng.choice(["J10.1", "I21.9", "E11.0"]) for _ in range(100)],
            "hours": [rng.randrange(10, 60) for _ in range(100)],
            "married": [True, False] * 50,
            "year": [1990 + i % 30 for i in range(100)],
        }
    )
    assert signs(nw.from_native(frame, eager_only=True)) == []


def test_random_numbers_pass_no_check():
    frame = pl.DataFrame({"x": [int("1" + digits(11)) for _ in range(200)] * 2})
    assert signs(nw.from_native(frame, eager_only=True)) == []


def test_ages_and_dates():
    frame = pl.DataFrame({"age": [30, 95], "when": [date(2020, 1, 2), date(2021, 3, 4)], "x": [None, None]})
    seen = {(sign.column, sign.letter) for sign in signs(nw.from_native(frame, eager_only=True))}
    assert seen == {("age", "C"), ("when", "C")}
    young = nw.from_native(pl.DataFrame({"age": [30, 88]}), eager_only=True)
    assert signs(young) == []


def test_one_mail_in_free_text_is_enough():
    frame = pl.DataFrame({"remark": ["none"] * 30 + ["write to me@example.org please"]})
    (sign,) = signs(nw.from_native(frame, eager_only=True))
    assert (sign.letter, sign.reason) == ("F", "50 % of its values hold one")


def test_the_list_is_the_rules_own():
    assert [identifier.letter for identifier in IDENTIFIERS] == list("ABCDEFGHIJKLMNOPQR")
