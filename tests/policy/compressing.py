"""Short-term as compress sees it, and what comes out of it."""

from collections.abc import Sequence
from typing import Any

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Damage, Entry, Plan
from skymem.model.records import (
    record_of,
    sections,
)
from skymem.model.rules import RetentionRules
from skymem.model.spelling import read_line
from skymem.policy.compress import plan_compress
from skymem.policy.living import Living

HOUR = 3600
NOW = 1_700_000_000
NOW_US = NOW * 1_000_000
OLD = NOW - 72 * HOUR
WIDTH = 100
COMPRESSIBLE = {"fact", "preference", "project", "decision", "crumb", "request", "result"}
RULES = RetentionRules()
NOTHING = Living({})


def entry(place: int, **fields: Any) -> Entry:
    memory = Memory({"ts": OLD + place, "content": f"Thing {place} is so.", **fields})
    made = Entry(place * WIDTH, (place + 1) * WIDTH, memory, digest(memory))
    made.id = memory.source_id or made.digest.hex()
    made.line = place
    made.pinned = memory.pinned
    return made


def entries(*items: dict[str, Any]) -> list[Entry | Damage]:
    return [entry(place, **{"id": f"m{place}", **fields}) for place, fields in enumerate(items)]


def compress(
    lines: Sequence[Entry | Damage], records: Living = NOTHING, now_us: int = NOW_US, **more: Any
) -> Plan:
    rules = more.pop("rules", RULES)
    return plan_compress(lines, "sky", rules, now_us=now_us, records=records, **more)


def said(addition: Addition) -> dict[str, list[str]]:
    record = record_of(read_line(addition.line))
    return {name: [one.text for one in found] for name, found in sections(record) if found}


def fates(plan: Plan) -> dict[str, str]:
    return {one.id: f"{one.action} {one.reason.gate} {one.reason.note}" for one in plan.decisions}


def after(plan: Plan, lines: Sequence[Entry | Damage], records: Living) -> tuple[Any, Living]:
    """What short-term and the living records are once a plan is carried out."""
    gone = {decision.start for decision in plan.decisions}
    replaced = {name for one in plan.additions for name in one.supersedes}
    kept = [
        (part.id, part.memory)
        for parts in records.parts.values()
        for part in parts
        if part.id not in replaced
    ]
    kept += [(one.id, read_line(one.line)) for one in plan.additions]
    return [line for line in lines if line.start not in gone], Living.of(kept)
