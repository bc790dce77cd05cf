"""Removing memories: each goes to trash with its reason, whatever its tier (promise 5)."""

from collections.abc import Iterable

from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.model.identity import DIGEST_BYTES
from skymem.model.memory import Memory
from skymem.model.plan import Decision, Reason
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.tiers import tier_of
from skymem.stores.trash import Held


def repeats(sight: Sight, leaving: Iterable[Decision]) -> list[Decision]:
    """Decide the lines that repeat, in long-term or archives, what leaves for trash from there."""
    names = [one.id for one in leaving if one.action == "trash" and one.file]
    whole = sight.catalog.find(sight.agent, names)
    reason = Reason("already_in", note="trash")
    return [
        Decision("repeat", name, -1, one.start, one.end, reason, one.file)
        for name, one in sight.catalog.repeats(sight.agent, names)
        if one.digest == whole[name].digest
    ]


def apply(carrying: Carrying) -> str:
    """Write what leaves to the run's trash file, then take it out of its places."""
    shelf = carrying.shelf
    life = Lifecycle(carrying.catalog, shelf.paths.name, carrying.work.rules.kinds)

    def spell(raw: bytes, _memory: Memory, decision: Decision) -> bytes:
        file = decision.file or shelf.paths.short_term.name
        held = Held(
            id=decision.id,
            tier=tier_of(decision.file) if decision.file else "short",
            file=file,
            run=carrying.run,
            trashed_at=carrying.now,
            reason=decision.reason,
            after=_before(carrying, life, decision),
            line=raw.strip(b"\n"),
        )
        return held.envelope()

    return carrying.carry_out(spell, lambda lines: shelf.trash.keep(carrying.run, lines))


def _before(carrying: Carrying, life: Lifecycle, decision: Decision) -> str | None:
    """The id of the memory that stands before it in its file: there it is put back."""
    if decision.file:
        return life.before(decision.file, decision.start)
    if decision.line <= 0:
        return None
    reading = carrying.reading
    at = (decision.line - 1) * DIGEST_BYTES
    own = reading.digests[at : at + DIGEST_BYTES].hex()
    return reading.named.get(own, own)
