"""JSON files that any reader takes: no NaN, no infinity, two spaces."""

import json
from pathlib import Path
from typing import Any

from shoal.judges.evidence import as_json


def write_json(path: Path, content: Any) -> None:
    """Write any of the package's values; figures that are not finite become null."""
    path.write_text(json.dumps(as_json(content), indent=2, allow_nan=False) + "\n", encoding="utf-8")
