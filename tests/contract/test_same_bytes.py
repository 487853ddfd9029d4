"""One plan and one seed give the same bytes on every processor and with any number of threads.

Linear algebra libraries choose their inner loops by processor, NumPy and the C library their own; all three can be told
to take others than they would. Every registered partition, replacement and mask is carried out under each of these
choices, and plans that are judged by every privacy model and measure are written: every file has the same bytes, but
for the date in the record.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from by_night import NIGHT, only_by_night

WITHOUT_WIDE_VECTORS = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
"""Features that NumPy is told to do without, under the names of its old and its new versions."""

WITHOUT_ANY = f"{WITHOUT_WIDE_VECTORS} X86_V3 AVX2 FMA3 F16C AVX"

NO_FUSED_OPERATIONS = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F,-FMA_Usable,-AVX2_Usable,-AVX512F_Usable"
"""What the C library of Linux is told to do without, under the names of its old and its new versions."""

BOUNDS = {"a": [-10, 10], "b": [-10, 10], "c": [0, 100]}

MASKS: dict[str, list[dict[str, Any]]] = {
    "noise": [
        *({"kind": kind, "variance": 0.1, "exact": True} for kind in ("uncorrelated", "correlated", "kim", "sullivan")),
        *({"kind": kind, "variance": 0.1} for kind in ("correlated", "restricted", "multiplicative", "orthogonal")),
    ],
    "bottom-code": [{"k": 5}],
    "calibrate": [{"columns": ["c"]}],
    "top-code": [{"k": 5}],
    "data-swap": [{"share": 0.5, "columns": ["sex", "illness"]}],
    "generalise": [{"k": 3, "columns": ["illness"]}, {"k": 3, "columns": ["illness"], "target": "a"}],
    "geometric": [{"epsilon": 1, "bounds": BOUNDS}],
    "laplace": [{"epsilon": 1, "bounds": BOUNDS}],
    "staircase": [{"epsilon": 1, "bounds": BOUNDS}],
    "microaggregate-columns": [{"grouping": {"method": "mdav", "k": 3}, "size": 2}],
    "pram": [{"diagonal": 0.8, "together": together, "columns": ["sex", "illness"]} for together in (False, True)],
    "pseudonymise": [{"key": "00112233445566778899aabbccddeeff", "columns": ["name"]}],
    "rank-swap": [{"p": 0.1}],
    "round": [{"base": 0.1}, {"base": 0.1, "kind": "controlled"}],
    "recode": [{"bins": 4}],
    "remove-identifiers": [{"columns": ["name"]}],
    "private-marginals": [],  # as safepub
    "private-microaggregation": [],
    "safepub": [],  # wants to be the release's only columns; a plan of its own
    "sample": [{"fraction": 0.5, "columns": []}],
    "shuffle": [{"given": ["c"], "columns": ["a", "b"]}],
    "suppress": [{"k": 3, "columns": ["sex", "illness"]}],
    "suppress-records": [{"k": 3, "limit": 1, "columns": ["sex", "illness"]}],
    "targeted-swap": [{"share": 0.2, "columns": ["sex"]}],
}
"""Parameters by mask; a mask that is not here is carried out with k = 3 or no parameters."""

PARTITIONS: dict[str, dict[str, Any]] = {
    "univariate": {"k": 3, "columns": ["a"]},
    "gaussian-mixture": {"kmeans_starts": 1},
    "latent-class": {"columns": ["sex", "illness"], "starts": 2},
    "local-synthesis": {"starts": 2, "kmeans_starts": 1},
    "refined": {"moves": 5_000, "finish": "columns"},
}
"""Parameters by partition; of an iteration's starts, which compute alike, there are few."""

RECORDS = {
    "partition refined": 20,
    "partition tcloseness-first": 60,
    "partition tcloseness-refined": 60,
    "partition p-sensitive": 60,
    "partition l-diverse": 60,
    "fuzzy groups under constraints": 60,
}
"""Records of plans that take a second for each hundred or two."""

BY_PARAMETER: dict[str, Any] = {
    "k": 3,
    "t": 0.3,
    "p": 2,
    "l": 2,
    "beta": 4.0,
    "start": {"method": "mdav", "k": 3},
    "n": 60,
}

REPLACEMENTS: dict[str, list[dict[str, Any]]] = {
    "latin-hypercube": [{"exact": True}, {"exact": False, "marginals": "quantile"}],
    "local-microaggregation": [{"k": 3}],
    "local-noise": [{"variance": 0.2}, {"variance": 0.2, "kind": "sullivan", "exact": True}],
    "local-rank-swap": [{"p": 0.2}],
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


def processor() -> str:
    """What the processor can, where Linux says so."""
    said = Path("/proc/cpuinfo")
    return said.read_text() if said.exists() else ""


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
    from shoal.vocabulary.registry import registered

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
    for entry in registered("mask"):
        default = [{"k": 3} if "k" in entry.parameters else {}]
        for number, given in enumerate(MASKS.get(entry.name, default)):
            yield f"mask {entry.name} {number}", [{"mask": entry.name, "columns": ["a", "b"], **given}]


RULES = ["a + b <= 6", "a - b <= 4", "c >= 20", "c - 4 * a <= 90"]
"""They hold in the original and not after noise, so that records are moved back between them."""

CONSTRAINED: dict[str, list[dict[str, Any]]] = {
    "noise under constraints": [{"mask": "noise", "variance": 4.0, "columns": ["a", "b", "c"]}],
    "laplace under constraints": [{"mask": "laplace", "epsilon": 1, "bounds": BOUNDS, "columns": ["a", "b", "c"]}],
    "fuzzy groups under constraints": [
        {
            "partition": "fuzzy-c-means",
            "k": 3,
            "constraints": ["a + b <= 6"],
            "columns": ["a", "b"],
            "replace": "centroid",
        }
    ],
}


def plans() -> Iterator[tuple[str, dict[str, Any]]]:
    """Plans without requirements and measures."""
    for name, listed in steps():
        yield name, {"columns": COLUMNS, "steps": listed}
    sampled = {"mask": "safepub", "epsilon": 2, "delta": 0.01, "columns": ["illness"]}
    yield (
        "mask safepub",
        {"columns": {**dict.fromkeys(COLUMNS, "identifier"), "illness": COLUMNS["illness"]}} | {"steps": [sampled]},
    )
    domain = {"illness": ["f", "g", "h"], "sex": ["f", "m"], "a": [-5.0, -1.0, 0.5, 5.0], "c": [0, 40, 50, 60, 100]}
    private = {"mask": "private-marginals", "epsilon": 1, "delta": 1e-9, "columns": [*domain], "domain": domain}
    columns = {name: said if name in domain else "identifier" for name, said in COLUMNS.items()}
    yield "mask private-marginals", {"columns": columns, "steps": [private]}
    means = {"mask": "private-microaggregation", "k": 20, "epsilon": 1, "columns": [*BOUNDS], "bounds": BOUNDS}
    yield (
        "mask private-microaggregation",
        {
            "columns": {name: stated if name in BOUNDS else "identifier" for name, stated in COLUMNS.items()},
            "steps": [means],
        },
    )
    decimals = {**COLUMNS, "c": {"role": "confidential", "decimals": 3}}
    for name, listed in CONSTRAINED.items():
        yield name, {"columns": decimals, "steps": listed, "constraints": RULES}


HOLDOUT, POPULATION = "holdout.csv", "population.csv"
FILES: dict[str, dict[str, Any]] = {
    "closest-record": {"holdout": HOLDOUT},
    "membership-inference": {"holdout": HOLDOUT},
    "density-ratio": {"holdout": HOLDOUT},
    "shadow-models": {"holdout": HOLDOUT, "shadows": 6},
    "intersection": {"others": [HOLDOUT]},
    "train-test": {"target": "c", "folds": 2},
    "k-map": {"population": POPULATION},
    "delta-presence": {"population": POPULATION},
}
"""Parameters of judges that name a file or a column."""

LEARNERS = {"membership-inference", "shadow-models", "train-test"}
"""Measures that grow forests, most of the time of all: by night one of two releases is judged by them."""


def judged() -> Iterator[tuple[str, dict[str, Any]]]:
    """Plans judged by every measure and by every privacy model, in formats that are text and binary."""
    from shoal.vocabulary.registry import registered

    measures = [
        {entry.kind: entry.name, **entry.example, **FILES.get(entry.name, {})}
        for kind in ("risk", "utility")
        for entry in registered(kind)
    ]
    noise = [
        {"mask": "remove-identifiers", "columns": ["name"]},
        {"mask": "noise", "variance": 0.3, "columns": ["a", "b", "c"]},
        {"mask": "generalise", "k": 3, "columns": ["illness"]},
    ]
    synthetic = [
        {"mask": "remove-identifiers", "columns": ["name"]},
        {"partition": "gaussian-mixture", "k": 10, "groups": 3, "columns": ["a", "b"], "replace": "normal"},
    ]
    quick = [measure for measure in measures if measure.get("risk", measure.get("utility")) not in LEARNERS]
    of_synthetic = measures if NIGHT else quick
    for name, listed, ending, by in (("noise", noise, "csv", quick), ("synthetic", synthetic, "parquet", of_synthetic)):
        yield name, {"columns": COLUMNS, "steps": listed, "measures": by, "output": {"format": ending}}
    whole = [{"mask": "remove-identifiers", "columns": ["name"]}]
    whole += [{"partition": "whole", "columns": [name], "replace": "centroid"} for name in ("a", "b", "sex", "illness")]
    models = [
        {entry.kind: entry.name, **entry.example, **FILES.get(entry.name, {})}
        for entry in registered("privacy")
        if not entry.cls.of_account
    ]
    required = [model for model in models if "population" not in model]
    yield "privacy models", {"columns": COLUMNS, "steps": whole, "requirements": required}
    recoded = [*whole[:1], {"mask": "generalise", "k": 10, "columns": ["illness"]}]
    required = [model for model in models if "population" in model]
    categories = {**COLUMNS, "a": "confidential", "b": "confidential"}
    yield "models of a population", {"columns": categories, "steps": recoded, "requirements": required}
    paid = [{entry.kind: entry.name, **entry.example} for entry in registered("privacy") if entry.cls.of_account]
    yield "models of an account", {**dict(plans())["mask private-marginals"], "requirements": paid}


def digests() -> dict[str, str]:
    """For each plan a hash of the released bytes, or why there is none; for each judged one, of every file."""
    import shoal
    from shoal.run.carry_out import carry_out
    from shoal.vocabulary.errors import ShoalError

    out = {}
    for name, plan in plans():
        try:
            finished = carry_out(frame().head(RECORDS.get(name, 150)), shoal.Plan.of(plan), 2**70 + 5, None).finished
        except ShoalError as error:
            out[name] = f"refused: {error}"
            continue
        out[name] = hashlib.sha256(finished.native.write_csv().encode()).hexdigest()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame().tail(40).write_csv(folder / HOLDOUT)
        pl.concat([frame(), frame()]).write_csv(folder / POPULATION)
        for name, plan in judged():
            shoal.protect(frame(), plan, seed=2**70 + 5, folder=folder).write(
                folder / name, unproved=not plan.get("requirements")
            )
            for path in sorted(path for path in (folder / name).rglob("*") if path.is_file()):
                out[str(path.relative_to(folder))] = hashlib.sha256(undated(path)).hexdigest()
    return out


def undated(path: Path) -> bytes:
    """A file without the time at which it was made."""
    if path.name != "record.json":
        return path.read_bytes()
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record.pop("made")
    return json.dumps(record).encode()


def elsewhere(**environment: str) -> dict[str, str]:
    """`digests` as another processor would have them."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results: dict[str, str] = json.loads(done.stdout)
    return results


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return elsewhere(**blas("Haswell", 1))


REFUSED = {
    "replace fuzzy-centre 0 in whole",  # needs a fuzzy partition
    "replace fuzzy-centre 0 in mdav",
    "mask shift-dates 0",  # needs persons
    "mask truncate-records 0",
}
"""Plans that make no sense for this table, and are refused."""


@pytest.mark.slow
def test_every_method_is_carried_out(here: dict[str, str]) -> None:
    refused = {name: reason for name, reason in here.items() if reason.startswith("refused")}
    assert set(refused) == REFUSED, refused
    assert len(set(here.values())) > len(here) / 2  # the digests tell results apart


def blas(core: str, threads: int) -> dict[str, str]:
    return {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}


PLACES = {
    "SkylakeX and two threads": blas("SkylakeX", 2),
    "Zen, numpy without AVX512, C library without fused operations": {
        **blas("Zen", 1),
        "NPY_DISABLE_CPU_FEATURES": WITHOUT_WIDE_VECTORS,
        "GLIBC_TUNABLES": NO_FUSED_OPERATIONS,
    },
    "an old processor and two threads": {
        **blas("Prescott", 2),
        "NPY_DISABLE_CPU_FEATURES": WITHOUT_ANY,
        "GLIBC_TUNABLES": NO_FUSED_OPERATIONS,
    },
}
"""Several choices at once, for what differs under one of them differs under them together.

OpenBLAS takes a family of processors that this one cannot be for the next it can.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [pytest.param(place, id=name, marks=[only_by_night] * ("old" not in name)) for name, place in PLACES.items()],
)
def test_another_processor_gives_the_same_bytes(environment: dict[str, str], here: dict[str, str]) -> None:
    other = elsewhere(**environment)
    assert other.keys() == here.keys()
    assert {name for name in here if here[name] != other[name]} == set()


PROBE = """
import math, numpy
x = numpy.abs(numpy.random.default_rng(0).normal(size=5000))
print(numpy.exp(x).tobytes().hex(), [math.log1p(v).hex() + math.exp(v).hex() for v in x], sep="|")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() != "x86_64" or "avx512f" not in processor(), reason="needs a processor with AVX512 and FMA"
)
def test_the_switches_work() -> None:
    """Without them the libraries' own exponentials differ, so that the tests above compare something."""

    def digits(**environment: str) -> list[str]:
        call = [sys.executable, "-W", "ignore", "-c", PROBE]
        done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
        return done.stdout.split("|")

    numpy_here, c_here = digits()
    assert digits(NPY_DISABLE_CPU_FEATURES=WITHOUT_WIDE_VECTORS)[0] != numpy_here
    if platform.libc_ver()[0] == "glibc":
        assert digits(GLIBC_TUNABLES=NO_FUSED_OPERATIONS)[1] != c_here


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # NumPy warns of features that this processor or build does not have
    print(json.dumps(digests()))
