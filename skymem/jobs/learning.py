"""Reads an agent's history as lessons about what its memories turned out to be worth (row P12).

Reads as any reader does: no lock is held, and nothing is changed. Of very many memories the newest
teach.
"""

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

from skymem.engine.items import ALIKE_CHARACTERS
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.strict_json import LineDamage
from skymem.policy.alike import word_key
from skymem.policy.features import VERSION, features
from skymem.policy.importance import expected
from skymem.policy.teaching import Lesson, Past, Rater, Voice, is_own, voices, weighed
from skymem.policy.trust import trust_of
from skymem.stores.catalog import Catalog
from skymem.stores.history import job_of
from skymem.stores.naming import Naming
from skymem.stores.recall_events import events_of
from skymem.stores.shelf import Shelf, tier_entries
from skymem.stores.tiers import tier_files

LESSONS_MAX: Final = 20_000
"""Bounds memory and time; so many say all there is to say about a few thousand features."""

STORED: Final = ("long", "archive")


class Found(NamedTuple):
    """A memory that may teach, in the order of its time."""

    time_us: int
    id: str
    tier: str
    memory: Memory


@dataclass(slots=True)
class Taught:
    """What a history teaches."""

    rater: Rater
    memories: int = 0
    """Of the agent's own that were looked at."""

    answers: int = 0
    """Answers of recall that are on record."""

    lessons: list[Lesson] = field(default_factory=list)
    """In the order of their time."""

    texts: list[str] = field(default_factory=list, repr=False)
    """Of each lesson, as far as a vector stands for it."""

    voices: Counter[str] = field(default_factory=Counter)
    """How many memories each sort of voice speaks of."""

    @property
    def inputs(self) -> str:
        """Hash of all that is learned from."""
        found = sha256(repr(VERSION).encode())
        for one in self.lessons:
            found.update(repr(one).encode("utf-8", "replace"))
        return found.hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Count it."""
        return {
            "memories": self.memories,
            "answers": self.answers,
            "lessons": len(self.lessons),
            "by": dict(sorted(self.voices.items())),
            "given": self.rater._asdict(),
        }


def taught_by(work: Workplace, shelf: Shelf, catalog: Catalog) -> Taught:
    """Read what an agent's history teaches up to now; `catalog` is caught up.

    Raises:
        DiskError: what is to be read can't be.
    """
    now_us = round(work.now() * 1_000_000)
    every = (one for one in memories_of(shelf, catalog) if one.time_us <= now_us)
    newest: dict[str, Found] = {}
    for one in heapq.nlargest(LESSONS_MAX, every, key=lambda one: (one.time_us, one.id)):
        newest.setdefault(one.id, one)
    found = sorted(newest.values(), key=lambda one: (one.time_us, one.id))
    given = [one.memory.importance for one in found if one.memory.importance is not None]
    taught = Taught(Rater.of(given), len(found))
    pasts = _pasts(work, shelf.paths.name, {one.id: one for one in found}, taught)
    _teach(work, found, pasts, taught)
    return taught


def _teach(work: Workplace, found: list[Found], pasts: Mapping[str, Past], taught: Taught) -> None:
    rules = work.rules
    copies = Counter(word_key(one.memory.content) for one in found)
    stored: Counter[bytes] = Counter()
    for one in found:
        memory, words = one.memory, word_key(one.memory.content)
        said: list[Voice] = voices(
            pasts.get(one.id, Past()),
            memory.importance if taught.rater.teaches else None,
            trust_of(memory, rules.trust),
        )
        weight = weighed(said, copies[words])
        repeats = stored[words]
        stored[words] += one.tier in STORED
        if weight is None:
            continue
        taught.voices.update(voice.what for voice in said)
        seen = tuple((each.key, round(each.value, 6)) for each in features(memory, repeats))
        guide = expected(memory.kind, rules.kinds).importance
        taught.lessons.append(Lesson(one.id, one.time_us, *weight, guide, seen))
        taught.texts.append(memory.searchable[:ALIKE_CHARACTERS])


# -- what there is -------------------------------------------------------------------------------


def memories_of(shelf: Shelf, catalog: Catalog) -> Iterator[Found]:
    """The agent's own memories with a time, in every tier; of one in two, where it lives."""
    naming = Naming(shelf.paths.name, catalog)
    for entry in shelf.short_entries():
        if isinstance(entry, Entry):
            naming.name([entry])
            if not entry.elsewhere:
                yield from _own(entry.id, "short", entry.memory)
    for name, path in tier_files(shelf.paths):
        tier = "long" if name == shelf.paths.long_term.name else "archive"
        for entry in tier_entries(path, shelf.guard.clean):
            own = entry.memory.source_id or entry.digest.hex()
            yield from _own(own, tier, entry.memory)
    for held in shelf.trash.all():
        try:
            yield from _own(held.id, "trash", held.memory)
        except LineDamage:  # a hand has broken it
            continue


def _own(name: str, tier: str, memory: Memory) -> Iterator[Found]:
    if memory.time_us is not None and is_own(memory):
        yield Found(memory.time_us, name, tier, memory)


# -- what became of it ---------------------------------------------------------------------------


def _pasts(
    work: Workplace, agent: str, found: Mapping[str, Found], taught: Taught
) -> dict[str, Past]:
    pasts: dict[str, Past] = {name: Past() for name in found}
    came = {name: one.time_us / 1_000_000 for name, one in found.items()}
    for _, entry in work.ledger().read_from(0):
        if entry.get("agent") == agent:
            _of_entry(entry, pasts, came)
    _of_recall(work, agent, pasts, came, taught)
    return pasts


def _of_entry(entry: Mapping[str, Any], pasts: dict[str, Past], came: dict[str, float]) -> None:
    match entry["op"]:
        case "adopt" | "remember":  # silence counts from when it was there to be found
            here = came.keys() & {*entry["ids"]}
            came.update((name, max(came[name], float(entry["ts"]))) for name in here)
        case "pin" | "unpin" as what:
            for name in pasts.keys() & {*entry["ids"]}:
                pasts[name].kept = what == "pin"
        case "decide":
            _of_decisions(entry, pasts)
        case "add":
            corrected = (one[3] for one in entry["added"] if one[0] == "correction")
            _judge(pasts, [name for names in corrected for name in names], kept=True)
        case _:  # what jobs do by their rules is no judgement of anybody's
            pass


def _of_decisions(entry: Mapping[str, Any], pasts: dict[str, Past]) -> None:
    job = job_of(entry["run"])
    for action, name, gate, _, _, note, *_ in entry["decided"]:
        if job == "forget" and action == "trash" and gate == "by_hand":
            _judge(pasts, [name], kept=False)
        elif action == "restore" or (action == "undo" and gate != "importance"):
            _judge(pasts, [name], kept=True)
        elif action == "undo" and job_of(note) == "promote":
            _judge(pasts, [name], kept=False)


def _judge(pasts: dict[str, Past], names: list[str], *, kept: bool) -> None:
    """Take in what a person said; whoever changes their mind means it."""
    for name in names:
        if name in pasts:
            pasts[name].kept, pasts[name].refused = kept, not kept


def _of_recall(
    work: Workplace,
    agent: str,
    pasts: dict[str, Past],
    came: Mapping[str, float],
    taught: Taught,
) -> None:
    if not work.rules.recall_log:
        return
    asked: set[tuple[float, str]] = set()
    by: dict[str, set[str]] = {}
    for event in events_of(work.paths, agent):
        if event.at <= work.now():
            asked.add((event.at, event.query))
            if event.id in pasts:
                by.setdefault(event.id, set()).add(event.query)
    times = sorted(at for at, _ in asked)
    taught.answers = len(times)
    for name, past in pasts.items():
        past.questions = len(by.get(name, ()))
        past.answers = len(times) - bisect_left(times, came[name])
