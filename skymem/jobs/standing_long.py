"""The active memories of an agent's long-term, read for what may become one (rows N8, P15)."""

from collections.abc import Iterable, Sequence

from skymem.jobs.sight import Sight
from skymem.policy.merge import MergeItem
from skymem.policy.share import shared_from
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection
from skymem.stores.vectorless import vectorless


class StandingLong:
    """What is active, pinned or brought back of late, at the moment of a plan."""

    def __init__(self, sight: Sight) -> None:
        """Look at what a plan sees.

        Raises:
            ProtectionDamagedError, DiskError: what it goes by can't be read.
        """
        kinds = sight.work.rules.kinds
        self._sight = sight
        self.life = Lifecycle(sight.catalog, sight.agent, kinds)
        self.standings = sight.standings()
        self._protection = read_protection(sight.shelf.paths.protected)
        self._protection.forget((), sight.work.now() - sight.work.rules.restore_grace_seconds)

    def may_stand_again(self, ids: Iterable[str]) -> set[str]:
        """Those of some ids that are superseded by what long-term and archives do not have.

        Where it is a line of short-term that goes, or ends, they are active as they were. All else
        that is superseded comes back only as long-term is written anew.
        """
        chains = self.standings.chains
        over = {name for name in ids if name in chains}
        return over - vectorless(self._sight.catalog, self._sight.agent) if over else set()

    def read(self, ids: Sequence[str]) -> dict[str, MergeItem]:
        """Those of long-term that are active and the agent's own.

        Another agent's memory is not made part of its receiver's: it may be withdrawn.
        """
        found: dict[str, MergeItem] = {}
        for kept in self._sight.shelf.read(self._sight.catalog.find(self._sight.agent, ids)):
            own = shared_from(kept.memory) is None
            if kept.tier == "long" and own and self.standings.let(kept.id, kept.memory):
                pinned = self._protection.is_pinned(kept.id, kept.memory)
                restored = self._protection.restored.get(kept.id)
                gate = restored.gate if restored is not None else ""
                found[kept.id] = MergeItem(
                    kept.id, kept.memory, "long", pinned=pinned, restored=gate
                )
        return found
