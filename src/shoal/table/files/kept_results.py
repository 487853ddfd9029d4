"""Results saved one by one, so that long work that was interrupted resumes where it stopped."""

import json
from pathlib import Path
from typing import Any

from shoal.table.files.atomic import atomic_file


class KeptResults:
    """Results by key, each in a file that only its owner can read.

    Parameters
    ----------
    folder
        Folder of the results; it and its parent are created with the first result if they do not exist.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def __contains__(self, key: str) -> bool:
        return self._path(key).is_file()

    def __getitem__(self, key: str) -> Any:
        return json.loads(self._path(key).read_text(encoding="utf-8"))

    def __setitem__(self, key: str, result: Any) -> None:
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_file(self._path(key), 0o600) as temporary:
            temporary.write_text(json.dumps(result), encoding="utf-8")

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
