"""A home, and a coding agent beside it."""

from pathlib import Path

import pytest

from skymem.app import init_home
from skymem.stores.home import HomePaths
from tests.hooks.agents import CodingAgent


@pytest.fixture
def coding_agent(tmp_path: Path) -> CodingAgent:
    root = tmp_path / "home"
    init_home(root)
    return CodingAgent(HomePaths(root))
