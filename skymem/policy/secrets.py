"""Secrets leave a memory before a second copy of it exists: `[redacted:KIND]` stands there (X11).

A door redacts, or refuses, before anything is written. What came by a plain `echo >>` is redacted
as it is read by whoever copies its text, and as a job moves its line. Such a line says which memory
it was (`redacted_from`), so that it is known again when the line it was made of comes once more.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from skymem.errors import SecretRefusedError
from skymem.model.caution import USUAL_SECRETS, SecretRules
from skymem.model.identity import REDACTED_FROM, redaction_mark
from skymem.model.memory import Memory
from skymem.model.spelling import replaced
from skymem.policy.detectors import Span, is_secret_value, sign_pattern, spans

_PERSONAL_SIGNS: Final = ("@", *"0123456789")
_UNTOUCHED: Final = frozenset({REDACTED_FROM})


class Redacted(NamedTuple):
    """A line whose secrets are gone."""

    raw: bytes
    memory: Memory
    kinds: Mapping[str, int]
    """How many secrets of which kind; empty when the line is as it was."""


class Guard:
    """Finds secrets as a home wants it."""

    def __init__(self, rules: SecretRules) -> None:
        self.rules = rules
        self._on = rules.on != "keep"
        self._sign = sign_pattern(_PERSONAL_SIGNS if rules.personal else ())
        self._allowed = [re.compile(pattern) for pattern in rules.allow]

    # -- texts and values -----------------------------------------------------------------------

    def find(self, text: str) -> list[Span]:
        """The secrets of a text that are not allowed, whatever is to be done about them."""
        found = spans(text, personal=self.rules.personal)
        return [one for one in found if not self._is_allowed(text[one.start : one.end])]

    def text(self, text: str) -> tuple[str, Counter[str]]:
        """A text without its secrets, and what they were."""
        found = self.find(text) if self._on else []
        if not found:
            return text, Counter()
        pieces, at = [], 0
        for one in found:
            pieces += [text[at : one.start], mark(one.kind)]
            at = one.end
        return "".join([*pieces, text[at:]]), Counter(one.kind for one in found)

    def fields(self, fields: Mapping[str, Any]) -> tuple[dict[str, Any], Counter[str]]:
        """The fields of a line without their secrets, however deep they stand."""
        kinds: Counter[str] = Counter()
        value = self._value("", dict(fields), kinds) if self._on else dict(fields)
        return value, kinds

    # -- lines ----------------------------------------------------------------------------------

    def suspects(self, raw: bytes) -> bool:
        """Whether a line may hold a secret: one that has no sign of any need not be read."""
        return self._sign.search(raw) is not None

    def clean(self, raw: bytes, memory: Memory) -> Memory:
        """A memory as a reader gets it, given with its line."""
        if not self._on or not self._sign.search(raw):
            return memory
        fields, kinds = self.fields(memory.fields)
        return Memory(fields) if kinds else memory

    def named(self, memory: Memory) -> Memory:
        """A memory whose own id is no secret; else all of its secrets are gone."""
        name = memory.source_id
        if not self._on or name is None or not self._sign.search(name.encode()):
            return memory
        fields, kinds = self.fields(memory.fields)
        return Memory(fields) if kinds else memory

    def line(self, raw: bytes, memory: Memory) -> Redacted:
        """A line as it may be copied, given as it stands and read; all else in it stays."""
        if not self._on or not self._sign.search(raw):
            return Redacted(raw, memory, {})
        fields, kinds = self.fields(memory.fields)
        if not kinds:
            return Redacted(raw, memory, {})
        fields[REDACTED_FROM] = redaction_mark(memory, Memory(fields))
        return Redacted(replaced(raw, memory.fields, fields), Memory(fields), kinds)

    def admit(self, raw: bytes, memory: Memory) -> Redacted:
        """A new line as it may come in, given as its writer spelled it.

        Raises:
            SecretRefusedError: there is a secret in it, and the home wants none to come.
        """
        if not self._on or not self._sign.search(raw):
            return Redacted(raw, memory, {})
        fields, kinds = self.fields(memory.fields)
        if kinds and self.rules.on == "refuse":
            raise SecretRefusedError(", ".join(sorted(kinds)))
        if not kinds:
            return Redacted(raw, memory, {})
        return Redacted(replaced(raw, memory.fields, fields), Memory(fields), kinds)

    # -- within ---------------------------------------------------------------------------------

    def _value(self, name: str, value: Any, kinds: Counter[str]) -> Any:
        if isinstance(value, str):
            return self._within(name, value, kinds)
        if isinstance(value, list):
            return [self._value(name, item, kinds) for item in value]
        if isinstance(value, dict):
            said = _named_beside(value)
            return {
                self._within("", key, kinds): self._value(
                    said if said and key == "value" else key, item, kinds
                )
                if key not in _UNTOUCHED
                else item
                for key, item in value.items()
            }
        return value

    def _within(self, name: str, value: str, kinds: Counter[str]) -> str:
        if name and is_secret_value(name, value) and not self._is_allowed(value):
            found = self.find(value)
            kind = found[0].kind if len(found) == 1 else "secret-value"
            kinds[kind] += 1
            return mark(kind)
        cleaned, found_kinds = self.text(value)
        kinds.update(found_kinds)
        return cleaned

    def _is_allowed(self, secret: str) -> bool:
        return any(pattern.search(secret) for pattern in self._allowed)


def _named_beside(fields: Mapping[str, Any]) -> str:
    """What names the `value` of fields: their `key` or `name`, as in a preference or a setting."""
    return next((one for one in map(fields.get, ("key", "name")) if isinstance(one, str)), "")


def mark(kind: str) -> str:
    """What stands where a secret stood."""
    return f"[redacted:{kind}]"


@lru_cache(maxsize=8)
def guard_of(rules: SecretRules) -> Guard:
    """The guard of a home with these rules; made once."""
    return Guard(rules)


USUAL: Final = guard_of(USUAL_SECRETS)
"""As a home guards itself that says nothing about it."""
