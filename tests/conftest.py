"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "shoal", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shoal")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data and figures, which lies beside the project and is not part of it."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the reference data folder 'shared' does not lie beside the project")
    return folder
