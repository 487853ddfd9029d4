"""One plan and one seed give the same bytes on every processor and with any number of threads.

Linear algebra libraries choose their inner loops by processor, and NumPy its own; both can be told to take others
than they would. Every registered partition, replacement and mask is carried out under each of these choices.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

CORES = ("Haswell", "Zen", "SkylakeX", "Prescott")
"""OpenBLAS's names for families of processors; one that this processor cannot be gives way to the next it can."""

WITHOUT_WIDE_VECTORS = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
"""Features that NumPy is told to do without, under the names of its old and its new versions."""

BOUNDS = {"a": [-10, 10], "b": [-10, 10], "c": [0, 100]}

MASKS: dict[str, list[dict[str, Any]]] = {
    "noise": [
        *({"kind": kind, "variance": 0.1, "exact": True} for kind in ("uncorrelated", "correlated", "kim", "sullivan")),
        *({"kind": kind, "variance": 0.1} for kind in ("correlated", "restricted", "multiplicative", "orthogonal")),
    ],
    "bottom-code": [{"k": 5}],
    "top-code": [{"k": 5}],
    "data-swap": [{"share": 0.5, "columns": ["sex", "illness"]}],
    "generalise": [{"k": 3, "columns": ["illness"]}],
    "geometric": [{"epsilon": 1, "bounds": BOUNDS}],
    "laplace": [{"epsilon": 1, "bounds": BOUNDS}],
    "staircase": [{"epsilon": 1, "bounds": BOUNDS}],
    "microaggregate-columns": [{"grouping": {"method": "mdav", "k": 3}, "size": 2}],
    "pram": [{"diagonal": 0.8, "columns": ["sex", "illness"]}],
    "pseudonymise": [{"key": "00112233445566778899aabbccddeeff", "columns": ["name"]}],
    "rank-swap": [{"p": 0.1}],
    "recode": [{"bins": 4}],
    "remove-identifiers": [{"columns": ["name"]}],
    "sample": [{"fraction": 0.5, "columns": []}],
    "shuffle": [{"given": ["c"], "columns": ["a", "b"]}],
    "suppress": [{"k": 3, "columns": ["sex", "illness"]}],
    "suppress-records": [{"k": 3, "limit": 1, "columns": ["sex", "illness"]}],
    "targeted-swap": [{"share": 0.2, "columns": ["sex"]}],
}
"""Parameters by mask; a mask that is not here is carried out with k = 3 or no parameters."""

PARTITIONS: dict[str, dict[str, Any]] = {
    "univariate": {"k": 3, "columns": ["a"]},
    "latent-class": {"columns": ["sex", "illness"]},
}
BY_PARAMETER: dict[str, Any] = {"k": 3, "t": 0.3, "p": 2, "l": 2, "start": {"method": "mdav", "k": 3}, "n": 60}

REPLACEMENTS: dict[str, list[dict[str, Any]]] = {
    "muralidhar-sarathy": [{"alpha": 0.5}],
    "multivariate-t": [{"degrees_of_freedom": 5.0}],
    "normal": [{"exact": True}, {"exact": False}],
    "sequential-regression": [{"given": ["illness"]}, {"marginals": "quantile"}],
}

COLUMNS = {
    "name": "identifier",
    "a": "quasi-identifier",
    "b": "quasi-identifier",
    "c": "confidential",
    "sex": {"role": "quasi-identifier", "level": "nominal"},
    "illness": {
        "role": "quasi-identifier",
        "level": "nominal",
        "hierarchy": {"nested": {"acute": ["f", "g"], "chronic": ["h"]}},
    },
}


def frame() -> pl.DataFrame:
    """Values with all their digits, correlated, so that any other order of a sum shows."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(150, 3))
    x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
    x[:, 2] = 0.2 * x[:, 0] + 0.3 * x[:, 1] + 0.9 * x[:, 2]
    columns = {"name": [f"p{i}" for i in range(150)], "a": x[:, 0], "b": x[:, 1], "c": np.round(50 + 10 * x[:, 2], 3)}
    return pl.DataFrame({**columns, "sex": rng.choice(["f", "m"], 150), "illness": rng.choice(["f", "g", "h"], 150)})


def steps() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every registered partition, replacement and mask as the steps of a plan, under its name."""
    from shoal.methods import registered

    for entry in registered("partition"):
        needed = {name: BY_PARAMETER[name] for name, value in entry.parameters.items() if name in BY_PARAMETER}
        given = {"columns": ["a", "b"], **needed, **PARTITIONS.get(entry.name, {})}
        given = {name: value for name, value in given.items() if name == "columns" or name in entry.parameters}
        yield f"partition {entry.name}", [{"partition": entry.name, **given, "replace": "centroid"}]
    for entry in registered("replace"):
        for number, given in enumerate(REPLACEMENTS.get(entry.name, [{}])):
            for groups in ({"partition": "whole"}, {"partition": "mdav", "k": 25}):
                step = {**groups, "columns": ["a", "b", "c"], "replace": {"method": entry.name, **given}}
                yield f"replace {entry.name} {number} in {groups['partition']}", [step]
    mixture = {"partition": "gaussian-mixture", "k": 10, "columns": ["a", "b"], "replace": "normal"}
    yield "gaussian mixture and normal", [mixture]
    for entry in registered("mask"):
        default = [{"k": 3} if "k" in entry.parameters else {}]
        for number, given in enumerate(MASKS.get(entry.name, default)):
            yield f"mask {entry.name} {number}", [{"mask": entry.name, "columns": ["a", "b"], **given}]


def digests() -> dict[str, str]:
    """For each plan a hash of the released bytes, or why there is none."""
    import shoal
    from shoal.errors import ShoalError

    out = {}
    for name, listed in steps():
        try:
            released = shoal.protect(frame(), {"columns": COLUMNS, "steps": listed}, seed=2**70 + 5).data
        except ShoalError as error:
            out[name] = f"refused: {error}"
            continue
        out[name] = hashlib.sha256(released.write_csv().encode()).hexdigest()
    return out


def elsewhere(**environment: str) -> dict[str, str]:
    """`digests` as another processor would have them."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve())],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return elsewhere(OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")


REFUSED = {
    "replace fuzzy-centre 0 in whole",  # needs a fuzzy partition
    "replace fuzzy-centre 0 in mdav",
}
"""Plans that make no sense for this table, and are refused."""


@pytest.mark.slow
def test_every_method_is_carried_out(here: dict[str, str]) -> None:
    refused = {name: reason for name, reason in here.items() if reason.startswith("refused")}
    assert set(refused) == REFUSED, refused
    assert len(set(here.values())) > len(here) / 2  # the digests tell results apart


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("core", CORES)
def test_another_processor_gives_the_same_bytes(core: str, threads: str, here: dict[str, str]) -> None:
    other = elsewhere(OPENBLAS_CORETYPE=core, OPENBLAS_NUM_THREADS=threads, OMP_NUM_THREADS=threads)
    assert {name for name in here if here[name] != other[name]} == set()


@pytest.mark.slow
def test_narrower_vectors_give_the_same_bytes(here: dict[str, str]) -> None:
    other = elsewhere(NPY_DISABLE_CPU_FEATURES=WITHOUT_WIDE_VECTORS)
    assert {name for name in here if here[name] != other[name]} == set()


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # NumPy warns of features that this processor or build does not have
    print(json.dumps(digests()))
