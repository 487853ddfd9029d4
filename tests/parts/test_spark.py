"""A Spark cluster of a master and two workers gives the bytes of one machine, whatever becomes of a worker."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from parts.conftest import invented, released
from parts.spark_cluster import Cluster, session
from shoal import audit, protect
from shoal.vocabulary.errors import DataError, ParameterError

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEED = 1 << 70
N = 8_000
MOST_COLLECTED = 300_000
"""Bytes that the driver may collect from a job: less than the table has."""

PLAN = {
    "columns": {
        "id": "identifier",
        "x": "quasi-identifier",
        "y": "quasi-identifier",
        "sex": "stratum",
        "income": "confidential",
        "illness": "confidential",
        "note": "other",
    },
    "steps": [
        {"mask": "noise", "variance": 0.1, "columns": ["note"]},
        {"partition": "mdav", "k": 4, "replace": "centroid"},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": 4}, {"privacy": "t-closeness", "t": 0.9}],
    "output": {"format": "parquet"},
}

SWAPPED_AND_BLANKED = {
    "columns": {
        "id": "identifier",
        "x": "other",
        "y": "other",
        "sex": "stratum",
        "income": "quasi-identifier",
        "illness": "quasi-identifier",
        "note": "other",
    },
    "steps": [
        {"mask": "rank-swap", "p": 0.05, "columns": ["x", "note"]},
        {"mask": "suppress", "k": 4, "missing": "equal"},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
    "output": {"format": "parquet"},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start(2)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def spark(cluster):
    with session(cluster, str(MOST_COLLECTED)) as made:
        yield made


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("in")
    frame = invented(N)
    for number, start in enumerate(range(0, N, N // 3 + 1)):
        frame[start : start + N // 3 + 1].write_parquet(place / f"part-{number}.parquet")
    return place


@pytest.fixture
def small_work(monkeypatch):
    """Blocks, chunks and samples small enough for a small table to have several."""
    monkeypatch.setattr("shoal.table.parts.dealing.BLOCK_CELLS", 0)
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 2_000)
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 3_000)
    monkeypatch.setattr("shoal.table.parts.dealing.SAMPLE", 1_000)
    monkeypatch.setattr("shoal.proof.sampled.SAMPLE", 1_000)
    monkeypatch.setattr("shoal.proof.given_away.FIRST", 500)
    monkeypatch.setattr("shoal.proof.given_away.LOOKED_AT", 1_000)


def bytes_of(out: Path) -> dict[str, bytes]:
    """All released records with their groups, file by file."""
    files = [*(out / "release" / "data").iterdir(), *(out / "private" / "groups").iterdir()]
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}


def test_the_groups_and_verdicts_are_those_of_one_machine(spark, table, small_work, tmp_path):
    with pytest.raises(Exception, match="maxResultSize"):
        spark.read.parquet(str(table)).collect()
    here = protect(table, PLAN, tmp_path / "here", seed=SEED, workers=1)
    there = protect(table, PLAN, tmp_path / "there", seed=SEED, engine="spark")
    frame = spark.read.parquet(*sorted(map(str, table.iterdir()))).orderBy("id")
    given = protect(frame, PLAN, tmp_path / "given", seed=SEED)
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")
    assert there.evidence.as_mapping() == here.evidence.as_mapping()
    assert given.evidence.holds
    assert released(tmp_path / "given").height == N
    judged = audit(tmp_path / "there" / "release" / "data", PLAN, engine="spark")
    assert [v.achieved for v in judged.verdicts] == [v.achieved for v in here.evidence.verdicts]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "here", "there"]


def test_a_worker_that_is_lost_changes_nothing(cluster, spark, table, small_work, tmp_path):
    protect(table, PLAN, tmp_path / "here", seed=SEED, workers=1)
    killed = []

    def kill(text: str, fraction: float) -> None:
        if text.startswith("mdav") and not killed:
            killed.append(cluster.kill(0))

    protect(table, PLAN, tmp_path / "there", seed=SEED, engine="spark", stage=kill)
    assert len(killed) == 1
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")


@pytest.mark.parametrize("losing", ["", "rank-swap", "suppress"])
def test_ranks_and_combinations_are_those_of_one_machine(cluster, spark, table, small_work, tmp_path, losing):
    here = protect(table, SWAPPED_AND_BLANKED, tmp_path / "here", seed=SEED, workers=1)
    killed = []

    def kill(text: str, fraction: float) -> None:
        if text == losing and not killed:
            cluster.kill(len(cluster.workers) - 1)
            killed.append(cluster.add_worker())

    there = protect(table, SWAPPED_AND_BLANKED, tmp_path / "there", seed=SEED, engine="spark", stage=kill)
    assert len(killed) == bool(losing)
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")
    assert there.evidence.as_mapping() == here.evidence.as_mapping()
    out = released(tmp_path / "there")
    assert out["income"].null_count() + out["illness"].null_count() > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]


def test_what_is_wrong_is_said_by_the_driver(spark, table, tmp_path):
    with pytest.raises(ParameterError, match="workers counts processes of this machine"):
        protect(table, PLAN, tmp_path / "out", engine="spark", workers=2)
    frame = pl.read_parquet(table / "part-0.parquet").with_columns(x=None)
    frame.with_columns(pl.col("x").cast(pl.Float64)).write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(DataError, match="Column 'x' has 2,667 missing values"):
        protect(tmp_path / "empty.parquet", PLAN, tmp_path / "out", engine="spark")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.parquet"]
