"""The templates of pages; what they are compiled to is kept, as Python keeps what it compiles."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket

OPTIONS: Mapping[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
"""What templates are compiled with."""


def environment() -> Environment:
    """The templates of this package; undefined names are errors, and every value is escaped."""
    return Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=_Kept(),
        **OPTIONS,
    )


class _Kept(BytecodeCache):
    """Compiled templates beside their sources, or below `PYTHONPYCACHEPREFIX`; one that cannot be kept is not.

    Jinja2 compares the source, to which the options belong, and the version of Python; its own version is part of the
    name. What a crash has left of a file is not taken.
    """

    def __init__(self) -> None:
        self._compiler = f"jinja2-{version('jinja2')}"

    def get_source_checksum(self, source: str) -> str:
        return super().get_source_checksum(f"{OPTIONS}{source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, EOFError, UnpicklingError), self._place(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        place = self._place(bucket)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError), TemporaryDirectory(dir=place.parent) as folder:  # a part of it never has its name
            whole = Path(folder) / place.name
            whole.write_bytes(bucket.bytecode_to_string())
            whole.replace(place)

    def _place(self, bucket: Bucket) -> Path:
        source = Path(__file__).parent / "templates" / f"{bucket.key}.{self._compiler}.html"
        return Path(cache_from_source(str(source)))
