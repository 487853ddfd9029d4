"""What one call costs: CPU seconds here, or in a process of its own with the memory it added and a digest."""

import hashlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

CHILD = "--child"


def timed(call: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    """CPU seconds of one call in this process, and what it returned."""
    start = time.process_time()
    result = call(*given, **named)
    return time.process_time() - start, result


def in_child(script: str, *args: object) -> tuple[float, float, str]:
    """Run a benchmark script as a child that measures one call; seconds, MB added and digest."""
    call = [sys.executable, script, CHILD, *map(str, args)]
    seconds, added, digest = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(added), digest


def child_arguments() -> list[str] | None:
    """What the parent asked for; None in the parent."""
    return sys.argv[2:] if sys.argv[1:2] == [CHILD] else None


def measure(call: Callable[[], np.ndarray]) -> None:
    """In the child: print the three figures of one call."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, result = timed(call)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(seconds, added, hashlib.sha256(result.tobytes()).hexdigest())


def agree(digests: set[str], case: str) -> None:
    if len(digests) > 1:
        raise SystemExit(f"the engines disagree on {case}")
