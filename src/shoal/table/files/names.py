"""File names made from other names."""

import re


def slug(name: str) -> str:
    """A name as a file name: `mdav-k-5` for `mdav k=5`."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
