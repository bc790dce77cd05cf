"""A home to recall from, and the one thing that is not real: who knows of meaning."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from skymem.errors import EngineUnavailableError, SkymemError
from skymem.recall import meaning, request, search
from skymem.recall.result import Recall
from skymem.stores.cursors import IndexCursors
from tests.conftest import Desk


@dataclass
class Meanings:
    """Answers as the engine does, from cosines a test gave it."""

    cosines: Mapping[str, float] = field(default_factory=dict)
    likenesses: Mapping[str, float] = field(default_factory=dict)
    """By text."""

    degraded: Sequence[str] = ()
    fails: SkymemError | None = None
    runs: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)

    def running(self) -> bool:
        return self.runs

    def likeness(
        self,
        text: str,
        texts: Sequence[str],
        *,
        agent: str = "",
        deadline_seconds: float = 30.0,
    ) -> dict[str, Any]:
        self.asked.append({"text": text, "texts": [*texts], "agent": agent})
        if self.fails is not None:
            raise self.fails
        return {"cosines": [self.likenesses.get(one) for one in texts]}

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = ("memory", "recent"),
        also: Sequence[str] = (),
        *,
        deadline_seconds: float = 30.0,
    ) -> dict[str, Any]:
        self.asked.append(
            {
                "agent": agent,
                "text": text,
                "limit": limit,
                "collections": tuple(collections),
                "also": tuple(also),
                "deadline_seconds": deadline_seconds,
            }
        )
        if self.fails is not None:
            raise self.fails
        best = sorted(self.cosines.items(), key=lambda item: (-item[1], item[0]))
        return {
            "hits": [list(item) for item in best[:limit]],
            "also": {name: self.cosines[name] for name in also if name in self.cosines},
            "degraded": list(self.degraded),
            "epoch": "e",
            "indexed": len(best),
        }


def pass_cursors(desk: Desk) -> None:
    """Have the catalog know that the index has all there is."""
    with desk.work().catalog() as catalog:
        if not catalog.temporary:
            catalog.catch_up(desk.tiers)
            cursors = IndexCursors(catalog, desk.agent, "e")
            for piece in cursors.pieces("long", 1000):
                cursors.passed(piece)


def no_engine() -> meaning.Vectors:
    """What `Home.engine` does where there is to be none."""
    raise EngineUnavailableError("there is none here")


Ask = Callable[..., Recall]


@pytest.fixture
def ask(desk: Desk) -> Ask:
    """Recall from the desk's home: `ask(query, engine=…, limit=…, mode=…, tiers=…, …)`."""

    def answer(
        query: str, *, engine: Meanings | None = None, indexed: bool = True, **more: Any
    ) -> Recall:
        if indexed:
            pass_cursors(desk)
        names = {"tiers", "kind", "tags", "meta", "since_us"}
        filters = request.filters_of(**{key: more.pop(key) for key in names & more.keys()})
        asked = request.ask(query, filters=filters, **more)
        connect = no_engine if engine is None else lambda: engine
        return search.recall(desk.work(), desk.agent, asked, connect)

    return answer
