"""Pages as a reader sees them."""

import pytest


@pytest.fixture(scope="module")
def sketches() -> None:
    """Pictures are drawn."""
