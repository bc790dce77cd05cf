"""What was said in a conversation, and the summary that stands for its older turns (row W11).

A summary is a line like any other, of `record_type` "conversation". It quotes: each quotation
names the turn it stands in and the characters of it, so that nothing is in it that nobody said.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model.identity import derived_id, digest
from skymem.model.memory import Memory, read_time
from skymem.model.records import Statement, seconds
from skymem.model.strict_json import LineDamage

CONVERSATION: Final = "conversation"
"""The `record_type` of a summary."""

SNIPPET: Final = "scratchpad"
"""The role of what was written down on the way, and not said."""

TURN: Final = "turn:"
"""Before the id of a turn, where a summary says what it rests on: a turn need not be a memory."""

ANSWERS: Final = "answers"
"""Marks a quotation that means something only with the one before it."""

TAIL: Final = 8
"""Turns by which a summary knows again where it ended."""

KEY_LETTERS: Final = 16
"""Of the hash that a turn is known by: among a million, a chance of 1 in 10^7 that two agree."""

ROLE_LETTERS: Final = 40


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation, or one snippet of its scratchpad."""

    role: str
    content: str
    id: str
    """The caller's own, else `key`."""

    key: str
    """Of what it says: equal for two turns exactly when role, text and time are."""

    ts_us: int | None = None
    sensitive: bool = False
    memory: bool = False
    """Whether its id is a memory's."""

    origin: str | None = None
    """Where it is from, where that is said; else its role tells."""

    trust: float | None = None

    @classmethod
    def of(
        cls,
        role: str,
        content: str,
        name: str = "",
        ts_us: int | None = None,
        *,
        sensitive: bool = False,
        memory: bool = False,
    ) -> "Turn":
        """Make one; its key follows."""
        said = "\0".join((role, content, str(ts_us))).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(said).hexdigest()[:KEY_LETTERS]
        return cls(role, content, name or key, key, ts_us, sensitive, memory)

    @classmethod
    def from_json(cls, value: Any) -> "Turn":
        """Read what chat programs write: `role`, `content`, and `ts` or `timestamp`, `id`.

        The text may be in parts, as `[{"type": "text", "text": "…"}]`; a turn that only calls
        tools has none. Other fields are the caller's.

        Raises:
            InvalidMemoryError: it is none; names the field.
        """
        if not isinstance(value, Mapping):
            raise InvalidMemoryError('not an object like {"role": "user", "content": "…"}')
        role, name = value.get("role"), value.get("id")
        if not isinstance(role, str) or not role.strip() or len(role) > ROLE_LETTERS:
            raise InvalidMemoryError('field "role": say who speaks: user, assistant or tool')
        if name is not None and (type(name) not in (str, int) or name == ""):
            raise InvalidMemoryError('field "id": neither text nor a whole number')
        named = "ts" if "ts" in value else "timestamp"
        try:
            ts_us = read_time(named, value.get(named))
        except LineDamage as damage:
            raise InvalidMemoryError(str(damage)) from None
        careful = value.get("sensitivity") not in (None, False, "", "normal")
        said = "" if name is None else str(name)
        return cls.of(role.strip(), _text_of(value), said, ts_us, sensitive=careful)


def _text_of(value: Mapping[str, Any]) -> str:
    if "content" not in value:
        raise InvalidMemoryError('field "content" is missing')
    content = value["content"]
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise InvalidMemoryError('field "content": neither text nor a list of parts')
    texts = [part.get("text", "") for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidMemoryError('field "content": a part whose "text" is no text')
    return "\n".join(filter(None, texts))


_OWN: Final = ("role", "memory", ANSWERS)


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody said: a statement, whose source is a turn, and who said it."""

    role: str
    said: Statement
    memory: bool = False
    """Whether its source is a memory: a snippet's."""

    def to_json(self) -> dict[str, Any]:
        """Spell it."""
        spelled = {"role": self.role, **self.said.to_json()}
        return {**spelled, "memory": True} if self.memory else spelled

    @classmethod
    def from_json(cls, value: Any) -> "Quote":
        """Read what `to_json` spelled.

        Raises:
            InvalidMemoryError: it is none; names the field.
        """
        if not isinstance(value, Mapping):
            raise InvalidMemoryError("no object")
        rest = {name: one for name, one in value.items() if name not in _OWN}
        role = value.get("role")
        if not isinstance(role, str) or not role:
            raise InvalidMemoryError('field "role": no text')
        return cls(role, Statement.from_json(rest), value.get("memory") is True)


Fact = tuple[Quote, ...]
"""Quotations that mean something together only: one, or a question and its answer."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is kept of a conversation so far."""

    facts: tuple[Fact, ...] = ()
    """In the order in which they were said."""

    turns: int = 0
    """How many it stands for."""

    tail: tuple[str, ...] = ()
    """Keys of the last of them."""

    until_us: int | None = None
    """When the last of them that has a time was said."""

    left_out: int = 0
    """Facts that there was no room for, in all."""

    def quotes(self) -> Iterator[Quote]:
        """Give all it says."""
        for fact in self.facts:
            yield from fact

    def to_payload(self) -> dict[str, Any]:
        """Spell its structure; all quotations stand in one list, as a record's statements do."""
        facts = [
            quote.to_json() if quote is fact[0] else {**quote.to_json(), ANSWERS: True}
            for fact in self.facts
            for quote in fact
        ]
        told: dict[str, Any] = {"turns": self.turns, "tail": [*self.tail], "facts": facts}
        if self.until_us is not None:
            told["until"] = seconds(self.until_us)
        return {**told, "left_out": self.left_out} if self.left_out else told


def conversation_of(memory: Memory) -> Conversation:
    """Read the summary that a line is.

    Raises:
        InvalidMemoryError: it is none; names the field.
    """
    if memory.record_type != CONVERSATION:
        raise InvalidMemoryError(f'field "record_type": not "{CONVERSATION}"')
    payload = memory.payload
    counts = [payload.get("turns", 0), payload.get("left_out", 0)]
    if any(type(count) is not int or count < 0 for count in counts):
        raise InvalidMemoryError('field "payload.turns": no number of turns')
    tail = payload.get("tail", [])
    if not isinstance(tail, list) or not all(isinstance(key, str) for key in tail):
        raise InvalidMemoryError('field "payload.tail": not a list of texts')
    try:
        until_us = read_time("payload.until", payload.get("until"))
        read = _facts(payload.get("facts", []))
    except (InvalidMemoryError, LineDamage) as error:
        raise InvalidMemoryError(f"payload.facts: {error}") from None
    return Conversation(read, counts[0], tuple(tail), until_us, counts[1])


def _facts(quotes: Any) -> tuple[Fact, ...]:
    """Read the quotations, each answer with what it answers."""
    if not isinstance(quotes, list):
        raise InvalidMemoryError("not a list")
    found: list[Fact] = []
    for one in quotes:
        quote = Quote.from_json(one)
        if found and one.get(ANSWERS) is True:
            found[-1] = (*found[-1], quote)
        else:
            found.append((quote,))
    return tuple(found)


def heading(turns: int) -> str:
    """Say what a summary is of."""
    return f"Conversation so far, {turns} turn{'' if turns == 1 else 's'}:"


def spelled(quote: Quote) -> str:
    """Say who said what, on lines of its own."""
    return f"- {quote.role}: " + quote.said.text.replace("\n", "\n  ")


def content(conversation: Conversation) -> str:
    """Say a summary in words."""
    lines = [spelled(quote) for quote in conversation.quotes()]
    return "\n".join((heading(conversation.turns), *lines))


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose conversation it is, and what it replaces."""

    session: str = ""
    supersedes: Sequence[str] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """`origin`, `trust`, `sensitivity`, `user_id` and the like."""


def fields_of(conversation: Conversation, scope: Scope) -> dict[str, Any]:
    """Spell a summary as fields of a line beside its text and time, its id among them.

    The id follows from what it says, and not from when it was made: made of the same turns again it
    is the same memory.
    """
    quotes = [*conversation.quotes()]
    turns = dict.fromkeys(TURN + one.said.source for one in quotes if not one.memory)
    memories = dict.fromkeys(one.said.source for one in quotes if one.memory)
    links = {
        "session": scope.session,
        "evidence": [*turns],
        "evidence_ids": [*memories],
        "supersedes": [*scope.supersedes],
    }
    fields: dict[str, Any] = {"stability": "stable", **scope.fields}
    fields |= {name: value for name, value in links.items() if value}
    fields |= {"record_type": CONVERSATION, "payload": conversation.to_payload()}
    said = {"content": content(conversation), **fields}
    return {**fields, "id": derived_id(digest(Memory(said)))}
