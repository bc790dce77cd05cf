"""What can be asked of the engine, and how a request turns into a call of its index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from skymem.engine.items import ALIKE_TEXTS_MAX, COLLECTIONS, RERANKED_MAX, Item
from skymem.errors import UsageError
from skymem.policy.admit import agent_name_fault


class Index(Protocol):
    """What the engine's process needs of the index it owns; called from one thread only."""

    def put(self, agent: str, collection: str, items: Sequence[Item]) -> dict[str, Any]:
        """Embed and keep; durable when it returns."""

    def drop(self, agent: str, ids: Sequence[str]) -> dict[str, Any]:
        """Take out of the index."""

    def missing(
        self, agent: str, collection: str, items: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        """Which of these (id, digest) are not there, and how many memories each collection has."""

    def ids(self, agent: str, collection: str, after: str, limit: int) -> dict[str, Any]:
        """Ids in order, for comparing."""

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = COLLECTIONS,
        also: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The nearest by meaning, best first."""

    def alike(self, texts: Sequence[str], least: float, agent: str) -> dict[str, Any]:
        """Each text with the earlier one nearest to it; nothing is kept."""

    def likeness(self, text: str, texts: Sequence[str], agent: str) -> dict[str, Any]:
        """The cosine of a text to each of some others; nothing is kept."""

    def near(self, texts: Sequence[str], least: float, agent: str) -> dict[str, Any]:
        """What of long-term is near to some texts, and which of them are; nothing is kept."""

    def vectors(self, texts: Sequence[str], agent: str) -> dict[str, Any]:
        """The vectors of some texts, and which model made them; nothing is kept."""

    def rerank(self, model: str, text: str, texts: Sequence[str]) -> dict[str, Any]:
        """How well each of some texts fits a text, by a cross-encoder; None while that loads."""

    def exact(self, agent: str, text: str, limit: int) -> dict[str, Any]:
        """The nearest by comparing with every vector, best first."""

    def follow(self) -> dict[str, Any]:
        """Which model answers: the one in use, or the one before while that is being loaded."""

    def stats(self, agent: str, sample: int) -> dict[str, Any]:
        """Compare what should be there with what is."""

    def rebuild(self, agent: str) -> dict[str, Any]:
        """Begin a new generation."""

    def purge(self, agent: str) -> dict[str, Any]:
        """Keep no vector that no memory needs, and begin a new generation."""

    def tend(self) -> bool:
        """One slice of background work; whether there is more."""

    def overview(self) -> dict[str, Any]:
        """What the status shows."""

    def close(self) -> None:
        """Make all durable and let go."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to ask for."""

    arguments: Mapping[str, Callable[[Any], Any]]
    """What it takes, each with what reads it off the wire."""

    quick: bool = False
    """Somebody waits for it: it goes before work that takes long."""

    change: bool = False
    """It must not be done twice for one request id."""


def _agent(value: Any) -> str:
    if not isinstance(value, str) or agent_name_fault(value) is not None:
        raise UsageError("agent: not a name of an agent")
    return value


def _agent_or_none(value: Any) -> str:
    return "" if value == "" else _agent(value)


def _collection(value: Any) -> str:
    if value not in COLLECTIONS:
        raise UsageError(f"collection: not one of {', '.join(COLLECTIONS)}")
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError("a text is expected")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError("a whole number from 0 is expected")
    return value


def _cosine(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise UsageError("a number over 0, to 1, is expected")
    return float(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError("a list is expected")
    return value


def _texts(value: Any) -> list[str]:
    return [_text(each) for each in _list(value)]


def _compared(value: Any) -> list[str]:
    texts = _texts(value)
    if len(texts) > ALIKE_TEXTS_MAX:
        raise UsageError(f"{len(texts)} texts are more than are compared ({ALIKE_TEXTS_MAX})")
    return texts


def _reranked(value: Any) -> list[str]:
    texts = _texts(value)
    if len(texts) > RERANKED_MAX:
        raise UsageError(f"{len(texts)} texts are more than are weighed at once ({RERANKED_MAX})")
    return texts


def _collections(value: Any) -> list[str]:
    return [_collection(each) for each in _list(value)]


def _parts(value: Any, size: int) -> tuple[str, ...]:
    parts = tuple(_texts(value))
    if len(parts) != size:
        raise UsageError(f"{size} texts are expected")
    return parts


def _items(value: Any) -> list[Item]:
    return [Item(*_parts(each, 3)) for each in _list(value)]


def _pairs(value: Any) -> list[tuple[str, ...]]:
    return [_parts(each, 2) for each in _list(value)]


OPERATIONS: Final[Mapping[str, Operation]] = {
    "put": Operation({"agent": _agent, "collection": _collection, "items": _items}, change=True),
    "drop": Operation({"agent": _agent, "ids": _texts}, change=True),
    "missing": Operation({"agent": _agent, "collection": _collection, "items": _pairs}, quick=True),
    "ids": Operation(
        {"agent": _agent, "collection": _collection, "after": _text, "limit": _count}, quick=True
    ),
    "query": Operation(
        {
            "agent": _agent,
            "text": _text,
            "limit": _count,
            "collections": _collections,
            "also": _texts,
        },
        quick=True,
    ),
    "alike": Operation({"texts": _compared, "least": _cosine, "agent": _agent_or_none}),
    "likeness": Operation({"text": _text, "texts": _compared, "agent": _agent_or_none}, quick=True),
    "near": Operation({"texts": _compared, "least": _cosine, "agent": _agent}),
    "vectors": Operation({"texts": _compared, "agent": _agent}),
    "rerank": Operation({"model": _text, "text": _text, "texts": _reranked}, quick=True),
    "exact": Operation({"agent": _agent, "text": _text, "limit": _count}, quick=True),
    "follow": Operation({}, change=True),
    "stats": Operation({"agent": _agent, "sample": _count}),
    "rebuild": Operation({"agent": _agent}, change=True),
    "purge": Operation({"agent": _agent}, change=True),
}


def read_arguments(name: str, given: Any) -> dict[str, Any]:
    """Check what a request gives along with the operation `name`.

    Raises:
        UsageError: there is no such operation, or it does not take these.
    """
    operation = OPERATIONS.get(name)
    if operation is None:
        raise UsageError(f"the engine does not know {name[:40]!r}")
    if not isinstance(given, dict) or set(given) != set(operation.arguments):
        raise UsageError(f"{name} takes {', '.join(operation.arguments)}")
    return {each: read(given[each]) for each, read in operation.arguments.items()}
