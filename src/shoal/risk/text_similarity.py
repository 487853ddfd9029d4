"""Similarity of names with typing errors (Jaro 1989; Winkler 1990)."""

PREFIX = 4
"""Letters at the beginning that count for Winkler's bonus (Winkler 1990)."""

BONUS = 0.1
"""Winkler's weight of each of them (Winkler 1990)."""


def jaro_winkler(a: str, b: str) -> float:
    """Similarity in [0, 1]; 1 exactly for equal texts.

    Letters match if they are equal and no further apart than half the longer text less one; half the number of
    matching letters that stand in another order are transpositions.
    """
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    reach = max(len(a), len(b)) // 2 - 1
    used = [False] * len(b)
    matched = []
    for i, letter in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not used[j] and b[j] == letter:
                used[j] = True
                matched.append(letter)
                break
    m = len(matched)
    if m == 0:
        return 0.0
    others = [letter for letter, taken in zip(b, used) if taken]
    transpositions = sum(x != y for x, y in zip(matched, others)) / 2
    jaro = (m / len(a) + m / len(b) + (m - transpositions) / m) / 3
    shared = 0
    while shared < min(PREFIX, len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return jaro + shared * BONUS * (1 - jaro)
