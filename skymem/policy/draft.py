"""A record while it is written: what it says already, and what is new (rows R9, R10, R12).

A statement is a repeat when it says the same in the same list, word for word but for articles,
case and punctuation. Likeness alone is none: "prefers dark mode" is much like "prefers light mode".
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from skymem.model.marks import inherited
from skymem.model.memory import Memory
from skymem.model.plan import Addition
from skymem.model.records import (
    Profile,
    ProjectRecord,
    Record,
    RecordLine,
    Statement,
    record_line,
    sections,
)
from skymem.model.rules import RetentionRules
from skymem.policy.faithful import signature
from skymem.policy.importance import worth
from skymem.policy.living import Part, Place, RecordKey
from skymem.policy.summary import (
    LEAD_CHARACTERS,
    Source,
    SourceGroup,
    Summarize,
    checked,
    extract,
    extractive,
)

Likeness = Callable[[Sequence[str]], Iterable[tuple[int, int]]]
"""Pairs of texts that are alike, by their places among what is given: at most `ALIKE_MAX`."""

ALIKE_MAX: Final = 2000
"""Texts compared with each other at once."""

FRAME_BYTES: Final = 4096
"""What a record's line has beside its statements and evidence."""

STATEMENT_BYTES: Final = 120
"""What a statement has beside its text, which stands in it twice, and its source."""


class Item(NamedTuple):
    """A memory that gives a statement."""

    id: str
    memory: Memory
    place: Place


class Draft:
    """The next record of one user, or of one project."""

    def __init__(
        self,
        key: RecordKey,
        parts: Sequence[Part],
        lapsed: Collection[str] = frozenset(),
        *,
        rules: RetentionRules,
    ) -> None:
        """Take up what the active records say, but for what holds no more.

        Args:
            key: whose record it is.
            parts: the active records it replaces, oldest first.
            lapsed: ids of memories that hold no more.
            rules: the home's; its line becomes no longer than they allow.
        """
        self._kinds = rules.kinds
        self._bytes_max = rules.line_bytes_max
        self._key = key
        self._parts = parts
        self._name = ""
        self._lists: dict[str, list[Statement]] = {}
        self._said: dict[str, set[tuple[str, ...]]] = {}
        self._evidence: dict[str, None] = {}
        self._changed = len(parts) > 1
        self._items: list[Item] = []
        self._bases: list[Memory] = []
        """What else it rests on: of that somebody else says what it states."""

        self._bytes = FRAME_BYTES + sum(map(_text_bytes, key.fields().values()))
        for part in parts:
            self._take_over(part, lapsed)
        if (
            not self._evidence
        ):  # all that it said holds no more: that, too, has to rest on something
            self._evidence = dict.fromkeys(
                name for part in parts for name in part.memory.evidence_ids
            )

    def _take_over(self, part: Part, lapsed: Collection[str]) -> None:
        if isinstance(part.record, ProjectRecord):
            self._name = self._name or part.record.name
            self._bytes += 4 * _text_bytes(part.record.name)
        for section, found in sections(part.record):
            for statement in found:
                if statement.source in lapsed:
                    self._changed = True
                elif _is_new(self._said, section, statement.text):
                    self._lists.setdefault(section, []).append(statement)
                    self._bytes += _statement_bytes(statement)
        for name in part.memory.evidence_ids:
            if name not in lapsed and name not in self._evidence:
                self._evidence[name] = None
                self._bytes += _text_bytes(name)

    def add(self, item: Item) -> bool:
        """Take a memory in; False when the record's line would grow too long."""
        if item.id in self._evidence:
            return True
        statement = extract(Source(item.id, item.memory.content, item.memory.time_us))
        size = _text_bytes(item.id) + (0 if self._name else 4 * _text_bytes(item.place.name))
        size += 0 if statement is None else _statement_bytes(statement)
        if self._bytes + size > self._bytes_max:
            return False
        self._bytes += size
        self._evidence[item.id] = None
        self._items.append(item)
        self._name = self._name or item.place.name
        return True

    def rest_on(self, name: str, memory: Memory) -> bool:
        """Rest on a memory of which `state` says something; False when there is no room."""
        self._bases.append(memory)
        if name not in self._evidence:
            self._evidence[name] = None
            self._bytes += _text_bytes(name)
            self._changed = True
        return self._bytes <= self._bytes_max

    def state(self, section: str, statement: Statement) -> bool:
        """Say something of what it rests on, unless it is said; False when there is no room."""
        if _is_new(self._said, section, statement.text):
            self._lists.setdefault(section, []).append(statement)
            self._bytes += _statement_bytes(statement)
            self._changed = True
        return self._bytes <= self._bytes_max

    def finish(
        self, now_us: int, summarize: Summarize, likeness: Likeness, withheld: dict[str, int]
    ) -> Addition | None:
        """Write the record; None when there is nothing to write.

        Args:
            now_us: its time.
            summarize: makes statements of new memories.
            likeness: pairs of texts that are alike.
            withheld: counts what the check kept out, by fault.
        """
        if not self._items and not self._changed:
            return None
        groups = list(self._groups(likeness))
        made = self._line(groups, summarize, now_us, withheld)
        if len(made.line) > self._bytes_max:  # quotations alone are known to fit
            made = self._line(groups, extractive, now_us, withheld)
        replaced = tuple(part.id for part in self._parts)
        return Addition(self._key.what, made.id, made.line, tuple(self._evidence), replaced)

    def _line(
        self,
        groups: Sequence[SourceGroup],
        summarize: Summarize,
        now_us: int,
        withheld: dict[str, int],
    ) -> RecordLine:
        lists = {section: list(said) for section, said in self._lists.items()}
        said = {section: set(marks) for section, marks in self._said.items()}
        for group in groups:
            made = checked(group, summarize)
            for reason, number in made.withheld.items():
                withheld[reason] = withheld.get(reason, 0) + number
            found = lists.setdefault(group.section, [])
            found += [one for one in made.statements if _is_new(said, group.section, one.text)]
        return record_line(
            self._record(lists),
            now_us=now_us,
            evidence_ids=tuple(self._evidence),
            supersedes=[part.id for part in self._parts],
            fields=self._fields(),
        )

    def _groups(self, likeness: Likeness) -> Iterator[SourceGroup]:
        """Give the new memories of each list that say something new, alike ones together."""
        fresh: dict[str, list[Source]] = {}
        known = {section: set(marks) for section, marks in self._said.items()}
        for item in self._items:
            section = item.place.section
            source = Source(item.id, item.memory.content, item.memory.time_us)
            statement = extract(source)
            if statement is not None and _is_new(known, section, statement.text):
                fresh.setdefault(section, []).append(source)
        for section in sorted(fresh):
            sources = _clustered(fresh[section], likeness)
            yield SourceGroup(
                self._key.what, self._name, section, tuple(sources), self._key.sensitive
            )

    def _record(self, lists: Mapping[str, Sequence[Statement]]) -> Record:
        found = {name: tuple(said) for name, said in lists.items()}
        if self._key.project:
            return ProjectRecord(self._name, **found)
        return Profile(**found)

    def _fields(self) -> dict[str, Any]:
        memories = [part.memory for part in self._parts]
        memories += [item.memory for item in self._items] + self._bases
        importance = max(worth(memory, self._kinds).importance for memory in memories)
        return {"importance": importance, **inherited(memories), **self._key.fields()}


def _is_new(said: dict[str, set[tuple[str, ...]]], section: str, text: str) -> bool:
    """Whether a list does not say it yet; from now on it does."""
    marks = said.setdefault(section, set())
    mark = signature(text)
    if mark in marks:
        return False
    marks.add(mark)
    return True


def _clustered(sources: Sequence[Source], likeness: Likeness) -> list[Source]:
    """Put alike ones together; a cluster stands where the first of it stood."""
    leaders = list(range(len(sources)))

    def leader(place: int) -> int:
        while leaders[place] != place:
            leaders[place] = leaders[leaders[place]]
            place = leaders[place]
        return place

    for first in range(0, len(sources), ALIKE_MAX):
        some = sources[first : first + ALIKE_MAX]
        texts = [source.content[:LEAD_CHARACTERS] for source in some]
        for one, other in likeness(texts) if len(some) > 2 else ():
            low, high = sorted((leader(first + one), leader(first + other)))
            leaders[high] = low
    order = sorted(range(len(sources)), key=lambda place: (leader(place), place))
    return [sources[place] for place in order]


def _statement_bytes(statement: Statement) -> int:
    text = 2 * (_text_bytes(statement.text) + statement.text.count("\n"))
    return text + _text_bytes(statement.source) + STATEMENT_BYTES


def _text_bytes(text: str) -> int:
    return len(json.dumps(text)) + 2
