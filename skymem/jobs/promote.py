"""Promote: what is worth it goes from short-term to long-term (rows P6, M2, M5)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from skymem.jobs.calibrating import calibration_of
from skymem.jobs.duplicating import OnPromotion
from skymem.jobs.echoing import Echoing
from skymem.jobs.knowing import known_of, now_of
from skymem.jobs.meaning import look_ahead
from skymem.jobs.move import Carrying
from skymem.jobs.rotate import archived, new_archive
from skymem.jobs.sight import Sight
from skymem.jobs.standing_long import StandingLong
from skymem.model.memory import Memory
from skymem.model.plan import Decision, Plan
from skymem.model.spelling import promoted
from skymem.policy.promote import plan_promote

BLOCK_BYTES: Final = 8 * 1024 * 1024
"""What is appended to long-term at once; a run cut between two is finished by ids (`recover`)."""


def plan(sight: Sight) -> Plan:
    """Read short-term and decide; changes nothing."""
    rules = sight.work.rules
    own = rules.for_agent(sight.agent)
    echoing = Echoing(sight)
    calibration = calibration_of(sight, own)
    by = Counter[str]()
    found = plan_promote(
        echoing.watched(sight.reading.entries()),
        sight.agent,
        own,
        rules.kinds,
        caution=rules.trust,
        echo_of=echoing.of,
        known_of=known_of(sight, by),
        earner=calibration.note,
        now_us=now_of(sight.work, own),
    )
    found.predicted = dict(by)
    calibration.hold_back(found)
    if rules.merge.duplicates.on_promotion:
        long = StandingLong(sight)
        OnPromotion(sight, long.life, long.read).unite(found, long.standings.chains.superseded_by)
    return found


def foresee(sight: Sight) -> None:
    """Have the engine tell, before the lock is taken, what is to be known of its memories.

    What they mean to the model of their worth, and what is near to what would be promoted.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    look_ahead(sight)
    rules = sight.work.rules.merge.duplicates
    if rules.on_promotion and rules.likeness is not None and sight.work.engine is not None:
        plan(sight)


def apply(carrying: Carrying) -> str:
    """Append the promoted lines to long-term, then take them out of short-term.

    What says the same as another goes to the archive: what stands for it cites it there.
    """
    sorting = _Sorting(carrying)
    return carrying.carry_out(sorting.spell, sorting.store)


class _Sorting:
    """Where each line goes, and how it is spelled there."""

    def __init__(self, carrying: Carrying) -> None:
        self._carrying = carrying
        self._promoted_at = int(carrying.now)
        self._archives = False
        self._aside: list[bytes] = []

    def spell(self, raw: bytes, memory: Memory, decision: Decision) -> bytes:
        """Spell a line as it stands where it goes."""
        self._archives = decision.action == "archive"
        if self._archives:
            return archived(raw, memory, decision)
        return promoted(raw, memory, decision.id, self._promoted_at)

    def store(self, lines: Iterator[bytes]) -> None:
        """Write the lines to long-term, then those that are set aside to an archive."""
        shelf = self._carrying.shelf
        for block in _blocks(self._to_long(lines)):
            shelf.files.append(shelf.paths.long_term, block)
        if self._aside:
            new_archive(shelf, self._aside, self._carrying.now)

    def _to_long(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:  # each is spelled as it is asked for
            if self._archives:
                self._aside.append(line)
            else:
                yield line


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to blocks of at most `BLOCK_BYTES`, or of one line that is longer."""
    block = bytearray()
    for line in lines:
        if block and len(block) + len(line) > BLOCK_BYTES:
            yield bytes(block)
            block.clear()
        block += line
    if block:
        yield bytes(block)
