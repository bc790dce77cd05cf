"""The table of kinds: what sorts of things are remembered, and what is usual for each.

One table unites the types of all source documents (rows R1, M4, M6, N1, P5). Configuration may
change a kind and add others; a kind that is in no table is worth what `UNKNOWN` is. What is usual
is given to a memory by the door that writes it; a line that says nothing of it is taken as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Stability = Literal["volatile", "stable", "permanent"]


class Kind(NamedTuple):
    """One sort of thing."""

    name: str
    meaning: str
    importance: float
    """What a memory is worth whose writer gave no importance, 0 to 1 (row M4)."""

    stability: Stability = "stable"
    """What its door gives it when nobody says (rows N1, N2)."""

    ttl_days: float | None = None
    """Days it is usually good for; None is for good."""

    promote: bool = True
    """Whether the promote job may move it to long-term."""

    compress: bool = False
    """Whether compress may make a profile or a project's record of it (row R9)."""

    merge: bool = False
    """Whether merge may unite it with its like (rows N8, P15)."""

    single: bool = False
    """Whether only the newest of a user counts (row N10)."""

    rows: str = ""


def _built_in() -> dict[str, Kind]:
    kinds = (
        Kind("fact", "Something true about the user or the world.", 0.5,
             compress=True, merge=True, rows="R1"),
        Kind("preference", "What somebody likes, or how they want things done.", 0.6,
             compress=True, merge=True, rows="R1"),
        Kind("project", "A goal or the setting of a project.", 0.5,
             compress=True, merge=True, rows="R1"),
        Kind("decision", "A choice that later actions follow.", 0.8,
             compress=True, merge=True, rows="R1"),
        Kind("crumb", "What was said of late; soon of no use.", 0.1, compress=True, rows="R1"),
        Kind("request", "What somebody asked for.", 0.4, compress=True, rows="R1"),
        Kind("result", "What came of something, with where to find it.", 0.5,
             compress=True, rows="R1"),
        Kind("goal", "What is to be reached.", 0.8, merge=True, rows="P5"),
        Kind("configuration", "How something is set up.", 0.7, merge=True, rows="P5"),
        Kind("action", "Something an agent did.", 0.2, rows="M6"),
        Kind("insight", "A pattern that was found.", 0.7, merge=True, rows="M6"),
        Kind("error", "Something that went wrong.", 0.6, rows="M6"),
        Kind("escalation", "Something that was handed to a person.", 0.9, rows="M6"),
        Kind("user_interaction", "Something a user said or did.", 0.3, rows="M6"),
        Kind("data", "A measurement or a record.", 0.4, rows="M6"),
        Kind("log", "The raw record of a request or an event.", 0.2,
             stability="volatile", ttl_days=30, merge=True, rows="N1"),
        Kind("summary", "What a job or a session came to.", 0.4,
             stability="volatile", ttl_days=7, merge=True, rows="N1"),
        Kind("rule", "Knowledge to follow from now on, with evidence.", 0.8,
             merge=True, rows="N1, N9"),
        Kind("soul", "How the agent thinks: protocol and principles.", 0.8,
             stability="permanent", single=True, rows="N1, N10"),
        Kind("agent", "Who the agent is: name, personality, style.", 0.8,
             stability="permanent", single=True, rows="N1"),
        Kind("user", "Who the user is: name, time zone, interests.", 0.8,
             stability="permanent", single=True, rows="N1, N10"),
    )  # fmt: skip
    return {kind.name: kind for kind in kinds}


UNKNOWN: Final = Kind("", "A kind that is in no table, or none at all.", 0.3, rows="M4")
"""What a memory of no known kind is: a normal action with some context."""


@dataclass(frozen=True, slots=True)
class Kinds(Mapping[str, Kind]):
    """The kinds of one home, by name."""

    table: Mapping[str, Kind] = field(default_factory=lambda: MappingProxyType(_built_in()))

    def of(self, name: str | None) -> Kind:
        """The kind of that name; `UNKNOWN` where there is none."""
        return self.table.get(name or "", UNKNOWN)

    def with_kind(self, kind: Kind) -> "Kinds":
        """The same with one kind more, or another of its name."""
        return Kinds(MappingProxyType({**self.table, kind.name: kind}))

    def single(self) -> frozenset[str]:
        """Names of those of which only the newest of a user counts."""
        return frozenset(name for name, kind in self.table.items() if kind.single)

    def __getitem__(self, name: str) -> Kind:
        return self.table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


KINDS: Final = Kinds()
"""The built-in table."""
