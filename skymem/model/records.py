"""The records that compress writes: a user's profile and a project's (rows R9, R10 and R12).

Each statement cites the memory and the characters it was drawn from. A record is a line of
long-term whose `payload` is checked both ways; its `content` says the same for people and `grep`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from skymem.errors import InvalidMemoryError
from skymem.model.identity import derived_id, digest
from skymem.model.memory import SECONDS_MAX, Memory
from skymem.model.spelling import compose

PROFILE: Final = "profile"
PROJECT: Final = "project"


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a record says, and where it was said.

    Raises:
        InvalidMemoryError: a field is outside its range; the message names it.
    """

    text: str
    source: str
    """The id of the memory it was drawn from."""

    span: tuple[int, int]
    """From and to which character of that memory's content."""

    ts_us: int | None = None
    """When that memory happened, microseconds since the epoch."""

    def __post_init__(self) -> None:
        _require(_is_text(self.text), "text", "no text")
        _require(_is_text(self.source), "source", "no id")
        _require(_is_span(self.span), "span", "no two whole numbers, the first below the second")
        _require(_is_time(self.ts_us), "ts", "no time in epoch seconds")

    def to_json(self) -> dict[str, Any]:
        """Spell it."""
        spelled = {"text": self.text, "source": self.source, "span": list(self.span)}
        return spelled if self.ts_us is None else {**spelled, "ts": seconds(self.ts_us)}

    @classmethod
    def from_json(cls, value: Any) -> "Statement":
        """Read what `to_json` spelled.

        Raises:
            InvalidMemoryError: it is no statement; the message names the field.
        """
        if not isinstance(value, dict):
            raise InvalidMemoryError("no object")
        for name in value:
            _require(name in {"text", "source", "span", "ts"}, name, "unknown")
        span, ts = value.get("span"), value.get("ts")
        pair: Any = tuple(span) if isinstance(span, list) else span
        known = ts is None or (type(ts) in (int, float) and 0 <= ts < SECONDS_MAX)
        _require(known, "ts", "no time in epoch seconds")
        return cls(
            value.get("text", ""),
            value.get("source", ""),
            pair,
            None if ts is None else round(ts * 1_000_000),
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user (row R9)."""

    preferences: tuple[Statement, ...] = ()
    stable_facts: tuple[Statement, ...] = ()
    do_not_assume: tuple[Statement, ...] = ()

    RECORD_TYPE: ClassVar[str] = PROFILE
    SECTIONS: ClassVar[tuple[str, ...]] = ("preferences", "stable_facts", "do_not_assume")


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    """What is known of a project (row R9)."""

    name: str
    goals: tuple[Statement, ...] = ()
    blockers: tuple[Statement, ...] = ()
    next_steps: tuple[Statement, ...] = ()

    RECORD_TYPE: ClassVar[str] = PROJECT
    SECTIONS: ClassVar[tuple[str, ...]] = ("goals", "blockers", "next_steps")


Record = Profile | ProjectRecord


class RecordLine(NamedTuple):
    """A record as a line of long-term."""

    id: str
    line: bytes
    """With its newline."""


def sections(record: Record) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """Give a record's lists by name, in their order."""
    for name in record.SECTIONS:
        yield name, getattr(record, name)


def statements(record: Record) -> Iterator[Statement]:
    """Give all that a record says."""
    for _, found in sections(record):
        yield from found


def to_payload(record: Record) -> dict[str, Any]:
    """Spell a record's structure.

    Raises:
        InvalidMemoryError: a project without a name.
    """
    payload: dict[str, Any] = {}
    if isinstance(record, ProjectRecord):
        payload["name"] = _name(record.name)
    for name, found in sections(record):
        payload[name] = [statement.to_json() for statement in found]
    return payload


def from_payload(record_type: str, payload: Mapping[str, Any]) -> Record:
    """Read a record's structure.

    Raises:
        InvalidMemoryError: it is none; the message names the field.
    """
    kinds: Mapping[str, type[Record]] = {PROFILE: Profile, PROJECT: ProjectRecord}
    kind = kinds.get(record_type)
    if kind is None:
        raise InvalidMemoryError(f'field "record_type": {record_type!r:.40} is no record of ours')
    named = {"name"} if kind is ProjectRecord else set()
    for field in payload:
        _require(field in kind.SECTIONS or field in named, f"payload.{field}", "unknown")
    lists = {name: _read_section(name, payload.get(name, [])) for name in kind.SECTIONS}
    if kind is Profile:
        return Profile(**lists)
    return ProjectRecord(_name(payload.get("name")), **lists)


def record_of(memory: Memory) -> Record:
    """Read the record that a memory is.

    Raises:
        InvalidMemoryError: it is none; the message names the field.
    """
    _require(isinstance(memory.fields.get("payload"), dict), "payload", "not an object")
    record = from_payload(memory.record_type or "", memory.payload)
    missing = {statement.source for statement in statements(record)} - set(memory.evidence_ids)
    if missing:
        raise InvalidMemoryError('field "evidence_ids": the source of a statement is not in it')
    return record


def record_line(
    record: Record,
    *,
    now_us: int,
    evidence_ids: Sequence[str],
    supersedes: Sequence[str] = (),
    fields: Mapping[str, Any] | None = None,
) -> RecordLine:
    """Spell a record as a line of long-term, in the `ts` spelling, its id last.

    Args:
        record: what it says.
        now_us: its time.
        evidence_ids: every memory it rests on; the sources of its statements are added.
        supersedes: the records it replaces.
        fields: `importance`, `origin`, `trust`, `sensitivity`, `user_id` and the like.

    Raises:
        InvalidMemoryError: it rests on nothing (row R10), or is no record.
    """
    evidence = dict.fromkeys(evidence_ids)
    evidence.update(dict.fromkeys(statement.source for statement in statements(record)))
    if not evidence:
        raise InvalidMemoryError('field "evidence_ids": a summary needs evidence')
    spelled: dict[str, Any] = {"ts": seconds(now_us), "type": "long", "content": content(record)}
    if isinstance(record, ProjectRecord):
        spelled["tags"] = [f"project:{record.name}"]
    spelled |= {"record_type": record.RECORD_TYPE, "payload": to_payload(record)}
    spelled["evidence_ids"] = list(evidence)
    if supersedes:
        spelled["supersedes"] = list(supersedes)
    spelled.update(fields or {})
    name = derived_id(digest(Memory(spelled)))
    return RecordLine(name, compose({**spelled, "id": name}))


def content(record: Record) -> str:
    """Say a record in words: a title for each list, a line for each statement."""
    blocks = [f"Project {record.name}"] if isinstance(record, ProjectRecord) else []
    for name, found in sections(record):
        if found:
            title = name.replace("_", " ").capitalize()
            lines = ["- " + one.text.replace("\n", "\n  ") for one in found]
            blocks.append("\n".join((f"{title}:", *lines)))
    return "\n\n".join(blocks)


def seconds(time_us: int) -> float:
    """Spell a time as epoch seconds, whole ones without a point."""
    whole, rest = divmod(time_us, 1_000_000)
    return time_us / 1_000_000 if rest else whole


def _read_section(name: str, value: Any) -> tuple[Statement, ...]:
    _require(isinstance(value, list), f"payload.{name}", "not a list")
    found = []
    for index, one in enumerate(value):
        try:
            found.append(Statement.from_json(one))
        except InvalidMemoryError as error:
            raise InvalidMemoryError(f"payload.{name}[{index}]: {error}") from None
    return tuple(found)


def _name(value: Any) -> str:
    _require(_is_text(value), "payload.name", "no text")
    return str(value)


def _require(holds: bool, field: str, complaint: str) -> None:  # noqa: FBT001
    if not holds:
        raise InvalidMemoryError(f'field "{field}": {complaint}')


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(type(end) is int for end in value)
        and 0 <= value[0] < value[1]
    )


def _is_time(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < SECONDS_MAX * 1_000_000)
