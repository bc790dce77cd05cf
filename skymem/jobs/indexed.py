"""What one run of the index job did about one agent (row R8)."""

from dataclasses import dataclass, field
from typing import Any

from skymem.model.plan import Plan


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
