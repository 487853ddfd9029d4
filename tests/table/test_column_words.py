"""What names and labels say, scored on 670 columns of public codebooks, typed by hand with the role each should get."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from shoal.table.column_words import meaning, words_in

ROLES = ("identifier", "quasi-identifier", "weight", "household")


def test_decisions_on_the_columns_of_public_codebooks() -> None:
    """Four decisions, each with precision and recall; what is none of them counts as another."""
    with (Path(__file__).parent / "column_names.tsv").open(encoding="utf-8", newline="") as file:
        columns = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(columns) >= 400
    decided = [(one["role"], said.role if (said := meaning(one["name"], one["label"])) else "") for one in columns]
    pairs = Counter(decided)
    for role in ROLES:
        right = pairs[role, role]
        precision = right / sum(count for (_, said), count in pairs.items() if said == role)
        recall = right / sum(count for (true, _), count in pairs.items() if true == role)
        print(f"{role}: precision {precision:.3f}, recall {recall:.3f}")
        assert precision > 0.9
        assert recall > 0.9


@pytest.mark.parametrize(
    "name",
    ["wage", "dosage", "percentage", "mortgage", "capacity", "coverage", "storage", "package", "stage", "message"],
)
def test_a_word_inside_another_is_none(name: str) -> None:
    said = meaning(name)
    assert said is None or not said.role


@pytest.mark.parametrize(
    ("name", "label", "role"),
    [
        ("patient_id", "", "identifier"), ("nhs_number", "", "identifier"), ("plz", "", "quasi-identifier"),
        ("lat", "", "quasi-identifier"), ("lon", "", "quasi-identifier"), ("alter", "", "quasi-identifier"),
        ("PatientId", "", "identifier"), ("Größe", "Körpergröße", "quasi-identifier"), ("âge", "", "quasi-identifier"),
        ("edad", "", "quasi-identifier"), ("età", "", "quasi-identifier"), ("weight_kg", "", "quasi-identifier"),
        ("drg_weight", "", ""), ("pb040", "Personal cross-sectional weight", "weight"),
        ("rb080", "Year of birth", "quasi-identifier"), ("db060", "Primary sampling unit, first stage", "unit"),
        ("income", "Income of persons of age 15 and over", ""),
    ],
)  # fmt: skip
def test_words_of_five_languages(name: str, label: str, role: str) -> None:
    said = meaning(name, label)
    assert said is not None
    assert said.role == role


@pytest.mark.parametrize("label", ["Who pays", "Who usually pays", "Person who pays the rent", "Pays for heating"])
def test_a_verb_that_is_french_for_a_country(label: str) -> None:
    said = meaning("q12", label)
    assert said is None or not said.role
    french = meaning("q12", "Pays de naissance")
    assert french is not None
    assert french.role == "quasi-identifier"


def test_a_label_is_asked_before_a_name() -> None:
    said = meaning("age", "Date of birth")
    assert said is not None
    assert (said.where, said.words) == ("label", "date")


def test_names_are_taken_apart_where_their_writing_changes() -> None:
    assert words_in("homeAddress_2") == "home address 2"
    assert words_in("ISCO08-Straße") == "isco 08 strasse"
