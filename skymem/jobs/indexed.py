"""What one run of the index job does about one agent: the lots it goes in, the result (row R8)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.engine.items import Item
from skymem.model.plan import Plan

BATCH_TEXT_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class Indexed:
    """What one run did about one agent's index."""

    agent: str
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

    job: str = "index"
    error: str = ""
    exit_code: int = 0
    plans: list[Plan] = field(default_factory=list)
    """None: what is owed is counted, not listed."""

    def to_json(self) -> dict[str, Any]:
        """The detail of this agent alone."""
        detail: dict[str, Any] = {
            "ok": not self.error,
            "eligible": self.eligible,
            "acted": self.embedded,
            "embedded": self.embedded,
            "chunks": self.chunks,
            "pending": self.pending,
            "indexed": self.indexed,
            "taken_out": self.taken_out,
            "let_go": self.let_go,
        }
        if self.error:
            detail["error"] = self.error
        return detail


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
