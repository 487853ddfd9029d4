"""Similarity of names with typing errors (Jaro 1989; Winkler 1990)."""


def jaro_winkler(a: str, b: str) -> float:
    """Similarity in [0, 1]; 1 exactly for equal texts.

    As in Winkler's own programme (strcmp95): letters match if they are equal and no further apart than half the
    longer text less one; half the matching letters in another order, rounded down, are transpositions; up to four
    letters that the texts share at the beginning add a tenth of what is missing to 1 each, above 0.7.
    """
    from rapidfuzz.distance import JaroWinkler

    return JaroWinkler.similarity(a, b)
