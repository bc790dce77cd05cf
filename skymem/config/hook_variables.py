"""The environment variables of the hooks around a model's call, and of the context (row R13).

Each is read under two names, ours before the one of the source document. An empty one counts as not
set. All that is wrong is told at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from skymem.errors import ConfigurationError
from skymem.policy.context import CHARS, CHARS_MAX

PREFIXES: Final = ("SKYMEM_", "MILTON_MEMORY_")

LIMIT_MAX: Final = 10_000

_YES: Final = ("true", "1", "yes", "on")
_NO: Final = ("false", "0", "no", "off")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What the environment says of hooks and contexts."""

    enabled: bool = True
    """Whether the hooks do anything; a context that is asked for by name is made all the same."""

    store_responses: bool = False
    """Whether the model's replies are remembered, as crumbs."""

    limit: int | None = None
    """Memories of a context, in all; None: as many as each of its layers has."""

    chars_max: int = CHARS
    """Characters of a context, its wrapping included."""


def hook_settings(environment: Mapping[str, str]) -> HookSettings:
    """Read the variables.

    Raises:
        ConfigurationError: values that can't be; each is named, with what it may be.
    """
    complaints: list[str] = []

    def read(name: str, default: Value, reader: Callable[[str], Value]) -> Value:
        for variable in (f"{prefix}{name}" for prefix in PREFIXES):
            if text := environment.get(variable, "").strip():
                try:
                    return reader(text)
                except ValueError as error:
                    complaints.append(f"{variable}: {text!r:.40} is not {error}")
        return default

    usual = HookSettings()
    found = HookSettings(
        read("ENABLED", usual.enabled, _switch),
        read("STORE_RESPONSES", usual.store_responses, _switch),
        read("CONTEXT_LIMIT", usual.limit, lambda text: _whole(text, LIMIT_MAX)),
        read("CONTEXT_MAX_CHARS", usual.chars_max, lambda text: _whole(text, CHARS_MAX)),
    )
    if complaints:
        raise ConfigurationError("\n".join(complaints))
    return found


def _switch(text: str) -> bool:
    if text.casefold() in _YES:
        return True
    if text.casefold() in _NO:
        return False
    raise ValueError("true or false")


def _whole(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most):
        raise ValueError(f"a whole number from 1 to {most}")
    return int(text)
