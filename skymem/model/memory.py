"""A memory: one JSON line, read in whichever spelling it came (design §3, "The line").

The parsed fields are kept as they are; the properties give each its one meaning. Nothing is copied
and nothing is lost: what is not in the table stays in `fields`.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from skymem.model.strict_json import LineDamage

Spelling = Literal["ts", "timestamp"]

SECONDS_MAX: Final = 253_402_300_800  # the year 10000: nothing datetime can't hold gets in
TTL_DAYS_MAX: Final = SECONDS_MAX / 86_400
"""From any time on it reaches beyond the year 10000: who writes more means for ever."""

SCORE_MAX: Final = 10
UNUSABLE_ID: Final = "id_as_written"
"""Where a line that moves keeps an `id` that can name nothing: a list, an object, half a pair."""

TIER_MARKS: Final = frozenset({"short", "long"})

SCOPE: Final = ("scope", "user_id", "session", "tenant")
IN_THE_TABLE: Final = frozenset(
    {"id", UNUSABLE_ID, "source_id", "committed", "promoted_at", "ts", "timestamp", "metadata"}
    | {"redacted_from"}
    | {"type", "kind", "content", "importance", "score", "tags", "record_type", "payload", *SCOPE}
    | {"stability", "ttl_days", "expires_at", "supersedes", "evidence", "evidence_ids"}
    | {"origin", "trust", "sensitivity", "pinned"}
)
"""Fields that mean something here (design §3, "The line"); what else a line has is its writer's."""


class Memory:
    """One remembered thing, read-only.

    Attributes:
        fields: the JSON object as parsed.
        spelling: by its time field: `ts` (seed 000) or `timestamp` (seed 001).
        time_us: when it happened, microseconds since the epoch; None when the line has no time.
    """

    __slots__ = ("fields", "spelling", "time_us")

    def __init__(self, fields: dict[str, Any]) -> None:
        """Read the fields of one line.

        Raises:
            LineDamage: a required field is missing or a value is outside its range (row M3).
        """
        self.fields = fields
        if "ts" in fields or ("timestamp" not in fields and "metadata" not in fields):
            self.spelling: Spelling = "ts"
            self.time_us = read_time("ts", fields.get("ts"))
        else:
            self.spelling = "timestamp"
            self.time_us = read_time("timestamp", fields.get("timestamp"))
        _check_range("importance", fields.get("importance"), 1)
        if "score" in fields:
            _check_range("score", fields["score"], SCORE_MAX)
        if type(fields.get("content")) is not str and not _is_record(fields):
            raise LineDamage(_content_complaint(fields))

    @property
    def source_id(self) -> str | None:
        """The id the line itself carries, if any: a writer's own, or ours on a line we moved."""
        return _usable_id(self.fields.get("id"))

    @property
    def unusable_id(self) -> Any:
        """An `id` that can name nothing, as it came or where a move put it; None when it can."""
        value = self.fields.get("id")
        if value is not None and _usable_id(value) is None:
            return value
        return self.fields.get(UNUSABLE_ID)

    @property
    def content(self) -> str:
        """The text; empty for a structured record without one."""
        value = self.fields.get("content")
        return value if isinstance(value, str) else ""

    @property
    def importance(self) -> float | None:
        """What the writer says it is worth, 0 to 1; None when the writer did not say."""
        value = self.fields.get("importance")
        if value is not None:
            return float(value)
        score = self.fields.get("score")
        return None if score is None else score / SCORE_MAX

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The `metadata` object, empty when there is none."""
        value = self.fields.get("metadata")
        return value if isinstance(value, dict) else {}

    def field(self, name: str) -> Any:
        """A field of the table, where its spelling puts it: at the top or in `metadata`."""
        if name in self.fields:
            return self.fields[name]
        inner = self.fields.get("metadata")  # as `metadata`: this is asked a million times
        return inner.get(name) if isinstance(inner, dict) else None

    @property
    def others(self) -> dict[str, Any]:
        """Fields that are in no table, where they stand: at the top or in `metadata`."""
        found = {name: value for name, value in self.fields.items() if name not in IN_THE_TABLE}
        inner = {name: one for name, one in self.metadata.items() if name not in IN_THE_TABLE}
        return {**found, "metadata": inner} if inner else found

    @property
    def tags(self) -> tuple[str, ...]:
        """Labels; those that are text."""
        value = self.field("tags")
        if isinstance(value, str):
            return (value,)
        return (
            tuple(tag for tag in value if isinstance(tag, str)) if isinstance(value, list) else ()
        )

    @property
    def kind(self) -> str | None:
        """What sort of thing it is; a `type` that is no tier mark counts (design §3)."""
        for name in ("kind", "type"):
            value = self.fields.get(name)
            if isinstance(value, str) and value and (name == "kind" or value not in TIER_MARKS):
                return value
        for name in ("kind", "type"):
            value = self.metadata.get(name)
            if isinstance(value, str) and value:
                return value
        return None

    @property
    def stability(self) -> str | None:
        """`volatile`, `stable` or `permanent` (row N2)."""
        return _text(self.field("stability"))

    @property
    def ttl_days(self) -> float | None:
        """Days it is good for, from its time on; None when for ever (row N2)."""
        value = self.field("ttl_days")
        if type(value) not in (int, float) or abs(value) > TTL_DAYS_MAX:
            return None
        return float(value)

    @property
    def expires_us(self) -> int | None:
        """When it expires, microseconds since the epoch; `expires_at` before `ttl_days`."""
        value = self.field("expires_at")
        if value is not None:
            try:
                return read_time("expires_at", value)
            except LineDamage:
                return None
        if self.ttl_days is None or self.time_us is None:
            return None
        return self.time_us + round(self.ttl_days * 86_400_000_000)

    @property
    def supersedes(self) -> tuple[str, ...]:
        """Ids of the memories this one replaces."""
        return _usable_ids(self.field("supersedes"))

    @property
    def evidence(self) -> tuple[str, ...]:
        """Paths and URLs it rests on (row R11)."""
        return _texts(self.field("evidence"))

    @property
    def evidence_ids(self) -> tuple[str, ...]:
        """Ids of the memories it rests on (row R10)."""
        return _usable_ids(self.field("evidence_ids"))

    @property
    def origin(self) -> str | None:
        """The door it came through: user, agent, tool, document, import."""
        return _text(self.field("origin"))

    @property
    def trust(self) -> float | None:
        """How far it is believed, 0 to 1."""
        value = self.field("trust")
        return float(value) if type(value) in (int, float) and 0 <= value <= 1 else None

    @property
    def sensitivity(self) -> str | None:
        """`sensitive` keeps it out of contexts (row N11); so does a mark that nobody knows."""
        return None if self.field("sensitivity") in (None, False, "", "normal") else "sensitive"

    @property
    def pinned(self) -> bool:
        """Whether every job leaves it alone."""
        return self.field("pinned") is True

    @property
    def scope(self) -> dict[str, str]:
        """Whom it concerns: `scope`, `user_id`, `session`, `tenant`, those that are given."""
        found = {name: self.concerns(name) for name in SCOPE}
        return {name: value for name, value in found.items() if value is not None}

    def concerns(self, name: str) -> str | None:
        """One part of its scope; None where it is not given."""
        return _text(self.field(name))

    @property
    def record_type(self) -> str | None:
        """The structure of `payload`: profile, project, preference, playbook, chunk … (row R12)."""
        return _text(self.fields.get("record_type"))

    @property
    def payload(self) -> Mapping[str, Any]:
        """The structured part of a record."""
        value = self.fields.get("payload")
        return value if isinstance(value, dict) else {}

    @property
    def searchable(self) -> str:
        """What is embedded and searched: the text; of a structured record, the text in its payload.

        Half a surrogate pair, which no index takes, reads as a replacement character (hazard A9).
        """
        text = self.content or "\n".join(_texts_within(self.payload))
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    @property
    def foreign_id(self) -> str | None:
        """The id a writer gave it where another memory had that id already (`source_id`)."""
        return _text(self.field("source_id"))


def read_time(field: str, value: Any) -> int | None:
    """Read a time in either spelling, epoch seconds or ISO 8601, as microseconds.

    Raises:
        LineDamage: neither, or outside the years 1970 to 9999.
    """
    if value is None:
        return None
    if type(value) is int or type(value) is float:
        if 0 <= value < SECONDS_MAX:
            return round(value * 1_000_000)
        hint = "; is it in milliseconds?" if value >= SECONDS_MAX else ""
        raise LineDamage(f'field "{field}": {value!r:.40} is no time in epoch seconds{hint}')
    if type(value) is str:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise LineDamage(
                f'field "{field}": not a time in ISO 8601 (2025-11-08T12:34:56Z)'
            ) from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        elapsed = moment - _EPOCH
        seconds = elapsed.days * 86_400 + elapsed.seconds
        if not 0 <= seconds < SECONDS_MAX:  # as for epoch seconds, whatever the zone
            raise LineDamage(f'field "{field}": outside the years 1970 to 9999')
        return seconds * 1_000_000 + elapsed.microseconds
    raise LineDamage(f'field "{field}": neither epoch seconds nor ISO 8601')


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _usable_id(value: Any) -> str | None:
    """Read an id: text that UTF-8 can hold, or a whole number."""
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate: no file name, database or terminal takes it
        return None
    return value


def _usable_ids(value: Any) -> tuple[str, ...]:
    """Those of what is listed that can name a memory."""
    return tuple(one for one in _texts(value) if one.isascii() or _usable_id(one) is not None)


def _check_range(field: str, value: Any, highest: int) -> None:
    if value is None:
        return
    if type(value) not in (int, float) or not 0 <= value <= highest:
        shown = (
            repr(value)[:40] if type(value) in (int, float, bool) else "a value that is no number"
        )
        raise LineDamage(f'field "{field}": {shown} is not in 0 to {highest}')
    if highest == SCORE_MAX and value != int(value):
        raise LineDamage(f'field "{field}": {value!r} is no whole number')


def _is_record(fields: Mapping[str, Any]) -> bool:
    return (
        isinstance(fields.get("record_type"), str)
        and isinstance(fields.get("payload"), dict)
        and fields.get("content") is None
    )


def _content_complaint(fields: Mapping[str, Any]) -> str:
    if fields.get("content") is None:
        return 'field "content" is missing'
    return 'field "content": not text'


def _texts_within(value: Any) -> Iterator[str]:
    """Every text in a structure, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_within(inner)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
