"""The glossary: every term is found in running text by its own words, and by no part of another word."""

import re

import pytest

from shoal.vocabulary.glossary import TERMS, Term


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_found_by_its_name(term: Term) -> None:
    other = {"unique record": "unique", "level of measurement": "nominal", "synthetic data": "synthetic"}
    word = other.get(term.name, term.name)
    assert re.fullmatch(term.spelled, word)
    assert all(re.fullmatch(elsewhere.spelled, word) is None for elsewhere in TERMS if elsewhere is not term)
    assert term.meaning.endswith((".", ")."))


def test_names_differ() -> None:
    assert len({term.name for term in TERMS}) == len(TERMS)
