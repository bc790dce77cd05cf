"""Which record a memory belongs to, and the records that are there (row R9).

Records of different users, tenants and scopes never mix, and what is sensitive has records of its
own: so one sensitive fact does not keep a whole profile out of contexts, nor get into them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from skymem.errors import InvalidMemoryError
from skymem.model.marks import SENSITIVE
from skymem.model.memory import Memory
from skymem.model.records import PROFILE, PROJECT, ProjectRecord, Record, record_of

PROJECT_TAG: Final = "project:"
DO_NOT_ASSUME: Final = "do_not_assume"

_PROFILE_SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"preference": "preferences", "fact": "stable_facts", "decision": "stable_facts"}
)
_PROJECT_SECTIONS: Final = (
    ("blocker", "blockers"),
    ("next_step", "next_steps"),
    ("next", "next_steps"),
    ("goal", "goals"),
)


class RecordKey(NamedTuple):
    """Whose record it is: there is one of each that is active."""

    project: str = ""
    """A project's name, casefolded; "" is the profile."""

    user_id: str = ""
    tenant: str = ""
    scope: str = ""
    sensitive: bool = False

    @property
    def what(self) -> str:
        """`profile` or `project`."""
        return PROJECT if self.project else PROFILE

    def fields(self) -> dict[str, str]:
        """Spell the scope as fields of a line."""
        named = {"user_id": self.user_id, "tenant": self.tenant, "scope": self.scope}
        return {name: value for name, value in named.items() if value}


class Place(NamedTuple):
    """Where a memory's statement goes."""

    key: RecordKey
    section: str
    name: str
    """The project's name as its tag spells it; "" for the profile."""


class Part(NamedTuple):
    """An active record; several stand side by side where two were written without each other."""

    id: str
    memory: Memory
    record: Record


@dataclass(frozen=True, slots=True)
class Living:
    """The active records of an agent."""

    parts: Mapping[RecordKey, tuple[Part, ...]]
    """In the order of their times."""

    @classmethod
    def of(cls, memories: Iterable[tuple[str, Memory]]) -> "Living":
        """Collect the records among an agent's active memories.

        Args:
            memories: ids and memories, in any order; what is no profile and no project record is
                passed over.
        """
        parts: dict[RecordKey, list[Part]] = {}
        for name, memory in sorted(memories, key=lambda pair: (pair[1].time_us or 0, pair[0])):
            if memory.record_type not in {PROFILE, PROJECT}:
                continue
            try:
                record = record_of(memory)
            except InvalidMemoryError:  # it is left as it is (row R12)
                continue
            project = record.name if isinstance(record, ProjectRecord) else ""
            parts.setdefault(key_of(memory, project), []).append(Part(name, memory, record))
        frozen = {key: tuple(found) for key, found in parts.items()}
        return cls(MappingProxyType(frozen))


def key_of(memory: Memory, project: str = "") -> RecordKey:
    """Say whose record a memory is, or belongs to."""
    scope = memory.scope
    return RecordKey(
        project.strip().casefold(),
        scope.get("user_id", ""),
        scope.get("tenant", ""),
        scope.get("scope", ""),
        memory.sensitivity == SENSITIVE,
    )


def places(memory: Memory) -> list[Place]:
    """Say where a memory's statement goes, by row R9; nowhere when it fits no record."""
    words = {tag.strip().casefold().replace("-", "_") for tag in memory.tags}
    projects = dict(_projects(memory.tags))
    if projects:
        section = _project_section(words, memory.kind)
        return [Place(key_of(memory, name), section, name) for name in projects.values()]
    section = _PROFILE_SECTIONS.get(memory.kind or "", "")
    if not section:
        return []
    return [Place(key_of(memory), DO_NOT_ASSUME if DO_NOT_ASSUME in words else section, "")]


def _projects(tags: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give each project once, however its tags are spelled; the greatest spelling of them."""
    for tag in sorted(tags):
        if tag[: len(PROJECT_TAG)].casefold() == PROJECT_TAG:
            name = tag[len(PROJECT_TAG) :].strip()
            if name:
                yield name.casefold(), name


def _project_section(words: set[str], kind: str | None) -> str:
    for word, section in _PROJECT_SECTIONS:
        if word in words:
            return section
    return "goals" if kind == "project" else "next_steps"
