"""Names of files made of names of other things."""

import re


def slug(name: str) -> str:
    """A name as a file name: `mdav k=5` is `mdav-k-5`."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
