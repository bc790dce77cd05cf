"""What the ledger's entries look like, so that who reads one can rely on it (row M8).

A line that a hand or a failing disk changed may still be JSON, and no entry as we write them:
`verify` names it, and everybody else passes it over.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from skymem.model.memory import SECONDS_MAX

DECIDED_MIN: Final = 6
"""Action, id, gate, value, threshold and note; then the file and the line it stood on."""


def well_formed(entry: Mapping[str, Any]) -> bool:
    """Whether every field is of the sort we write, and those its operation needs are there."""
    operation = entry.get("op")
    if not _is_text(operation) or not _is_time(entry.get("ts")):
        return False
    return all(name in entry for name in _NEEDED.get(str(operation), ())) and all(
        is_ours(entry[name]) for name, is_ours in _FIELDS.items() if name in entry
    )


def _is_text(value: Any) -> bool:
    """Text that UTF-8 can hold: a lone surrogate is taken by no database."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _is_time(value: Any) -> bool:
    return _is_number(value) and 0 <= value < SECONDS_MAX


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_decision(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < DECIDED_MIN:
        return False
    action, name, gate, *numbers, note = value[:DECIDED_MIN]
    texts = (action, name, gate, note, *value[DECIDED_MIN : DECIDED_MIN + 1])
    return all(map(_is_text, texts)) and all(one is None or _is_number(one) for one in numbers)


def _is_addition(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    return _is_text(value[0]) and _is_text(value[1]) and all(map(_list_of(_is_text), value[2:]))


def _is_likened(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    return all(map(_is_text, value[:2])) and all(map(_is_number, value[2:]))


def _is_move(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return _is_text(value[0]) and all(map(_is_hex, value[1:]))


def _is_hex(value: Any) -> bool:
    try:
        return isinstance(value, str) and bytes.fromhex(value).hex() == value
    except ValueError:
        return False


def _is_piece(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and _is_text(value[0])


def _is_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_whole, value.values()))


def _list_of(is_ours: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_ours, value))


_FIELDS: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        **dict.fromkeys(("agent", "run", "job", "by", "of", "whose", "door", "with"), _is_text),
        **dict.fromkeys(("consumed", "long_size", "decisions", "additions"), _is_whole),
        "short": _list_of(_is_whole),
        "formats": _list_of(_is_whole),
        "judged": _is_counts,
        "ids": _list_of(_is_text),
        "decided": _list_of(_is_decision),
        "added": _list_of(_is_addition),
        "likened": _list_of(_is_likened),
        "moved": _list_of(_is_move),
        "pieces": _list_of(_is_piece),
        "lost": _list_of(_is_whole),
        "violations": _is_whole,
    }
)

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(("adopt", "remember", "edited outside", "erase"), ("agent", "ids")),
        **dict.fromkeys(("pin", "unpin"), ("agent", "ids")),
        "begin": ("agent", "run", "job", "short"),
        "decide": ("agent", "run", "decided"),
        "add": ("agent", "run", "added"),
        "likened": ("agent", "run", "likened"),
        "moved": ("agent", "run", "moved"),
        "end": ("agent", "run", "job"),
        "quarantine": ("agent", "pieces"),
        "scratchpad": ("agent", "added"),
        **dict.fromkeys(("share", "withdraw"), ("agent", "with", "of", "ids")),
        "violation": ("agent", "whose", "door"),
        "upgrade": ("formats",),
    }
)
