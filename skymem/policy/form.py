"""What may come in: the form of a new memory, checked at every door (row M3).

Strict where reading is lenient: a writer who is told at once can mend the line; one found later in
a file is kept as it is. All complaints of an input come at once, each with line and field.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from skymem.errors import InvalidMemoryError, SecretRefusedError
from skymem.model.identity import digest
from skymem.model.memory import TTL_DAYS_MAX, Memory, read_time
from skymem.model.spelling import compose, new_fields
from skymem.model.strict_json import BOM, LineDamage, parse_object
from skymem.policy.secrets import USUAL, Guard


class Admitted(NamedTuple):
    """A line that may be appended, and the id its memory has."""

    id: str
    raw: bytes
    redacted: Mapping[str, int] = MappingProxyType({})
    """Secrets that were taken out of it, by kind."""


def admit_fields(
    content: str,
    *,
    limit: int,
    now: float,
    tags: Sequence[str] = (),
    importance: float | None = None,
    extra: Mapping[str, Any] | None = None,
    guard: Guard = USUAL,
) -> Admitted:
    """Make a new line, in the `ts` spelling.

    Args:
        content: the text.
        limit: the longest line allowed, bytes.
        now: its time, epoch seconds.
        tags: labels.
        importance: 0 to 1, or None to leave it to the scoring guide.
        extra: further fields of the line, by name.
        guard: takes secrets out of it, as the home wants.

    Raises:
        InvalidMemoryError: a field is missing or outside its range, or holds a secret where the
            home wants none to come.
    """
    if not content.strip():
        raise InvalidMemoryError('field "content": there is no text in it')
    if importance is not None and not 0 <= importance <= 1:  # NaN is neither
        raise InvalidMemoryError(f'field "importance": {importance} is not in 0 to 1')
    fields = new_fields(content, ts=now, tags=tags, importance=importance, extra=extra)
    try:
        _check(Memory(fields))  # of what JSON can't spell, as no number, the field is named
        return _admit(compose(fields), limit, guard)
    except ValueError as damage:
        raise InvalidMemoryError(str(damage)) from None


def admit_lines(data: bytes, *, limit: int, now: float, guard: Guard = USUAL) -> list[Admitted]:
    """Check many JSON lines, in either spelling; a line without a time gets `now`.

    Raises:
        InvalidMemoryError: names every line that can't be admitted; then none is.
    """
    admitted: list[Admitted] = []
    complaints: list[str] = []
    for number, raw in enumerate(data.removeprefix(BOM).split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            admitted.append(_admit(_timed(raw.strip(), now), limit, guard))
        except (LineDamage, SecretRefusedError) as damage:
            complaints.append(f"line {number}: {damage}")
    if complaints:
        raise InvalidMemoryError("\n".join(complaints))
    return admitted


def _timed(raw: bytes, now: float) -> bytes:
    fields = parse_object(raw)
    if "ts" in fields or "timestamp" in fields or not fields:  # an empty one is refused as it is
        return raw + b"\n"
    return raw[:-1].rstrip() + f', "ts": {now!r}'.encode() + b"}\n"


def _admit(line: bytes, limit: int, guard: Guard) -> Admitted:
    if len(line) > limit:
        raise LineDamage(f"longer than {limit} bytes; set line_max higher, or split it")
    memory = Memory(parse_object(line))
    _check(memory)
    line, memory, redacted = guard.admit(line, memory)
    return Admitted(memory.source_id or digest(memory).hex(), line, redacted)


def _check(memory: Memory) -> None:
    for name in _FORMS.keys() & {*memory.fields, *memory.metadata}:
        check, wanted = _FORMS[name]
        value = memory.field(name)
        if value is not None and not check(value):
            raise LineDamage(f'field "{name}": not {wanted}')


def check_field(name: str, value: Any) -> None:
    """Check a value for a field before anything is made of it; None is nothing said.

    Raises:
        InvalidMemoryError: it is outside its range.
    """
    check, wanted = _FORMS[name]
    if value is not None and not check(value):
        raise InvalidMemoryError(f'field "{name}": not {wanted}')


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _is_days(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= TTL_DAYS_MAX  # NaN is neither


def _is_time(value: Any) -> bool:
    try:
        return read_time("expires_at", value) is not None
    except LineDamage:
        return False


def _one_of(*allowed: str) -> tuple[Callable[[Any], bool], str]:
    return lambda value: value in allowed, "one of " + ", ".join(allowed)


_FORMS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = MappingProxyType(
    {
        "id": (lambda value: _is_text(value) or type(value) is int, "text"),
        "tags": (_is_texts, "a list of texts"),
        "kind": (_is_text, "text"),
        "stability": _one_of("volatile", "stable", "permanent"),
        "ttl_days": (_is_days, f"a number of days above 0, at most {TTL_DAYS_MAX:,.0f}"),
        "expires_at": (_is_time, "a time"),
        "supersedes": (lambda value: _is_text(value) or _is_texts(value), "an id or a list of ids"),
        "evidence": (_is_texts, "a list of paths and URLs"),
        "evidence_ids": (_is_texts, "a list of ids"),
        "origin": _one_of("user", "agent", "tool", "document", "import"),
        "trust": (_is_share, "in 0 to 1"),
        "sensitivity": _one_of("normal", "sensitive"),
        "pinned": (lambda value: isinstance(value, bool), "true or false"),
        "scope": (_is_text, "text"),
        "user_id": (_is_text, "text"),
        "session": (_is_text, "text"),
        "tenant": (_is_text, "text"),
        "metadata": (lambda value: isinstance(value, dict), "an object"),
        "record_type": (_is_text, "text"),
        "payload": (lambda value: isinstance(value, dict), "an object"),
    }
)
"""What each field of design §3 may hold, and how to say it."""
