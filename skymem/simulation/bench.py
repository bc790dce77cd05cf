"""The workplace of a replay: a clock that is set, a catalog in memory, nothing waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from skymem.jobs.workplace import Workplace
from skymem.model.rules import RetentionRules
from skymem.stores.catalog import BUSY_MS, Catalog
from skymem.stores.files import Modes
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey
from skymem.stores.promoted_days import PromotedDays


@dataclass(slots=True)
class Clock:
    """Stands still until it is set."""

    at: float

    def now(self) -> float:
        """The time, epoch seconds."""
        return self.at


@dataclass(slots=True)
class Bench(Workplace):
    """A workplace that keeps one catalog for all of its runs."""

    kept: Catalog = field(default_factory=Catalog.in_memory)
    days: PromotedDays | None = None

    @contextmanager
    def catalog(self, *, busy_ms: int = BUSY_MS) -> Iterator[Catalog]:
        """The one there is; it lives as long as the replay does."""
        del busy_ms
        self.kept.erased = self.graveyard().of
        yield self.kept

    def promoted_days(self) -> PromotedDays:
        """The one there is: it need not read the ledger from its beginning for each run."""
        if self.days is None:
            self.days = super(Bench, self).promoted_days()
        return self.days

    @contextmanager
    def job_lock(self, agent: str, job: str) -> Iterator[None]:
        """Nobody else is here."""
        del agent, job
        yield

    def anew(self) -> "Bench":
        """The same for the next run: what one run leaves behind is not for the next."""
        self.promoted_days()
        return replace(self, batch="", asked=None, grouping=None)


def bench(
    root: Path,
    rules: RetentionRules,
    clock: Clock,
    stop: Callable[[], str],
    key: HomeKey | None = None,
) -> Bench:
    """Make a workplace in an empty directory; its files are for this user alone.

    Lines are hashed under `key`, which no file of it has.
    """
    return Bench(
        HomePaths(root),
        FleetingFiles(Modes()),
        rules._replace(access="private"),
        clock.now,
        lambda: None,
        stop,
        actor="simulation",
        _key=key,
    )
