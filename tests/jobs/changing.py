"""A home whose model is changed in one process: real but for models, Chroma and the sockets.

The engine, its shadow and the command are three processes in life; here one killed is all killed,
which is the worst that can happen to them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from skymem.engine import generations, keeper, loading, probe
from skymem.engine.embedding import ModelIdentity, nothing
from skymem.engine.index import HomeIndex
from skymem.engine.items import COLLECTIONS
from skymem.engine.loading import Loaded, Successor
from skymem.engine.operations import Index
from skymem.engine.vectors import Piece, Vectors
from skymem.errors import EngineUnavailableError
from skymem.jobs import index_run, migrate
from skymem.jobs.migrate import Beside, Changed, Wanted
from skymem.jobs.workplace import Workplace
from skymem.model.rules import EngineRules, RetentionRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.model_record import read_record, rules_in_use
from tests.conftest import START, line
from tests.engine.fake_embedder import DIMENSION, FakeEmbedder

OLD, NEW, BROKEN, ABSENT = "old-model", "new-model", "broken-model", "absent-model"
TENDED_MAX = 300
AGENTS = ("hobbs", "sky")


def note(agent: str, number: int) -> str:
    return f"{agent} note {number} about topic{number % 3} of area{number % 3} and thing{number}"


@dataclass
class Model(FakeEmbedder):
    """A model made up: `old` and `new` see words alike, `broken` sees none."""

    name: str = OLD
    texts: list[str] = field(default_factory=list)
    """Everything it encoded."""

    def encode(
        self, texts: Sequence[str], between: Callable[[], None] = nothing
    ) -> NDArray[np.float32]:
        self.texts += texts
        return super().encode(texts, between)

    def _vector(self, text: str) -> NDArray[np.float32]:
        if self.name == BROKEN:  # the same for all, but for a trace
            key = int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")
            vector = np.ones(DIMENSION, np.float32)
            vector[key % DIMENSION] += 0.01
        else:
            vector = super()._vector(" ".join(f"{self.name}:{word}" for word in text.split()))
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class FlatIndex:
    """A vector index at the seam, kept in one file: Chroma's own faults are tested elsewhere."""

    def __init__(self, path: Path, agent: str) -> None:
        self._path = path / "chroma.sqlite3"
        held = orjson.loads(self._path.read_bytes()) if self._path.exists() else {}
        self._held: dict[str, dict[str, NDArray[np.float64]]] = {
            name: {one: np.asarray(row, np.float64) for one, row in held.get(name, {}).items()}
            for name in COLLECTIONS
        }
        self._keep()

    def _keep(self) -> None:
        self._path.write_bytes(orjson.dumps(self._held, option=orjson.OPT_SERIALIZE_NUMPY))

    def upsert(self, collection: str, pieces: Sequence[Piece], vectors: Vectors) -> None:
        for piece, vector in zip(pieces, vectors, strict=True):
            self._held[collection][piece.name] = np.array(vector, np.float64)
        self._keep()

    def delete(self, collection: str, names: Sequence[str]) -> None:
        for name in names:
            self._held[collection].pop(name, None)
        self._keep()

    def _compared(self, collection: str, vector: Vectors) -> list[tuple[float, str]]:
        held = self._held[collection].items()
        return sorted(((float(np.dot(vector, each)), name) for name, each in held), reverse=True)

    def nearest(self, collection: str, vectors: Vectors, limit: int) -> list[str]:
        return [name for one in vectors for _, name in self._compared(collection, one)[:limit]]

    def closest(self, collection: str, vectors: Vectors) -> list[float]:
        found = [self._compared(collection, one) for one in vectors]
        return [ranked[0][0] if ranked else -1.0 for ranked in found]

    def count(self, collection: str) -> int:
        return len(self._held[collection])

    def names(self, collection: str, offset: int, limit: int) -> list[str]:
        return list(self._held[collection])[offset : offset + limit]

    def close(self) -> None:
        self._held = {}


class Answering:
    """An engine's methods, each of which first looks which model is in use."""

    def __init__(self, home: "ChangingHome", paths: HomePaths, fixed: str = "") -> None:
        self._home = home
        self.paths = paths
        self._successor = Successor(paths, home.files, lambda: self._wanted(fixed), self._build)
        self._index: Index | None = None

    def _wanted(self, fixed: str) -> EngineRules:
        rules = self._home.rules.engine
        if fixed:
            return EngineRules(model=fixed)
        return rules_in_use(rules, read_record(self.paths))

    def _build(self, loaded: Loaded, between: Callable[[], None]) -> Index:
        more: dict[str, Any] = {"rules": loaded.rules, "now": lambda: START, "between": between}
        return HomeIndex(self.paths, self._home.files, loaded.embedder, **more)

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = self._successor.open(nothing)
        coming = True
        while coming:
            self._index, coming = self._successor.follow(self._index)
        return self._index

    def __getattr__(self, name: str) -> Any:
        self._home.asked()
        return getattr(self.index, name)

    def overview(self) -> dict[str, Any]:
        for _ in range(TENDED_MAX):  # where the disk refuses for good it never ends
            if not self.index.tend():
                break
        return self.index.overview()

    def leave(self) -> None:
        if self._index is not None and not getattr(self._home.files, "fired", False):
            self._index.close()
        self.die()

    def die(self) -> None:
        """End without closing anything, as a kill does; the kernel lets the locks go."""
        self._index = None
        if self._successor._current is not None:
            self._successor._current.lock.close()
            self._successor._current = None

    def first(self, agent: str, text: str) -> str:
        """Who is nearest to a text; "" where nobody is."""
        found = self.index.query(agent, text, 1)["hits"]
        return str(found[0][0]) if found else ""


@dataclass
class ChangingHome:
    """A home with two agents, and what is running of it."""

    root: Path
    files: Files = field(default_factory=Files)
    rules: RetentionRules = field(
        default_factory=lambda: RetentionRules(engine=EngineRules(model=OLD))
    )
    models: dict[str, Model] = field(default_factory=dict)
    asked: Callable[[], None] = nothing
    """Called before each call of the engine or its shadow."""

    stops: str = ""
    _engine: Answering | None = None
    _beside: list[Answering] = field(default_factory=list)

    @property
    def paths(self) -> HomePaths:
        return HomePaths(self.root)

    @property
    def engine(self) -> Answering:
        if self._engine is None:
            self._engine = Answering(self, self.paths)
        return self._engine

    def model(self, rules: EngineRules, _directory: Path) -> Model:
        if rules.model == ABSENT:
            raise EngineUnavailableError(f"no model {ABSENT}")
        identity = ModelIdentity(rules.model, "onnx", rules.model.encode().hex(), "fp32", DIMENSION)
        return self.models.setdefault(rules.model, Model(identity, name=rules.model))

    def remember(self, agent: str, numbers: range) -> None:
        tiers = self.paths.agent(agent)
        self.work().shelf(agent).ensure()
        with tiers.long_term.open("ab") as stream:
            stream.writelines(
                line(note(agent, n), ts=START + n, id=f"{agent}{n:03}") for n in numbers
            )

    def work(self) -> Workplace:
        made: Any = lambda: self.engine  # noqa: E731
        return Workplace(
            self.paths,
            self.files,
            self.rules,
            lambda: START,
            nothing,
            lambda: self.stops,
            engine=made,
        )

    def beside(self, _work: Workplace, model: str) -> Beside:
        made: Any = Answering(self, ShadowPaths(self.root), fixed=model)
        self._beside.append(made)
        return Beside(made, made.leave)

    def migrate(self, model: str = NEW, **more: Any) -> Changed:
        more.setdefault("batch", 4)
        return migrate.migrate(self.work(), AGENTS, Wanted(model, **more), self.beside)

    def rollback(self) -> Changed:
        return migrate.rollback(self.work(), AGENTS)

    def key(self, model: str) -> str:
        return self.model(EngineRules(model=model), self.root).identity.key

    def caches(self, agent: str = "sky") -> set[str]:
        """The models whose vectors of an agent are kept."""
        keys = {self.key(model): model for model in (OLD, NEW, BROKEN, "third-model")}
        return {keys[one.name] for one in (self.paths.embeddings / agent).iterdir()}

    def generations(self, where: Path, agent: str = "sky") -> list[str]:
        """The models of the generations that lie at a place."""
        found = (where / agent).glob("g*/manifest.json")
        return sorted(
            json.loads(path.read_bytes())["model"].rpartition("-fp32")[0] for path in found
        )

    def end(self) -> None:
        """End what runs, cleanly."""
        for one in self._running():
            one.leave()
        self._forget()

    def die(self) -> None:
        """End what runs, as a kill does."""
        for one in self._running():
            one.die()
        self._forget()

    def _running(self) -> list["Answering"]:
        return [*self._beside, *([self._engine] if self._engine else [])]

    def _forget(self) -> None:
        self._engine = None
        self._beside.clear()


@pytest.fixture
def seams(monkeypatch: pytest.MonkeyPatch) -> Callable[[ChangingHome], ChangingHome]:
    """Puts a home's made-up models, and the flat index, at the seams."""
    monkeypatch.setattr(generations, "ChromaIndex", FlatIndex)
    monkeypatch.setattr(
        probe, "start", lambda *_: subprocess.Popen([sys.executable, "-S", "-c", ""])
    )
    monkeypatch.setattr(migrate, "require_model", lambda _work, model: _there(model))
    monkeypatch.setattr(keeper, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(index_run, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(index_run, "STILL_SECONDS", 0.5)
    monkeypatch.setattr(migrate, "GO_OVER_SECONDS", 0.5)
    monkeypatch.setattr(loading, "LOCK_SECONDS", 0.5)

    def put(home: ChangingHome) -> ChangingHome:
        monkeypatch.setattr(loading, "open_embedder", home.model)
        return home

    return put


def _there(model: str) -> None:
    if model == ABSENT:
        raise EngineUnavailableError(f"no model {ABSENT}")


@pytest.fixture
def home(tmp_path: Path, seams: Callable[[ChangingHome], ChangingHome]) -> Any:
    """A home of two agents, indexed with the old model."""
    made = seams(ChangingHome(tmp_path / "home"))
    filled(made)
    yield made
    made.end()


def filled(home: ChangingHome) -> ChangingHome:
    """Give both agents memories, and index them with the old model."""
    for agent in AGENTS:
        home.remember(agent, range(12))
    detail, _ = index_run.run(home.work(), AGENTS)
    assert detail["embedded"] == 24, detail
    return home
