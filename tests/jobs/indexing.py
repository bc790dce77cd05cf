"""A home whose index job is run in one process: all is real but the model and the socket."""

import resource
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skymem.engine.asking import floats
from skymem.engine.embedding import nothing
from skymem.engine.index import HomeIndex
from skymem.engine.items import Item
from skymem.jobs import index_run, runner
from skymem.jobs.grouping import WAIT_SECONDS
from skymem.jobs.workplace import Workplace
from skymem.model.rules import EngineRules
from skymem.stores.shelf import Shelf
from tests.conftest import Desk, line
from tests.engine.fake_embedder import FakeEmbedder

BATCH = 100


def texts(count: int, first: int = 0, **more: Any) -> list[bytes]:
    return [
        line(f"note {n} about topic{n % 97}", id=f"n{n:05}", **more)
        for n in range(first, first + count)
    ]


@dataclass
class InProcess:
    """The engine's methods, answered here; keeps what was asked."""

    desk: Desk
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    asked: int = 0
    """Ids it was asked about."""

    put_ids: list[str] = field(default_factory=list)
    before_put: Callable[[Sequence[Item]], None] = lambda _items: None
    before_missing: Callable[[], None] = nothing
    compared: list[list[str]] = field(default_factory=list)
    before_alike: Callable[[], None] = nothing
    refuses: dict[str, Exception] = field(default_factory=dict)
    """What a call for an agent raises."""

    meant: list[list[str]] = field(default_factory=list)
    """Texts whose vectors were asked for."""

    is_running: bool = True
    rebuilt: list[str] = field(default_factory=list)
    _index: HomeIndex | None = None

    @property
    def index(self) -> HomeIndex:
        if self._index is None:
            paths, files = self.desk.paths, self.desk.files
            more: dict[str, Any] = {"rules": EngineRules(), "now": time.time, "between": nothing}
            self._index = HomeIndex(paths, files, self.embedder, **more)
        return self._index

    def _refuse(self, agent: str) -> None:
        if agent in self.refuses:
            raise self.refuses[agent]

    def missing(self, agent: str, collection: str, items: Sequence[Any]) -> dict[str, Any]:
        self._refuse(agent)
        self.asked += len(items)
        if items:
            self.before_missing()
        return self.index.missing(agent, collection, items)

    def put(self, agent: str, collection: str, items: Sequence[Item]) -> dict[str, Any]:
        self._refuse(agent)
        self.before_put(items)
        found = self.index.put(agent, collection, items)
        self.put_ids += [one.id for one in items]
        return found

    def ids(self, agent: str, collection: str, after: str, limit: int) -> dict[str, Any]:
        return self.index.ids(agent, collection, after, limit)

    def stats(self, agent: str, sample: int) -> dict[str, Any]:
        return self.index.stats(agent, sample)

    def drop(self, agent: str, ids: Sequence[str]) -> dict[str, Any]:
        self._refuse(agent)
        return self.index.drop(agent, list(ids))

    def alike(
        self, texts: Sequence[str], least: float, *, agent: str, deadline_seconds: float
    ) -> dict[str, Any]:
        assert 0 < deadline_seconds <= WAIT_SECONDS
        self.compared.append(list(texts))
        self.before_alike()
        self._refuse(agent)
        return {"pairs": [list(pair) for pair in self.index.alike(texts, least, agent)["pairs"]]}

    def near(
        self, texts: Sequence[str], least: float, *, agent: str, deadline_seconds: float
    ) -> dict[str, Any]:
        assert deadline_seconds > 0
        self.compared.append(list(texts))
        self.before_alike()
        self._refuse(agent)
        return self.index.near(texts, least, agent)

    def vectors(
        self, texts: Sequence[str], *, agent: str, deadline_seconds: float
    ) -> tuple[str, list[Any]]:
        assert deadline_seconds > 0
        self.meant.append(list(texts))
        self._refuse(agent)
        found = self.index.vectors(texts, agent)
        return found["model"], [None if one is None else floats(one) for one in found["vectors"]]

    def running(self) -> bool:
        return self.is_running

    def rebuild(self, agent: str) -> dict[str, Any]:
        self.rebuilt.append(agent)
        return self.index.rebuild(agent)

    def purge(self, agent: str) -> dict[str, Any]:
        self._refuse(agent)
        return self.index.purge(agent)

    def overview(self) -> dict[str, Any]:
        self.settle()
        return self.index.overview()

    def settle(self) -> None:
        """What the engine does in its background."""
        deadline = time.monotonic() + 60
        while self.index.tend():
            assert time.monotonic() < deadline

    def holds(self, collection: str, agent: str = "sky") -> list[str]:
        return list(self.ids(agent, collection, "", 100_000)["ids"])

    def forget_counts(self) -> None:
        self.asked = self.embedder.encoded = 0
        self.put_ids.clear()

    def lose_everything(self) -> None:
        """Begin anew with an empty cache and register: another epoch."""
        self.close()
        shutil.rmtree(self.desk.paths.embeddings)

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None


@dataclass
class Indexer:
    """Runs the job on the desk's home."""

    desk: Desk
    engine: InProcess
    told: list[str] = field(default_factory=list)
    stops: str = ""

    def work(self) -> Workplace:
        work = self.desk.work()
        made: Any = self.engine
        work.engine = lambda: made
        work.stop = lambda: self.stops
        work.tell = self.told.append
        return work

    def run(self, *agents: str, **more: Any) -> dict[str, Any]:
        more.setdefault("batch", BATCH)
        return index_run.run(self.work(), agents or ("sky",), **more)[0]

    def promote(self) -> dict[str, Any]:
        self.desk.clock += 1
        return runner.run(self.work(), "memory_rotate_check", ["sky"])[0]

    def remember(self, tier: str, *lines: bytes, agent: str = "sky") -> Path:
        """Lines of a tier, or of an archive by its name."""
        tiers = self.desk.paths.agent(agent)
        Shelf(tiers, self.desk.files, self.desk.rules).ensure()
        names = {"long": "long_term.jsonl", "short": "short_term.jsonl"}
        path: Path = tiers.directory / names.get(tier, tier)
        with path.open("ab") as stream:
            stream.writelines(lines)
        return path


@pytest.fixture
def indexer(desk: Desk) -> Iterator[Indexer]:
    """A home whose index nobody else has; the limit on files it sets is taken back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    made = Indexer(desk, InProcess(desk))
    yield made
    made.engine.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
