"""What readers need of a home: its lines, its catalog and word indexes, the time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeVar

from skymem.model.rules import RetentionRules
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Shelf
from skymem.stores.words import WordIndex

Answer = TypeVar("Answer")

READER_BUSY_MS: Final = 1_000
"""How long a reader waits for a catalog that another process writes to, before it does without."""


class Place(Protocol):
    """What recall needs of a job's workplace: the lines, the catalog and the time."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock, epoch seconds."""

    @property
    def rules(self) -> RetentionRules:
        """What is kept; of it, the kinds."""

    @property
    def degraded(self) -> list[str]:
        """What did not work as it should, so far."""

    def shelf(self, agent: str) -> Shelf:
        """The tiers of one agent."""

    def catalog(self, *, busy_ms: int) -> AbstractContextManager[Catalog]:
        """The catalog, or one in memory."""

    def words(self, agent: str, *, busy_ms: int) -> AbstractContextManager[WordIndex]:
        """The agent's word index; an empty one where there is no way to keep one."""

    def ask(self, catalog: Catalog, shelf: Shelf, question: Callable[[], Answer]) -> Answer:
        """Ask the catalog something, once it is caught up."""

    def degrade(self, reason: str) -> None:
        """Note, once, what did not work as it should."""
