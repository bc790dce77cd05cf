"""What a job sees of one agent when it plans: the first half of every job reads this alone."""

from collections.abc import Iterator
from dataclasses import dataclass

from skymem.jobs.workplace import Workplace
from skymem.model.plan import Damage, Entry, Plan
from skymem.policy.promote import quarantine
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.standings import Standings


@dataclass(frozen=True, slots=True)
class Sight:
    """One agent's tiers as they are now; nothing of it is changed by planning."""

    work: Workplace
    shelf: Shelf
    catalog: Catalog
    """Caught up with long-term, archives and trash."""

    reading: Reading
    """One pass over short-term; every plan exhausts it."""

    @property
    def agent(self) -> str:
        """Whose tiers."""
        return self.shelf.paths.name

    @property
    def now_us(self) -> int:
        """The time, microseconds since the epoch."""
        return round(self.work.now() * 1_000_000)

    def entries_for(self, plan: Plan) -> Iterator[Entry]:
        """Yield the lines of short-term; a plan counts them, and sets aside what can't be read."""
        for entry in self.reading.entries():
            if isinstance(entry, Damage):
                plan.decisions.append(quarantine(entry))
            else:
                plan.lines += 1
                yield entry

    def standings(self) -> Standings:
        """Which of its memories are active now."""
        return self.work.standings(self.shelf, self.catalog)
