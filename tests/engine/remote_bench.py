"""A home whose vectors are on a real Chroma server, and what its tests ask of both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import skymem.engine.agent as agent_module
from skymem.engine import keeper as keeper_module
from skymem.model.rules import EngineRules, RemoteRules
from tests.engine.chroma_server import ChromaServer, chroma_server
from tests.engine.conftest import Bench, text_of


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path / "server") as made:
        yield made


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the server for every query, however few vectors there are, and soon after a failure."""
    monkeypatch.setattr(agent_module, "SCAN_ROWS_MAX", 0)
    monkeypatch.setattr(keeper_module, "AWAY_SECONDS", 0.02)
    monkeypatch.setattr(keeper_module, "AWAY_SECONDS_MAX", 0.1)


def use(bench: Bench, url: str | None, **more: object) -> None:
    """Have the bench's index there from its next opening on; at home where there is no URL."""
    bench.close()
    if url is None:
        bench.rules = EngineRules()
        return
    remote = RemoteRules(url, timeout_seconds=20.0)._replace(**more)  # type: ignore[arg-type]
    bench.rules = EngineRules(remote=remote)


def whole(bench: Bench, agent: str = "sky") -> bool:
    """Whether its index has everything and was verified since it was opened."""
    found = bench.index._open.get(agent)
    return found is not None and found.keeper.usable and not found.store.register.owed_count()


def sizes(server: ChromaServer, agent: str = "sky") -> list[int]:
    """What the collections of an agent count, over all homes."""
    found = server.collections()
    return sorted(count for name, count in found.items() if f"-{agent}-" in name)


def degraded(bench: Bench, number: int) -> list[str]:
    """Ask for a memory by its text, which must be found, and give back what was told along."""
    found = bench.index.query("sky", text_of(number), 1)
    assert found["hits"] == [[f"m{number}", 1.0]]
    return [str(each) for each in found["degraded"]]
