"""A survey in SPSS becomes a scientific-use file in SPSS and a public-use file in Stata.

Both are read back by pyreadstat itself: labels of columns and codes are those of the survey, codes are equal where
nothing was changed, and what was put together has a new code with a label.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat

from command_line import Run

N = 600
REGIONS = {1: "Lakes", 2: "Coast", 3: "Plain", 4: "Hills", 5: "Islands", 6: "Capital"}
SEX = {1: "male", 2: "female"}
SCHOOL = {1: "none", 2: "primary", 3: "secondary", 4: "tertiary", 9: "no answer"}
LABELS = {"region": REGIONS, "sex": SEX, "school": SCHOOL}
NAMES = {"region": "Region of residence", "sex": "Sex", "school": "Highest school", "age": "Age", "pay": "Monthly pay"}
SCIENTIFIC = """
columns:
  person: identifier
  region: {role: quasi-identifier, level: nominal}
  sex: {role: quasi-identifier, level: nominal}
  school: {role: other, level: nominal, missing: keep}
  age: other
  pay: confidential
steps:
  - {mask: recode, columns: [region], groups: {South: [Coast, Islands]}}
  - {mask: suppress, k: 3}
requirements: [{privacy: k-anonymity, k: 3, missing: wildcard}]
accept: [school, age]
output: {format: sav, shuffle: false}
"""
PUBLIC = """
columns:
  person: identifier
  region:
    role: quasi-identifier
    level: nominal
    hierarchy: {nested: {North: ["1", "3", "4", "6"], South: ["2", "5"]}}
  sex: {role: quasi-identifier, level: nominal}
  school: {role: quasi-identifier, level: ordinal, missing: keep}
  age: {role: other}
  pay: confidential
steps:
  - {mask: recode, columns: [school], groups: {up to primary: [none, primary]}}
  - {mask: recode, columns: [region], level: 1}
  - {mask: top-code, columns: [age], value: 70}
  - {mask: pram, columns: [sex]}
requirements: [{privacy: k-anonymity, k: 3, missing: equal}]
output: {format: dta, shuffle: false}
"""


def survey(path: Path) -> pd.DataFrame:
    """600 persons; nine tenths answered the question on school, the others are coded 9, declared as missing."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "person": np.arange(1, N + 1),
            "region": rng.integers(1, 7, N),
            "sex": rng.integers(1, 3, N),
            "school": rng.choice([1, 2, 3, 4, 9], N, p=[0.1, 0.3, 0.3, 0.2, 0.1]),
            "age": rng.integers(15, 95, N),
            "pay": np.round(rng.lognormal(7, 0.6, N), 2),
        }
    )
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels=[NAMES.get(name, "") for name in frame],
        variable_value_labels=LABELS,
        missing_ranges={"school": [9]},
    )
    return frame


def released(run: Run, plan: str, folder: Path, name: str, ending: str) -> Path:
    (folder / f"{name}.yaml").write_text(plan, encoding="utf-8")
    status, out, err = run(
        "protect", folder / "survey.sav", "--plan", folder / f"{name}.yaml", "--out", folder / name, "--seed", 2**64
    )
    assert status == 0, err
    assert "proved" in out
    status, _, err = run("audit", folder / name / "release" / f"data.{ending}", "--plan", folder / f"{name}.yaml")
    assert status == 0, err
    return folder / name / "release" / f"data.{ending}"


def test_a_scientific_use_file_in_spss(run: Run, tmp_path: Path) -> None:
    came = survey(tmp_path / "survey.sav")
    path = released(run, SCIENTIFIC, tmp_path, "suf", "sav")
    back, meta = pyreadstat.read_sav(str(path), user_missing=True)
    assert list(back) == ["region", "sex", "school", "age", "pay"]
    assert meta.column_names_to_labels == NAMES
    assert meta.variable_value_labels["sex"] == SEX
    assert meta.variable_value_labels["school"] == SCHOOL
    assert meta.missing_ranges["school"] == [{"lo": 9.0, "hi": 9.0}]
    kept = {code: label for code, label in REGIONS.items() if label not in ("Coast", "Islands")}
    assert meta.variable_value_labels["region"] == kept | {10: "South"}
    for name in ("school", "age", "pay"):
        assert back[name].tolist() == came[name].tolist()
    region = came["region"].replace({2: 10, 5: 10})
    for name, before in (("region", region), ("sex", came["sex"])):
        known = back[name].notna()
        assert back[name][known].tolist() == before[known].tolist()
    assert Counter(map(tuple, back[["region", "sex"]].dropna().to_numpy().tolist())).most_common()[-1][1] >= 3


def test_a_public_use_file_in_stata(run: Run, tmp_path: Path) -> None:
    came = survey(tmp_path / "survey.sav")
    path = released(run, PUBLIC, tmp_path, "puf", "dta")
    back, meta = pyreadstat.read_dta(str(path))
    assert meta.column_names_to_labels == NAMES
    assert meta.variable_value_labels["region"] == {10: "North", 11: "South"}
    assert back["region"].tolist() == came["region"].replace({1: 10, 3: 10, 4: 10, 6: 10, 2: 11, 5: 11}).tolist()
    assert meta.variable_value_labels["sex"] == SEX
    assert set(back["sex"]) == {1, 2}
    assert meta.variable_value_labels["school"] == {10: "up to primary", 11: "secondary", 12: "tertiary"}
    codes = {1: 10, 2: 10, 3: 11, 4: 12}
    known = came["school"] != 9
    assert back["school"][known].tolist() == came["school"][known].replace(codes).tolist()
    assert back["age"].tolist() == came["age"].clip(upper=70).tolist()
    assert back["pay"].tolist() == came["pay"].tolist()
