"""What one run of the index job does about one agent: the lots it goes in, the result (row R8)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from skymem.engine.items import Item
from skymem.jobs.agent_by_agent import AgentResult

BATCH_TEXT_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class Indexed(AgentResult):
    """What one run did about one agent's index."""

    job: str = "index"
    eligible: int = 0
    """Memories the index may not have had."""

    embedded: int = 0
    chunks: int = 0
    """Pieces of text that were encoded; the cache had the others."""

    pending: int = 0
    owed: bool = True
    """Whether the catalog knows of anything the index lacks."""

    indexed: int | None = None
    taken_out: int = 0
    """Memories that stood on no line any more."""

    let_go: int = 0
    """Memories that had a vector until something took their place."""

    def counts(self) -> dict[str, Any]:
        """How much it lacked, what was done about that, and how much it has now."""
        return {
            "eligible": self.eligible,
            "acted": self.embedded,
            "embedded": self.embedded,
            "chunks": self.chunks,
            "pending": self.pending,
            "indexed": self.indexed,
            "taken_out": self.taken_out,
            "let_go": self.let_go,
        }


def batches(items: Iterator[Item], most: int) -> Iterator[list[Item]]:
    """Take memories in lots: of so many at most, and of so much text."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.text)
        if len(batch) >= most or size >= BATCH_TEXT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
