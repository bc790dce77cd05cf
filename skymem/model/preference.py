"""A user's preference as a record, and what configuration declares of one (rows W3 to W5).

A preference is a line with `record_type` "preference"; its `content` says it in words, its
`payload` as data. It has a key and a value, or it is a named rule, or it was only stated in words.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model.memory import Memory

PREFERENCE: Final = "preference"

NAME_CHARACTERS_MAX: Final = 64
VALUE_CHARACTERS_MAX: Final = 2000
ITEMS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Declared:
    """One preference that `retention_rules.yaml` declares."""

    name: str
    type: str = "text"
    """`word`, `text`, `number`, `whole`, `bool` or `list`."""

    choices: tuple[Any, ...] = ()
    """The values it may have, of a list its items; any when empty."""

    default: Any = None
    related: tuple[str, ...] = ()
    """Other declared ones that somebody who looks for this one wants to see."""

    meaning: str = ""
    least: float | None = None
    most: float | None = None

    def fault(self, value: Any) -> str:
        """Say why this can't be its value; "" when it can."""
        fault = _TYPES[self.type](value)
        if fault:
            return f"{shown(value)} is {fault}"
        items = value if self.type == "list" else [value]
        wrong = next((one for one in items if self.choices and one not in self.choices), None)
        if wrong is not None:
            choices = ", ".join(map(spoken, self.choices))
            return f"{shown(wrong)} is not one of {choices}{meant(wrong, self.choices)}"
        if self.least is not None and value < self.least:
            return f"{shown(value)} is less than {self.least:g}"
        if self.most is not None and value > self.most:
            return f"{shown(value)} is more than {self.most:g}"
        return ""

    def read(self, text: str) -> Any:
        """Read a value as somebody types it: a number's digits, `true`, items between commas.

        What is no value of this type comes back as it is, for `fault` to name.
        """
        if self.type in {"number", "whole", "bool"}:
            return _plain(text)
        if self.type != "list":
            return text
        if text.lstrip().startswith("["):
            return _plain(text)
        return [item.strip() for item in text.split(",") if item.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A preference as a reader gets it."""

    id: str
    """Of its line; "" for what is only declared."""

    tier: str
    key: str
    """"" for a rule, and for one that is only stated in words."""

    rule: str
    """The name of a rule; "" otherwise."""

    value: Any
    text: str
    """It in words."""

    condition: Mapping[str, Any] | None
    """When it applies; None for always."""

    effect: Mapping[str, Any] | None
    """What it changes, by name; None where it is its key that gets its value."""

    how: str
    user_id: str | None
    """Whose it is; None for everybody's."""

    ts: float | None
    tags: tuple[str, ...] = ()
    origin: str | None = None
    trust: float | None = None
    supersedes: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()

    @property
    def effects(self) -> Mapping[str, Any]:
        """What it changes, by name; nothing for one that is only stated."""
        if self.effect is not None:
            return self.effect
        return {self.key: self.value} if self.key else {}

    @property
    def name(self) -> str:
        """What to call it: its key or its rule's name, "stated" when it has neither."""
        return self.key or self.rule or "stated"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What there is one active of: a user's key under a condition, or a user's rule."""
        under = spelled(self.condition) if self.key and self.condition is not None else ""
        words = "" if self.key or self.rule else self.text
        return self.user_id or "", self.key or f"\n{self.rule}", under, words

    @classmethod
    def of(cls, name: str, tier: str, memory: Memory) -> "Preference":
        """Read the preference that a memory is.

        Raises:
            InvalidMemoryError: it is none; the message names the field.
        """
        payload = memory.payload
        if memory.record_type != PREFERENCE:
            raise InvalidMemoryError('field "record_type": not a preference')
        _check_payload(payload)
        time_us = memory.time_us
        return cls(
            id=name,
            tier=tier,
            key=payload.get("key") or "",
            rule=payload.get("rule") or "",
            value=payload.get("value"),
            text=memory.content,
            condition=payload.get("condition"),
            effect=payload.get("effect"),
            how=payload.get("how") or "hand",
            user_id=memory.scope.get("user_id"),
            ts=None if time_us is None else time_us / 1_000_000,
            tags=memory.tags,
            origin=memory.origin,
            trust=memory.trust,
            supersedes=memory.supersedes,
            evidence_ids=memory.evidence_ids,
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        told: dict[str, Any] = {
            "id": self.id,
            "tier": self.tier,
            "key": self.key or None,
            "rule": self.rule or None,
            "value": self.value,
            "text": self.text,
            "condition": self.condition,
            "effect": dict(self.effects) or None,
            "how": self.how,
            "user_id": self.user_id,
            "ts": self.ts,
            "tags": [*self.tags],
            "origin": self.origin,
            "trust": self.trust,
        }
        return told | {"supersedes": [*self.supersedes], "evidence_ids": [*self.evidence_ids]}


def payload_of(
    *,
    key: str = "",
    rule: str = "",
    value: Any = None,
    condition: Mapping[str, Any] | None = None,
    effect: Mapping[str, Any] | None = None,
    how: str,
) -> dict[str, Any]:
    """Spell a preference's structure."""
    payload: dict[str, Any] = {}
    if key:
        payload |= {"key": key, "value": value}
    if rule:
        payload["rule"] = rule
    if condition is not None:
        payload["condition"] = condition
    if effect is not None:
        payload["effect"] = effect
    return {**payload, "how": how}


def name_fault(name: Any, what: str = "key") -> str:
    """Say why this can't be the name of a preference or a rule; "" when it can."""
    fits = isinstance(name, str) and 0 < len(name) <= NAME_CHARACTERS_MAX
    if fits and name.isprintable() and name == name.strip():
        return ""
    remedy = f"use 1 to {NAME_CHARACTERS_MAX} characters that show, no space at either end"
    return f'field "{what}": {shown(name)} is no name ({remedy})'


def free_fault(value: Any) -> str:
    """Say why this can't be the value of a preference that nothing declares; "" when it can."""
    if type(value) in (bool, int, float, list):
        check = {bool: "bool", list: "list"}.get(type(value), "number")
        fault = _TYPES[check](value)
    else:
        fault = _text(value)
    return f"{shown(value)} is {fault}" if fault else ""


def meant(word: Any, known: Any) -> str:
    """Say which of the known words was probably meant; "" when none is near."""
    if not isinstance(word, str):
        return ""
    words = [one for one in known if isinstance(one, str)]
    import difflib

    near = difflib.get_close_matches(word[:64].lower(), words, 1, 0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""


def shown(value: Any) -> str:
    """A value for a message: as JSON, cut."""
    text = spelled(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def spoken(value: Any) -> str:
    """A value for a sentence: text as it is, anything else as JSON, a list with commas."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(map(spoken, value))
    return spelled(value)


def spelled(value: Any) -> str:
    """A value as JSON in one way only, to compare it by: true is not 1, and 1 is 1.0."""
    try:
        return json.dumps(_whole_if_equal(value), ensure_ascii=True, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return f"{type(value).__name__} (no JSON)"


def _whole_if_equal(value: Any) -> Any:
    if type(value) is float and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole_if_equal(one) for name, one in value.items()}
    return [_whole_if_equal(one) for one in value] if isinstance(value, list | tuple) else value


def _check_payload(payload: Mapping[str, Any]) -> None:
    for name, kind, wanted in _FIELDS:
        value = payload.get(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidMemoryError(f'field "payload.{name}": not {wanted}')
    if payload.get("rule") and not payload.get("effect"):
        raise InvalidMemoryError('field "payload.effect": a rule has none')
    if payload.get("key") and payload.get("value") is None:
        raise InvalidMemoryError('field "payload.value": there is none')


_FIELDS: Final = (
    ("key", str, "text"),
    ("rule", str, "text"),
    ("how", str, "text"),
    ("condition", dict, "an object"),
    ("effect", dict, "an object"),
)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _word(value: Any) -> str:
    fault = _text(value)
    if fault:
        return "no word" if fault == "no text" else fault
    if len(value) > NAME_CHARACTERS_MAX or not value.isprintable() or value.split() != [value]:
        return f"no word (1 to {NAME_CHARACTERS_MAX} characters that show, without a space)"
    return ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "no text"
    if len(value) > VALUE_CHARACTERS_MAX:
        return f"longer than {VALUE_CHARACTERS_MAX} characters"
    return ""


def _number(value: Any) -> str:
    fits = type(value) is int or (type(value) is float and math.isfinite(value))
    return "" if fits else "no number"


def _whole(value: Any) -> str:
    return "" if type(value) is int else "no whole number"


def _bool(value: Any) -> str:
    return "" if isinstance(value, bool) else "neither true nor false"


def _list(value: Any) -> str:
    if not isinstance(value, list) or any(_text(one) for one in value):
        return "no list of texts"
    return "" if len(value) <= ITEMS_MAX else f"a list of more than {ITEMS_MAX}"


_TYPES: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "word": _word,
        "text": _text,
        "number": _number,
        "whole": _whole,
        "bool": _bool,
        "list": _list,
    }
)

TYPES: Final = tuple(_TYPES)
"""What a preference may be declared as."""
