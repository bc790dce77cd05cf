"""What of an agent's memory goes into a prompt: which memories, in which order, how much (row N11).

The layers come by their weight: who the agent is, how it thinks, the machine, who the user is, the
rules, the summaries, what is recalled for the message, and then the working memory, whose layers
have limits of their own. Room is given away in that order. No memory is cut: what does not fit
whole is left out and counted, and a shorter one may stand instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from skymem.model.caution import USUAL_TRUST, TrustRules
from skymem.model.memory import Memory
from skymem.policy.quoting import entry, entry_of, fenced
from skymem.policy.rank import Parts, tokens_of
from skymem.policy.terms import STOP_WORDS, stems, terms
from skymem.policy.trust import is_trusted

RULE: Final = "rule"
SUMMARY: Final = "summary"
MEMORIES: Final = "memories"
ENVIRONMENT: Final = "environment"

PREFERENCES: Final = "preferences"
BUSINESS: Final = "business"
DOCUMENTS: Final = "documents"
PATTERNS: Final = "patterns"
PLAYBOOKS: Final = "playbooks"
CONVERSATION: Final = "conversation"
SCRATCHPAD: Final = "scratchpad"

LAYERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agent": "who the agent is",
        "soul": "how the agent thinks",
        ENVIRONMENT: "the machine it runs on",
        "user": "who the user is",
        "rules": "what was learned to hold",
        "summaries": "what was done of late",
        MEMORIES: "what is recalled for the message",
        PREFERENCES: "what the user prefers",
        BUSINESS: "what is known of the business",
        DOCUMENTS: "what documents say to the message",
        PATTERNS: "what several tenants have in common",
        PLAYBOOKS: "how the like was done before",
        CONVERSATION: "what this conversation came to so far",
        SCRATCHPAD: "what was noted in this conversation",
    }
)
"""Every layer in its order, and what it holds."""

CHARS_OF: Final[Mapping[str, int]] = MappingProxyType(
    {
        PREFERENCES: 2_000,
        BUSINESS: 3_000,
        DOCUMENTS: 3_000,
        PATTERNS: 1_000,
        PLAYBOOKS: 2_000,
        CONVERSATION: 2_500,
        SCRATCHPAD: 2_000,
    }
)
"""How much of the room a layer of working memory may take."""

WORKING: Final = frozenset(
    {"snippet", "preference", "playbook", "flow", "conversation", "context", "chunk"}
)
"""Record types that have a layer, or none by design: what is recalled is not of them."""

SINGLE: Final = ("agent", "soul", "user")
"""Layers of one note, named as its kind is."""

KINDS: Final = (*SINGLE, RULE, SUMMARY)
"""Kinds that have a layer: what is recalled for a message is of the others."""

RULES_MAX: Final = 10
SUMMARIES_MAX: Final = 5
RULE_CONFIDENCE_MIN: Final = 0.8
"""How sure a rule has to be (row N9): a line that says less of itself is none to go by."""

SIMILAR_MAX: Final = 15
"""Rules and summaries that are chosen for the message; the rest of the room is for the newest."""

MEMORIES_MAX: Final = 10
"""Memories of other kinds that are recalled for the message."""

CHARS: Final = 8_000
"""How long a context may be when nobody says: some 2,000 tokens of English."""

CHARS_MAX: Final = 10_000_000

COSINE_LEAST: Final = 0.2
"""Below it two texts have nothing to do with each other, for the default model."""

By = Literal["kind", "similarity", "recency"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One memory that may stand in a context."""

    id: str
    tier: str
    memory: Memory
    by: By = "recency"
    """Why it is there: as the one of its kind, as it has to do with the message, or as new."""

    cite: str = ""
    """Where it stands in a document."""

    said: str = ""
    """What it says in a prompt, where that is more than its text."""

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        memory = self.memory
        return {
            "id": self.id,
            "tier": self.tier,
            "kind": memory.kind,
            "content": self.said or memory.searchable,
            "ts": None if memory.time_us is None else memory.time_us / 1_000_000,
            "tags": [*memory.tags],
            "origin": memory.origin,
            "trust": memory.trust,
            "by": self.by,
            **({"cite": self.cite} if self.cite else {}),
        }


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as it stands in a context, or as it could."""

    name: str
    pieces: tuple[Piece, ...] = ()
    facts: tuple[str, ...] = ()
    """What is no memory: the machine's, and a file's."""

    source: str = "this machine"
    """Where the facts are from."""

    left_out: int = 0
    """How many did not fit."""

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        told = [one.as_json() for one in self.pieces]
        told += [{"content": one, "from": self.source} for one in self.facts]
        return {"name": self.name, "entries": told, "left_out": self.left_out}


@dataclass(frozen=True, slots=True)
class Composed:
    """A context: its text, and what stands in it."""

    text: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Audience:
    """Whose prompt it is for: a named user's, or one of nobody in particular."""

    user_id: str | None = None

    def admits(self, memory: Memory) -> bool:
        """Whether a memory may stand there: it is not sensitive, and of this user or of nobody."""
        whose = memory.concerns("user_id")
        return memory.sensitivity is None and whose in (None, self.user_id)

    def admits_beside_notes(self, memory: Memory) -> bool:
        """The same for what has no layer of its own kind."""
        beside = memory.kind not in KINDS and memory.record_type not in WORKING
        return beside and self.admits(memory)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a message is about: the stems of its telling words."""

    words: frozenset[str]

    @classmethod
    def of(cls, message: str) -> "Subject":
        """Take a message's words; one of stop words alone is about nothing."""
        return cls(terms(message) - STOP_WORDS)

    def concerns(self, memory: Memory, parts: Parts) -> bool:
        """Whether a memory that was recalled has to do with it, by a word or by meaning.

        The best of what is there may be no good: age and importance alone make none that is.
        """
        if (parts.semantic or 0.0) >= COSINE_LEAST:
            return True
        return not self.words.isdisjoint(stems(tokens_of(memory.searchable, memory.tags)))


def layers(
    notes: Iterable[Piece],
    similar: Sequence[Piece],
    recalled: Sequence[Piece],
    machine: Sequence[str],
    audience: Audience,
    *,
    caution: TrustRules = USUAL_TRUST,
) -> list[Layer]:
    """Choose what may stand in each layer.

    Args:
        notes: the active notes of `KINDS`, newest first.
        similar: rules and summaries that have to do with the message, best first.
        recalled: what else was recalled for the message, best first.
        machine: facts about the machine.
        audience: whose prompt it is for.
        caution: how far whom is believed.
    """
    by_kind: dict[str, list[Piece]] = {kind: [] for kind in KINDS}
    for one in notes:
        if audience.admits(one.memory) and _holds(one.memory, caution):
            by_kind[one.memory.kind or ""].append(one)
    chosen: dict[str, Sequence[Piece]] = {
        kind: _single(by_kind[kind], audience.user_id) for kind in SINGLE
    }
    chosen["rules"] = _most_fitting(by_kind[RULE], similar, RULES_MAX)
    chosen["summaries"] = _most_fitting(by_kind[SUMMARY], similar, SUMMARIES_MAX)
    chosen[MEMORIES] = recalled[:MEMORIES_MAX]
    facts = {ENVIRONMENT: tuple(machine)}
    return [
        Layer(name, tuple(chosen.get(name, ())), facts.get(name, ()))
        for name in LAYERS
        if name not in CHARS_OF
    ]


def _holds(memory: Memory, caution: TrustRules) -> bool:
    """Whether a note may stand where an agent looks for what to go by (rows N9, X11)."""
    if memory.kind != SUMMARY and not is_trusted(memory, caution):
        return False
    sure = 1.0 if memory.trust is None else memory.trust
    return memory.kind != RULE or sure >= RULE_CONFIDENCE_MIN


def _single(newest: Sequence[Piece], user_id: str | None) -> list[Piece]:
    """The user's own, else the one that is nobody's."""
    own = [one for one in newest if one.memory.scope.get("user_id") == user_id]
    return [Piece(one.id, one.tier, one.memory, "kind") for one in (own or newest)[:1]]


def _most_fitting(newest: Sequence[Piece], similar: Sequence[Piece], most: int) -> list[Piece]:
    """Those of the similar that are of this kind, and the newest for the rest of the room."""
    there = {one.id for one in newest}
    found = {one.id: one for one in similar[:SIMILAR_MAX] if one.id in there}
    for one in newest:
        found.setdefault(one.id, one)
    return [*found.values()][:most]


def compose(wanted: Sequence[Layer], *, chars_max: int, limit: int | None = None) -> Composed:
    """Put layers into a block of at most so many characters, and at most `limit` memories.

    The marks and the header count. Where not even one entry fits, the text is empty.
    """
    block = _Block(chars_max - len(fenced(())), limit)
    told: list[Layer] = []
    for layer in wanted:
        block.begins(layer.name)
        about = f"from {layer.source}"
        pieces = tuple(one for one in layer.pieces if block.takes_memory(one))
        facts = tuple(one for one in layer.facts if block.takes(entry(about, one)))
        left_out = len(layer.pieces) + len(layer.facts) - len(pieces) - len(facts)
        told.append(replace(layer, pieces=pieces, facts=facts, left_out=left_out))
    return Composed(fenced(block.lines) if block.lines else "", tuple(told))


@dataclass(slots=True)
class _Block:
    """A block that is being filled."""

    chars: int
    """That are left."""

    memories: int | None
    """That may still come; None: any number."""

    heading: str = ""
    """Of a layer none of whose entries is there yet."""

    room: int = 0
    """Of those, the ones this layer may have."""

    lines: list[str] = field(default_factory=list)

    def begins(self, layer: str) -> None:
        """Go on to a layer."""
        self.heading = f"# {layer}: {LAYERS[layer]}\n"
        self.room = min(self.chars, CHARS_OF.get(layer, self.chars))

    def takes_memory(self, piece: Piece) -> bool:
        """Add a memory, where it may come and fits whole."""
        text = entry_of(piece.id, piece.memory, piece.cite, piece.said)
        if self.memories == 0 or not self.takes(text):
            return False
        if self.memories is not None:
            self.memories -= 1
        return True

    def takes(self, text: str) -> bool:
        """Add an entry, under the heading where it is the first, if that fits whole."""
        whole = self.heading + text
        size = len(whole) + 1  # with the end of the line before
        if size > self.room:
            return False
        self.chars -= size
        self.room -= size
        self.lines.append(whole)
        self.heading = ""
        return True
