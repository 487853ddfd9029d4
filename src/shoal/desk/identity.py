"""Identity of a run: its plan, the contents of files that the plan names, the table, and the options of reading it."""

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

import shoal
from shoal.plan import Plan
from shoal.table.files.checksums import sha256_of
from shoal.table.files.json_text import Record
from shoal.table.parts.source import SourceFile


def identity(plan: Plan, files: Sequence[SourceFile], reading: Mapping[str, Any] | None, engine: str) -> Record:
    """The identity of a run for `Journal.open`, without its seed; every run on a table in no file has its own."""
    text = json.dumps(plan.as_mapping(), sort_keys=True, default=_content)
    return {
        "shoal": shoal.__version__,
        "plan": hashlib.sha256(text.encode()).hexdigest(),
        "files of the plan": {name: sha256_of(plan.folder / name) for name in sorted(set(_files(plan)))},
        "reading": {name: value for name, value in (reading or {}).items() if value is not None},
        "engine": engine,
        "source": [[file.path, file.size, file.changed] for file in files] or secrets.token_hex(16),
    }


def _files(plan: Plan) -> Iterator[str]:
    """Every text of a plan that is the name of a file beside it."""
    waiting: list[Any] = [plan.as_mapping()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, (str, Path)) and _is_file(plan.folder / value):
            yield str(value)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that is no name of a file
        return False


def _content(value: Any) -> str:
    """Text for a value of a plan that JSON does not know: of a table its cells, of anything else its `repr`."""
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return repr(value)
    digest = hashlib.sha256(repr(frame.schema).encode())
    for batch in frame.to_arrow().to_batches():
        digest.update(repr(batch.to_pydict()).encode())
    return digest.hexdigest()
