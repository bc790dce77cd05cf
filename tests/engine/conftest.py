"""A home whose index is real in everything but the model."""

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skymem.engine.embedding import nothing
from skymem.engine.index import HomeIndex
from skymem.engine.items import Item
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.engine.fake_embedder import FakeEmbedder

ROOT = Path(__file__).parents[2]
SETTLE_SECONDS = 120.0


def text_of(number: int) -> str:
    """A text like no other's, but with words that others have too."""
    return f"memory {number} of topic{number % 97} seen by person{number % 31}"


def items(numbers: range) -> list[Item]:
    """The memories of those numbers."""
    return [Item(f"m{number}", f"d{number}", text_of(number)) for number in numbers]


@dataclass
class Bench:
    """An index that can be closed and opened again."""

    paths: HomePaths
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    files: Files = field(default_factory=Files)
    between: Callable[[], None] = nothing
    rules: EngineRules = field(default_factory=EngineRules)
    _index: HomeIndex | None = None

    @property
    def index(self) -> HomeIndex:
        if self._index is None:
            self._index = HomeIndex(
                self.paths,
                self.files,
                self.embedder,
                rules=self.rules,
                now=time.time,
                between=self._pause,
            )
        return self._index

    def _pause(self) -> None:
        self.between()

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def settle(self) -> int:
        """Let it do what it has to do; how many slices that took."""
        deadline = time.monotonic() + SETTLE_SECONDS
        slices = 1
        while self.index.tend():
            slices += 1
            assert time.monotonic() < deadline
        return slices

    def tend_until(self, true: Callable[[], Any], what: str) -> None:
        """Let it do what it has to do until something is so, whatever it waits for meanwhile."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while not true():
            if not self.index.tend():
                time.sleep(0.01)
            assert time.monotonic() < deadline, f"not in {SETTLE_SECONDS} s: {what}"

    def put(self, numbers: range, collection: str = "memory", agent: str = "sky") -> dict[str, Any]:
        return self.index.put(agent, collection, items(numbers))

    def ask(self, text: str, limit: int = 5, **more: Any) -> list[tuple[str, float]]:
        found = self.index.query(more.pop("agent", "sky"), text, limit, **more)
        return [(name, cosine) for name, cosine in found["hits"]]

    def not_found(self, numbers: range, agent: str = "sky") -> list[int]:
        """Those whose own text does not find them first."""
        return [
            number
            for number in numbers
            if self.ask(text_of(number), 1, agent=agent)[0][0] != f"m{number}"
        ]

    def generation(self, agent: str = "sky") -> Path:
        """Where the only generation is."""
        (found,) = (self.paths.chroma_store / agent).glob("g*")
        return found

    def cache(self, agent: str = "sky") -> Path:
        return self.paths.embeddings / agent / self.embedder.identity.key

    def seen(self, agent: str = "sky") -> dict[str, Any]:
        found: dict[str, Any] = self.index.overview()["agents"][agent]
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An empty home's index; the limit on files it sets is taken back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    made = Bench(HomePaths(tmp_path / "home"))
    made.files.make_directory(made.paths.root)
    yield made
    made.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (before[1], before[1]))


def killed_after(seconds: float, *where: str) -> set[str]:
    """Have `index_child` at work in a process that is killed; what it had acknowledged by then."""
    command = [sys.executable, "-m", "tests.engine.index_child", *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        rest = process.stdout.read().splitlines(keepends=True)
    assert process.returncode == -signal.SIGKILL
    return {name for one in [line, *rest] if one.endswith("\n") for name in json.loads(one)}
