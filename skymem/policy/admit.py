"""What may come in: agent names, and what is typed to name a memory.

An agent's name becomes a directory, a lock and a collection, so only an allow-list is safe:
what is not on it cannot be a twin in another case or script, a way out of the home (`..`), or
a name some file system refuses.
"""

from typing import Final

from skymem.errors import AgentNameError, UsageError
from skymem.model.regex import regex

_NAME: Final = regex(r"[a-z0-9][a-z0-9_-]{0,63}")
_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_LENGTH_MAX: Final = 64
_SHOWN_MAX: Final = 80  # of a refused name, in the message


def check_agent_name(name: str) -> str:
    """Give the name back when it may name an agent: `[a-z0-9][a-z0-9_-]{0,63}`, nothing else.

    Raises AgentNameError, which says what is wrong with it. Design §2 and promise 9.
    """
    fault = agent_name_fault(name)
    if fault is not None:
        raise AgentNameError(name[:_SHOWN_MAX], fault)
    return name


def check_beginning(name: str) -> str:
    """Give back what begins the id of a memory, or is one; nothing would begin them all.

    Raises UsageError: a script's variable was empty, and the only memory would be the one meant.
    """
    if not name.strip():
        raise UsageError("an id is empty; give an id, or its first letters (see: skymem recent)")
    return name


def agent_name_fault(name: str) -> str | None:
    """Say what keeps the name from naming an agent; None when nothing does."""
    # fullmatch, since `$` would let a trailing newline through.
    if _NAME.fullmatch(name):
        return None
    if not name:
        return "it is empty"
    if len(name) > _LENGTH_MAX:
        return f"it has {len(name)} characters"
    for position, character in enumerate(name, start=1):
        if character not in _ALLOWED:
            return f"character {position} is {_spell(character)}"
    return f"it starts with {name[0]!r}"


def _spell(character: str) -> str:
    if character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        return f"the capital letter {character}"
    if " " < character <= "~":
        return repr(character)
    return f"U+{ord(character):04X}"  # a look-alike or a control character says nothing printed
