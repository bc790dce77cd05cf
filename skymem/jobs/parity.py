"""Whether another model finds what the one in use finds: the gate before a switch (row X10).

Asked are the memories that must go on being recalled (pinned, recalled most), by their own words as
canaries are, and others from all over the tiers. Both models answer by comparing with every vector,
so that it is the models that are compared and no index.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol

from skymem.jobs.index import every_short
from skymem.jobs.watched import WORDS_MAX, watched
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import TIERS, IndexCursors
from skymem.stores.recall_log import most_recalled
from skymem.stores.vectorless import vectorless

AMONG_FIRST: Final = 10
"""The answer that is compared: as many as a recall shows."""

SHARE: Final = 4
"""But no more than one in four of what there is: of twelve, any two models share most of ten."""

QUERIES_MAX: Final = 50
"""Of each agent; a mean of 50 shares of ten is good to some four in a hundred."""

THRESHOLD: Final = 0.5
"""Half of the old model's answers. Two good models agree on more than that; one that is broken, or
made for another language, agrees on next to nothing."""


class Asked(Protocol):
    """What is needed of an engine."""

    def missing(self, agent: str, collection: str, items: Sequence[Any]) -> dict[str, Any]:
        """Among other things, how many memories are `held`."""

    def exact(self, agent: str, text: str, limit: int) -> dict[str, Any]:
        """The nearest by comparing with every vector, best first."""


@dataclass(slots=True)
class Parity:
    """What the comparison came to, so far."""

    threshold: float
    queries: int = 0
    shares: float = 0.0
    compared: int = 0
    """Queries the old model found anything for."""

    known: int = 0
    """Queries whose own memory the old model found."""

    found: int = 0
    """Of those, how many the new one found."""

    @property
    def overlap(self) -> float | None:
        """Share of the old model's answers that the new one gives too; None without queries."""
        return self.shares / self.compared if self.compared else None

    @property
    def recalled(self) -> float | None:
        """Share of the memories found by their own words that the new one finds; None: of none."""
        return self.found / self.known if self.known else None

    @property
    def holds(self) -> bool:
        """Whether both shares reach the threshold; where nothing can be asked, nothing is lost."""
        shares = (self.overlap, self.recalled)
        return all(share is None or share >= self.threshold for share in shares)

    def add(self, own: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Count the answers to one query, ids best first; `own` is the memory it was made of.

        That one is counted by itself: nearly any model finds a text by its own words.
        """
        self.queries += 1
        others = {*old} - {own}
        if others:
            self.compared += 1
            self.shares += len(others & {*new}) / len(others)
        if own in old:
            self.known += 1
            self.found += own in new

    def to_json(self) -> dict[str, Any]:
        """What is told of it: shares 0 to 1, null where there was nothing to compare."""
        rounded = {
            name: None if share is None else round(share, 4)
            for name, share in (("overlap", self.overlap), ("recalled", self.recalled))
        }
        return {**rounded, "queries": self.queries, "threshold": self.threshold}

    def words(self) -> str:
        """The same for a person."""
        if self.overlap is None:
            return "there was nothing to ask for"
        recalled = "" if self.recalled is None else f", {self.recalled:.0%} of what was asked for"
        return (
            f"{self.overlap:.0%} of its answers{recalled}, in {self.queries} queries "
            f"(of each {self.threshold:.0%} is enough)"
        )


def measure(
    work: Workplace,
    catalog: Catalog,
    agents: Sequence[str],
    engines: tuple[Asked, Asked],
    threshold: float,
) -> Parity:
    """Ask the old model and the new one the same.

    Args:
        work: the home.
        catalog: caught up by this.
        agents: each is asked for its own memories.
        engines: of the old model and of the new one.
        threshold: the share, 0 to 1, that is enough.

    Raises:
        EngineUnavailableError, BusyError: one of them does not answer.
        InterruptedRunError: a signal came.
    """
    parity = Parity(threshold)
    for agent in agents:
        held = sum(engines[0].missing(agent, "memory", [])["held"])
        limit = min(AMONG_FIRST, held // SHARE) + 1  # and the memory itself
        for name, text in queries(work, catalog, agent).items():
            work.check_stop()
            old, new = (
                [found for found, _ in engine.exact(agent, text, limit)["hits"]]
                for engine in engines
            )
            parity.add(name, old, new)
    return parity


def queries(work: Workplace, catalog: Catalog, agent: str) -> dict[str, str]:
    """What to ask of an agent's index, by the id of the memory whose words it is."""
    shelf = work.shelf(agent)
    often = most_recalled(work.paths, agent) if work.rules.recall_log else ()
    memories = work.ask(catalog, shelf, lambda: watched(shelf, catalog, often))
    short = [(entry.id, entry.memory) for entry in every_short(shelf, catalog)]
    kept = shelf.read(catalog.find(agent, list(_sample(catalog, agent))))
    sample = [(one.id, one.memory) for one in kept]
    for name, memory in [*sample, *short[:: max(1, len(short) // QUERIES_MAX)]]:
        if len(memories) < QUERIES_MAX:
            memories.setdefault(name, memory)
    texts = {name: memory.searchable.split()[:WORDS_MAX] for name, memory in memories.items()}
    return {name: " ".join(words) for name, words in texts.items() if words}


def _sample(catalog: Catalog, agent: str) -> Iterator[str]:
    """Ids from all over long-term and the archives, of what should have a vector."""
    cursors, spared = IndexCursors(catalog, agent, ""), vectorless(catalog, agent)
    for tier in TIERS:
        step = max(1, (sum(1 for _ in cursors.ids(tier)) - len(spared)) // QUERIES_MAX)
        due = (name for name in cursors.ids(tier) if name not in spared)
        yield from islice(due, 0, None, step)
