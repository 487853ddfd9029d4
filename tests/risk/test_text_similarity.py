"""The library's similarity of names is that of the definition."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.risk.text_similarity import jaro_winkler


def by_definition(a: str, b: str) -> float:
    if not a or not b:
        return float(a == b)
    reach = max(len(a), len(b)) // 2 - 1
    free, matched = list(range(len(b))), []
    for i, letter in enumerate(a):
        near = [j for j in free if abs(i - j) <= reach and b[j] == letter]
        if near:
            free.remove(near[0])
            matched.append(letter)
    m = len(matched)
    if m == 0:
        return float(a == b)
    others = [letter for j, letter in enumerate(b) if j not in free]
    transpositions = sum(x != y for x, y in zip(matched, others)) // 2
    jaro = (m / len(a) + m / len(b) + (m - transpositions) / m) / 3
    shared = next((i for i in range(4) if a[i : i + 1] != b[i : i + 1] or i >= len(a)), 4)
    return jaro + shared * 0.1 * (1 - jaro) if jaro > 0.7 else jaro


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [
        # The examples of Winkler (1990): MARTHA has one transposition, DWAYNE four matching letters in order.
        ("MARTHA", "MARHTA", 0.9611),
        ("DWAYNE", "DUANE", 0.84),
        ("DIXON", "DICKSONX", 0.8133),
        ("abc", "abc", 1),
        ("", "abc", 0),
        ("abc", "xyz", 0),
    ],
)
def test_jaro_winkler(a: str, b: str, similarity: float) -> None:
    assert jaro_winkler(a, b) == pytest.approx(similarity, abs=5e-5)
    assert jaro_winkler(b, a) == jaro_winkler(a, b)


NAMES = st.text("abcä", max_size=9)


@given(NAMES, NAMES)
@example("badadd", "adcbacbaa")
@example("", "")
def test_equals_the_definition(a: str, b: str) -> None:
    assert jaro_winkler(a, b) == pytest.approx(by_definition(a, b), abs=1e-12)


@given(NAMES, st.integers(0, 8), st.sampled_from("abcä"))
def test_one_typing_error_equals_the_definition(name: str, place: int, letter: str) -> None:
    other = name[:place] + letter + name[place + 1 :]
    assert jaro_winkler(name, other) == pytest.approx(by_definition(name, other), abs=1e-12)
