"""Promote: what is worth it goes from short-term to long-term (rows P6, M2, M5)."""

from collections.abc import Iterable, Iterator
from typing import Final

from skymem.jobs.calibrating import calibration_of
from skymem.jobs.echoing import Echoing
from skymem.jobs.knowing import known_of, now_of
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
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
    plan = plan_promote(
        echoing.watched(sight.reading.entries()),
        sight.agent,
        own,
        rules.kinds,
        caution=rules.trust,
        echo_of=echoing.of,
        known_of=known_of(sight),
        earner=calibration.note,
        now_us=now_of(sight.work, own),
    )
    calibration.hold_back(plan)
    return plan


def apply(carrying: Carrying) -> str:
    """Append the promoted lines to long-term, then take them out of short-term."""
    promoted_at = int(carrying.now)

    def spell(raw: bytes, memory: Memory, decision: Decision) -> bytes:
        return promoted(raw, memory, decision.id, promoted_at)

    def store(lines: Iterator[bytes]) -> None:
        shelf = carrying.shelf
        for block in _blocks(lines):
            shelf.files.append(shelf.paths.long_term, block)

    return carrying.carry_out(spell, store)


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
