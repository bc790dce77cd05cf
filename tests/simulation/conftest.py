"""Two homes that lived for ninety days, once for all tests: what comes to both is the same."""

import pytest

from tests.simulation.lived import UNDER_A, UNDER_B, Life, ninety_days


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Under rules A; nothing of it is to be changed."""
    life = Life(tmp_path_factory.mktemp("a") / "home", UNDER_A)
    ninety_days(life)
    return life


@pytest.fixture(scope="session")
def other(lived: Life, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Under rules B, and what was done by hand as in the first, as far as that can be done."""
    life = Life(tmp_path_factory.mktemp("b") / "home", UNDER_B)
    ninety_days(life, deeds=lived.deeds)
    return life
