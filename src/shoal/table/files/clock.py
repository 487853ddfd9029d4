"""Removal of times of creation from released files: the same table gives the same bytes at any time."""

import re
from datetime import datetime
from pathlib import Path

NO_TIME = datetime(1980, 1, 1)
"""Time of creation written into every file."""

CLOCKS = {
    "sav": (rb"^(.{92}).{9}.{8}", rb"\g<1>01 Jan 8000:00:00"),
    "dta": (rb"(<timestamp>.).{17}(</timestamp>)", rb"\g<1>01 Jan 1980 00:00\g<2>"),
    "xpt": (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN80:00:00:00"),
}
"""Pattern of the time of creation in each format, and `NO_TIME` as written there."""

HEADER = 640
"""Bytes at the start of a file that contain the time of creation in all of these formats."""


def stop_clock(path: Path, ending: str) -> None:
    """Replace the time of creation in a file by `NO_TIME`."""
    with path.open("r+b") as file:
        start = file.read(HEADER)
        file.seek(0)
        file.write(re.sub(*CLOCKS[ending], start, flags=re.DOTALL))
