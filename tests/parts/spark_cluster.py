"""A standalone Spark cluster on 127.0.0.1: a master and two workers, each a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SPOKEN = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"


class Cluster:
    """The processes of a cluster and what they said.

    Parameters
    ----------
    place
        Where they write.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.url = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int) -> None:
        self._started("master", "org.apache.spark.deploy.master.Master", "--port", "0")
        self.url = self._said("master", SPOKEN)
        for number in range(workers):
            self.start_worker(number)
        for number in range(workers):
            self._said(f"worker-{number}", re.compile(f"({REGISTERED})"))

    def start_worker(self, number: int) -> None:
        options = ("-c", "1", "-m", "1g", "-d", str(self.place / f"work-{number}"))
        self.workers.append(
            self._started(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *options, self.url)
        )

    def add_worker(self) -> int:
        """Start one more worker, and wait until the master knows it; its number."""
        number = len(self.workers)
        self.start_worker(number)
        self._said(f"worker-{number}", re.compile(f"({REGISTERED})"))
        return number

    def kill(self, number: int) -> None:
        """Kill a worker with its executor, as when its machine stops."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def stop(self) -> None:
        for process in self._all:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _started(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        import pyspark

        home = Path(pyspark.__file__).parent
        place = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_NO_DAEMONIZE": "1"}
        with (self.place / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [home / "bin" / "spark-class", command[0], "--host", "127.0.0.1", "--webui-port", "0", *command[1:]],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **place},
                start_new_session=True,  # so that a worker goes with its executor
            )
        self._all.append(process)
        return process

    def _said(self, name: str, pattern: "re.Pattern[str]") -> str:
        """Wait until a process says something; an error if it ends before."""
        log, process = self.place / f"{name}.log", self._all[-1]
        while True:
            if match := pattern.search(log.read_text(encoding="utf-8", errors="replace")):
                return match[1]
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(f"The {name} of the cluster ended: {log.read_text(encoding='utf-8')[-2000:]}")


@contextmanager
def session(cluster: Cluster, most_collected: str) -> Iterator[Any]:
    """A session of a cluster whose driver may collect so much."""
    from pyspark.sql import SparkSession

    before = {name: os.environ.get(name) for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": most_collected,
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    builder = SparkSession.builder.master(cluster.url)
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    try:
        yield made
    finally:
        made.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
