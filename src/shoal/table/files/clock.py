"""No clock in a released file: the same table gives the same bytes whenever it is written."""

import re
from datetime import datetime
from pathlib import Path

NO_TIME = datetime(1980, 1, 1)
"""Time of creation that every file states."""

CLOCKS = {
    "sav": (rb"^(.{92}).{9}.{8}", rb"\g<1>01 Jan 8000:00:00"),
    "dta": (rb"(<timestamp>.).{17}(</timestamp>)", rb"\g<1>01 Jan 1980 00:00\g<2>"),
    "xpt": (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN80:00:00:00"),
}
"""Place of the time of creation in each format, and `NO_TIME` as it is written there."""

HEADER = 640
"""Bytes in which all of them do."""


def stop_clock(path: Path, ending: str) -> None:
    """Put `NO_TIME` in place of when the file was made, so that the same table gives the same bytes."""
    with path.open("r+b") as file:
        start = file.read(HEADER)
        file.seek(0)
        file.write(re.sub(*CLOCKS[ending], start, flags=re.DOTALL))
