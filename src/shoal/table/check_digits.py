"""Numbers with check digits: a typing error or a random number fails the check in at least nine cases of ten.

A column in which nearly every number passes holds such numbers, whatever its name is.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import filterfalse

VERHOEFF_TABLE = tuple(
    tuple((a + b) % 5 if a < 5 and b < 5 else (a + b) % 5 + 5 if a < 5 else (a - b) % 5 + 5 if b < 5 else (a - b) % 5
          for b in range(10))
    for a in range(10)
)  # fmt: skip
"""The dihedral group of the pentagon: digits 0 to 4 are turns, 5 to 9 are reflections."""

VERHOEFF_STEP = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
"""The permutation applied once more for each position (Verhoeff 1969)."""

DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
"""The letter of a Spanish identity number, by its remainder modulo 23."""

VIN_VALUES = {
    **{str(d): d for d in range(10)},
    **dict(zip("ABCDEFGH", range(1, 9))),
    **dict(zip("JKLMN", range(1, 6))),
    **{"P": 7, "R": 9},
    **dict(zip("STUVWXYZ", range(2, 10))),
}
VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
"""Weights of the positions of a vehicle identification number (49 CFR 565)."""


def luhn(digits: str) -> bool:
    """True if the check of Luhn (1960) passes: cards, IMEI, many patient and provider numbers."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 * (doubled > 9)
    return total % 10 == 0


def verhoeff(digits: str) -> bool:
    """True if the check of Verhoeff (1969) passes: Aadhaar and others."""
    permutation, check = list(range(10)), 0
    for digit in reversed(digits):
        check = VERHOEFF_TABLE[check][permutation[int(digit)]]
        permutation = [VERHOEFF_STEP[p] for p in permutation]
    return check == 0


def iban(text: str) -> bool:
    """True if the check of ISO 13616 passes: two letters, two check digits, and the whole is 1 modulo 97."""
    turned = text[4:] + text[:4]
    return int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def isbn10(text: str) -> bool:
    """True if the check of ISO 2108 passes: the weighted sum of ten digits is 0 modulo 11, with X for ten.

    Without X it is the check of the NHS number of England.
    """
    return sum((10 - i) * (10 if c == "X" else int(c)) for i, c in enumerate(text)) % 11 == 0


def ean13(digits: str) -> bool:
    """True if the check of thirteen-digit ISBNs and article numbers passes: weights 1 and 3 in turn, 0 modulo 10."""
    return sum(int(c) * (1 + 2 * (i % 2)) for i, c in enumerate(digits)) % 10 == 0


def dni(text: str) -> bool:
    """True for a Spanish identity number: eight digits (or X, Y, Z and seven) and the letter that follows from them."""
    number = {"X": "0", "Y": "1", "Z": "2"}.get(text[0], text[0]) + text[1:8]
    return DNI_LETTERS[int(number) % 23] == text[8]


def vin(text: str) -> bool:
    """True for a vehicle identification number: the ninth character is the weighted sum modulo 11, with X for ten."""
    check = sum(VIN_VALUES[c] * w for c, w in zip(text, VIN_WEIGHTS)) % 11
    return text[8] == "0123456789X"[check]


CHECKED: Mapping[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "IBAN": (re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"), iban),
    "VIN": (re.compile(r"[A-HJ-NPR-Z0-9]{17}"), vin),
    "DNI": (re.compile(r"[XYZ\d]\d{7}[A-Z]"), dni),
    "ISBN-13 or EAN": (re.compile(r"97[89]\d{10}"), ean13),
    "NHS or ISBN-10": (re.compile(r"\d{9}[\dX]"), isbn10),
    "Verhoeff": (re.compile(r"\d{12}"), verhoeff),
    "Luhn": (re.compile(r"\d{10,19}"), luhn),
}
"""Format of each kind of number, without blanks and hyphens, and its check; the narrowest format first."""


def kind_of(values: list[str], share: float) -> str | None:
    """The first kind of number that at least `share` of the values are; None if there is none."""
    plain = [re.sub(r"[\s.-]", "", value).upper() for value in values]
    for kind, (looks, passes) in CHECKED.items():
        if enough_hold((looks.fullmatch(value) is not None and passes(value) for value in plain), len(plain), share):
            return kind
    return None


def enough_hold(answers: Iterable[object], count: int, share: float) -> bool:
    """True if at least this share of so many answers hold; once too many do not, no further one is asked for."""
    failures = enumerate(filterfalse(None, answers), start=1)
    return all(count - failed >= share * count for failed, _ in failures)
