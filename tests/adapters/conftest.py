"""A home, and the adapters on it."""

from pathlib import Path

import pytest

from skymem.adapters.langgraph import SkymemStore
from skymem.adapters.mem0 import Memory
from skymem.app import init_home
from skymem.stores.home import HomePaths


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    init_home(tmp_path / "home")
    return HomePaths(tmp_path / "home")


@pytest.fixture
def store(home: HomePaths) -> SkymemStore:
    return SkymemStore("sky", home=str(home.root))


@pytest.fixture
def mem0(home: HomePaths) -> Memory:
    return Memory("sky", home=str(home.root))
