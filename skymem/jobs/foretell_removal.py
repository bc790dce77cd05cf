"""What prune decides about one memory, now and at any later moment (row X1).

The policy itself is asked, with the memory and all that it supersedes in view: without those it
does not go. The rest has no say in it, but for the size of the archives.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from skymem.model.memory import Memory
from skymem.model.plan import STAYING, Entry, Plan, Reason, Stored
from skymem.model.rules import RetentionRules
from skymem.policy.archives import ended_us
from skymem.policy.due import Due, archive_age, asked_for, due, microseconds
from skymem.policy.prospects import Gate
from skymem.policy.prune import PruneView, plan_prune


class Answer(NamedTuple):
    """What the plan that a job makes now decides about the memory."""

    reason: Reason | None
    unfinished: bool = False
    """Whether later rounds of the run decide about more."""

    stopped: bool = False
    """Whether the run would stop whole, over its loss budget."""


class Chain(NamedTuple):
    """A memory and all that it supersedes, as far as they are there."""

    name: str
    short: Mapping[str, Entry]
    """By id, those in short-term."""

    stored: Mapping[str, Stored]
    """By id, those in long-term and archives."""

    memories: Mapping[str, Memory]
    """Of those, by id, what their lines say."""


def decided(plan: Plan, name: str) -> Reason | None:
    """Say why a plan moves or removes a memory, or None when it leaves it where it is."""
    moving = (one for one in plan.decisions if one.action not in STAYING)
    return next((one.reason for one in moving if one.id == name), None)


def below(name: str, superseded: Mapping[str, tuple[str, int | None]]) -> set[str]:
    """Name a memory, and all that it supersedes."""
    under: dict[str, list[str]] = {}
    for target, (by, _) in superseded.items():
        under.setdefault(by, []).append(target)
    found, waiting = {name}, [name]
    while waiting:
        more = [one for one in under.get(waiting.pop(), ()) if one not in found]
        found.update(more)
        waiting += more
    return found


class Removal:
    """One memory, before prune."""

    def __init__(
        self, view: PruneView, rules: RetentionRules, agent: str, chain: Chain, *, now_us: int
    ) -> None:
        """Take up what a prune of the agent goes by; of the memories themselves, only a chain."""
        self._view, self._rules, self._agent = view, rules, agent
        self._chain, self._name, self._now_us = chain, chain.name, now_us
        self._grace_us = microseconds(rules.restore_grace_seconds)

    def gates(self, answer: Answer) -> Iterator[Gate]:
        """Give the gates before it, in the order they are asked; `answer` is of its plan now."""
        for one in self._dues(self._name):
            value, threshold, note = one.reason(self._now_us)[1:]
            is_open, opens, kept = self._removal(one, answer)
            yield Gate(one.gate, "prune", value, threshold, is_open, opens, note, kept)
        limit = self._rules.prune.archive_bytes_max
        stored = self._chain.stored.get(self._name)
        is_archived = stored is not None and stored.tier == "archive"
        if limit is not None and limit > 0 and is_archived:
            size = sum(file.bytes for file in self._view.archives)
            is_open = answer.reason is not None and answer.reason.gate == "archive_size"
            note = "bytes of all archives, oldest first"
            yield Gate("archive_size", "prune", size, limit, is_open, None, note)

    def _dues(self, name: str) -> list[Due]:
        """The gates of prune that it comes to by its age, in the order they are asked."""
        rules, superseded = self._rules.prune, self._view.superseded.get(name)
        entry, memory = self._chain.short.get(name), self._chain.memories.get(name)
        if entry is not None:
            return asked_for(entry.memory, superseded, rules)
        if memory is None:
            return []
        found = due(memory, superseded, rules, self._rules.kinds)
        return [*found, *self._with_its_archive(self._chain.stored[name], memory)]

    def _with_its_archive(self, one: Stored, memory: Memory) -> Iterator[Due]:
        older = self._rules.prune.archive_older_than_seconds
        for file in self._view.archives if older is not None and older > 0 else ():
            ended = ended_us(file, self._now_us) if file.name == one.file else None
            if ended is not None and older is not None:
                yield archive_age(ended, memory, older)

    def _removal(self, one: Due, answer: Answer) -> tuple[bool, int | None, str]:
        """Whether prune takes it by a gate; from when on, None when it doesn't; what keeps it."""
        if answer.reason is not None and answer.reason.gate == one.gate:
            return True, one.at_us, ""
        until = self._exempt_until(self._name)
        at_us = max(one.at_us, until, self._now_us)
        found = self._removed(at_us)
        kept = "restored" if one.at_us <= self._now_us < until else ""
        if found == "supersedes":
            kept = kept or found
            later = (time for time in self._times() if time > at_us)
            at_us, found = next(
                ((time, why) for time in later if isinstance(why := self._removed(time), Reason)),
                (at_us, found),
            )
        if not isinstance(found, Reason):
            return False, None, found
        if found.gate != one.gate:
            return False, None, found.gate
        if at_us > self._now_us:
            return False, at_us, kept
        if answer.unfinished:  # a later round of the run takes it
            return True, one.at_us, ""
        return False, None, "loss_budget" if answer.stopped else kept

    def _exempt_until(self, name: str) -> int:
        """Until when prune leaves one alone, whatever rule had moved it; 0 when it doesn't."""
        back = self._view.restored.get(name)
        return 0 if back is None else back[1] + self._grace_us

    def _times(self) -> list[int]:
        """When the memory, or one that it supersedes, comes to a gate."""
        return sorted(
            {
                max(one.at_us, self._exempt_until(name))
                for name in (*self._chain.short, *self._chain.stored)
                for one in self._dues(name)
            }
        )

    def _removed(self, at_us: int) -> Reason | str:
        """Say why prune removes it at a moment, or the gate that keeps it."""
        chain = self._chain
        reason = decided(self._pruned(at_us, {*chain.short, *chain.stored}), self._name)
        if reason is not None:
            return reason
        alone = self._pruned(at_us, {self._name})
        return "supersedes" if decided(alone, self._name) else next(iter(alone.kept), "")

    def _pruned(self, at_us: int, names: Collection[str]) -> Plan:
        """Have these pruned as if nothing else were there; by size nothing is, as that depends."""
        memories = self._chain.memories
        stored = [one for name, one in self._chain.stored.items() if name in names]
        view = replace(
            self._view,
            read=lambda some: {one.id: memories[one.id] for one in some if one.id in memories},
            short=[entry for name, entry in self._chain.short.items() if name in names],
            stored=stored,
            archive_lines=lambda file: [one for one in stored if one.file == file],
        )
        rules = self._rules.prune._replace(archive_bytes_max=None)
        return plan_prune(view, self._agent, rules, now_us=at_us, grace_us=self._grace_us)
