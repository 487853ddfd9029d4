"""A release is a value: pickled, copied or shown it holds no cell that its two folders would not hold."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal

N = 40
NAMES = [f"Wilhelmina Quxford {i:03d}" for i in range(N)]
HIDDEN = ["a very rare and long disease name", *["influenza of the common kind"] * (N - 1)]
INCOMES = [123456.78125 + 1000 * i for i in range(N)]


def table(kind: str) -> Any:
    frame = pl.DataFrame({"name": NAMES, "ill": HIDDEN, "income": INCOMES})
    match kind:
        case "pandas":
            return frame.to_pandas()
        case "pandas categories":
            return frame.to_pandas().astype({"ill": "category"})
        case "pyarrow":
            return frame.to_arrow()
        case "pyarrow dictionary":
            return frame.with_columns(pl.col("ill").cast(pl.Categorical)).to_arrow()
        case "categories":
            return frame.with_columns(pl.col("ill").cast(pl.Categorical))
    return frame


PLAN: dict[str, Any] = {
    "columns": {"name": "identifier", "ill": "quasi-identifier", "income": "confidential"},
    "steps": [
        {"mask": "suppress-records", "k": 3, "limit": 0.5},
        {"mask": "noise", "columns": ["income"], "variance": 0.5},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


@pytest.mark.parametrize(
    "kind", ["polars", "categories", "pandas", "pandas categories", "pyarrow", "pyarrow dictionary"]
)
def test_no_original_is_in_a_pickled_release(kind: str, tmp_path: Path) -> None:
    release = shoal.protect(table(kind), PLAN, seed=1)
    content = pickle.dumps(release)
    for cell in (NAMES[5], NAMES[0]):
        for spelt in (cell.encode(), cell.encode("utf-16-le")):
            assert spelt not in content
    exact = [pl.Series([value]).to_numpy().tobytes() for value in INCOMES]
    assert not [value for value in exact if value in content]
    assert HIDDEN[0] not in repr(release)
    again = copy.deepcopy(pickle.loads(content))
    out = again.write(tmp_path / "out")
    written = b"".join(path.read_bytes() for path in sorted((out / "release").iterdir()))
    assert HIDDEN[0].encode() not in written


def test_a_table_beside_the_original_is_not_kept_either() -> None:
    holdout = pd.DataFrame({"ill": ["influenza of the common kind"] * 5, "income": [987654.3125] * 5})
    plan = {**PLAN, "measures": [{"risk": "closest-record", "holdout": holdout}]}
    content = pickle.dumps(shoal.protect(table("polars"), plan, seed=1))
    assert pl.Series([987654.3125]).to_numpy().tobytes() not in content
