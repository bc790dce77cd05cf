"""Correct: a new memory in long-term supersedes what was wrong, and its near-copies (design §3).

The old line stays as it is, readable as history; no reader returns it any more.
"""

from collections.abc import Iterator
from typing import Any

from skymem.errors import InvalidMemoryError, UsageError
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.identity import derived_id, digest
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Plan
from skymem.model.spelling import compose
from skymem.policy.alike import copy_key, word_key
from skymem.policy.importance import worth
from skymem.policy.trust import given, most, trust_of
from skymem.stores.lifecycle import Lifecycle

SCOPE = ("scope", "user_id", "session", "tenant")
USER = "user"
WHOSE = ("scope", "user_id", "tenant")


def correct(name: str, wrong: Memory, text: str, origin: str = USER) -> Job:
    """The job that puts `text` in the place of one memory; `origin` says who corrects it."""
    return Job(lambda sight: plan(sight, name, wrong, text, origin), apply)


def plan(sight: Sight, name: str, wrong: Memory, text: str, origin: str = USER) -> Plan:
    """Make the correction, and find everything it corrects.

    A person's is believed as a person is. Whoever else corrects is believed no more than the
    memory was: a text must not gain trust by being said again (row X11).

    Raises:
        InvalidMemoryError: it says what was there already, or nothing.
        UsageError: something has taken the memory's place; it is named.
    """
    if not text.strip():
        raise InvalidMemoryError("a correction has no text; to remove a memory: skymem forget ID")
    if text == wrong.content:
        raise InvalidMemoryError("the correction is what the memory says already")
    chains = sight.standings().chains
    if name in chains:  # two corrections of one memory would both hold
        raise UsageError(
            f"{name} was superseded; correct what stands in its place: {chains.head(name)}"
        )
    found = Plan("correct", sight.agent)
    copies = {name, *_copies(sight, found, wrong)}
    fields = _fields(sight, wrong, text, origin)
    fields["supersedes"] = sorted(copies)
    fields, found.redacted = sight.shelf.guard.fields(fields)
    own = derived_id(digest(Memory(fields)))
    line = compose({**fields, "id": own})
    found.additions.append(Addition("correction", own, line, supersedes=tuple(sorted(copies))))
    return found


def apply(carrying: Carrying) -> str:
    """Append the correction to long-term."""
    return carrying.carry_out(lambda raw, _memory, _decision: raw, lambda _lines: None)


def _copies(sight: Sight, found: Plan, wrong: Memory) -> Iterator[str]:
    """The memories whose text is the wrong one's (`copy_key`), in every tier.

    None that names another user, tenant or scope: what is wrong of one may be right of another.
    """
    said = copy_key(wrong.content)
    for entry in sight.entries_for(found):
        if _is_copy(entry.memory, said, wrong):
            yield entry.id
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    same = [stored.id for stored in life.same_words(word_key(wrong.content))]
    for kept in sight.shelf.read(sight.catalog.find(sight.agent, same)):
        if _is_copy(kept.memory, said, wrong):
            yield kept.id


def _is_copy(memory: Memory, said: str, wrong: Memory) -> bool:
    same = bool(memory.content) and copy_key(memory.content) == said
    return same and not _is_anothers(memory, wrong)


def _is_anothers(memory: Memory, wrong: Memory) -> bool:
    ours, theirs = wrong.scope, memory.scope
    return any(key in ours and theirs.get(key, ours[key]) != ours[key] for key in WHOSE)


def _fields(sight: Sight, wrong: Memory, text: str, origin: str) -> dict[str, Any]:
    """The new memory's fields: of the old one, all that is not about its text or its life."""
    now = sight.work.now()
    fields: dict[str, Any] = {"ts": now, "type": "long", "content": text}
    if wrong.tags:
        fields["tags"] = list(wrong.tags)
    fields["importance"] = worth(wrong, sight.work.rules.kinds).importance
    fields |= {"kind": wrong.kind} if wrong.kind else {}
    fields |= {key: wrong.scope[key] for key in SCOPE if key in wrong.scope}
    for key in ("stability", "sensitivity"):
        value = getattr(wrong, key)
        fields |= {key: value} if value else {}
    return {**fields, **_marks(sight, wrong, origin), "promoted_at": int(now)}


def _marks(sight: Sight, wrong: Memory, origin: str) -> dict[str, Any]:
    if origin == USER:
        return {"origin": USER}
    rules = sight.work.rules.trust
    return given(origin, min(most(origin, rules), trust_of(wrong, rules)), rules)
