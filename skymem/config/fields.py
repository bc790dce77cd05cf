"""Single values out of a YAML mapping, each checked against its row of the table of keys.

Every reader gives the value, or None after it has complained.
"""

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from skymem.config.key import Key
from skymem.config.keys import key_at, names_at, unknown_key
from skymem.config.problems import Complaints, shown
from skymem.config.units import parse_duration, parse_percentage, parse_size
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar, Table, resolve_plain

Quantity = TypeVar("Quantity", int, float)

_TRUTH_WORDS: Final = {"yes": "true", "on": "true", "y": "true",
                       "no": "false", "off": "false", "n": "false"}  # fmt: skip


def known_pairs(
    table: Table, file: str, level: str, complaints: Complaints
) -> Iterator[tuple[Pair, Key]]:
    """The pairs whose key is known at this place, with its row; the others are complained about."""
    names = names_at(file, level)
    for pair in table.pairs:
        if pair.key.text in names:
            yield pair, key_at(file, level, pair.key.text)
        else:
            complaints.at(pair.key, unknown_key(file, level, pair.key.text))


def scalar(pair: Pair, key: Key, complaints: Complaints) -> Scalar | None:
    """The value as one word or number; present but empty is refused, for every key."""
    if not has_value(pair, key, complaints):
        return None
    if isinstance(pair.value, Scalar):
        return pair.value
    _wrong_shape(pair.value, key, complaints)
    return None


def table(pair: Pair, key: Key, complaints: Complaints) -> Table | None:
    """The value as a mapping."""
    if not has_value(pair, key, complaints):
        return None
    if isinstance(pair.value, Table):
        return pair.value
    _wrong_shape(pair.value, key, complaints)
    return None


def items(pair: Pair, key: Key, complaints: Complaints) -> Items | None:
    """The value as a list."""
    if not has_value(pair, key, complaints):
        return None
    if isinstance(pair.value, Items):
        return pair.value
    _wrong_shape(pair.value, key, complaints)
    return None


def number(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    """A finite number within the key's bounds; truth values and quoted digits are none."""
    found = scalar(pair, key, complaints)
    if found is None:
        return None
    value = found.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        complaints.at(found, _not_a_number(found, key))
        return None
    if not math.isfinite(value):
        complaints.at(found, f"{key.name}: {_bare(found)} is not a finite number")
        return None
    return value if _within(value, found, key, complaints) else None


def whole(pair: Pair, key: Key, complaints: Complaints) -> int | None:
    """A whole number within the key's bounds."""
    value = number(pair, key, complaints)
    if value is None:
        return None
    if not isinstance(value, int):
        complaints.at(pair.value, f"{key.name}: {_bare(pair.value)} is not a whole number")
        return None
    return value


def truth(pair: Pair, key: Key, complaints: Complaints) -> bool | None:
    """True or false; YAML 1.1's yes, no, on and off are text and refused by name."""
    found = scalar(pair, key, complaints)
    if found is None or isinstance(found.value, bool):
        return None if found is None else bool(found.value)
    meant = _TRUTH_WORDS.get(found.text.lower(), "true or false")
    complaints.at(found, f"{key.name}: {shown(found.text)} is not a truth value (write {meant})")
    return None


def choice(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """One of the key's words."""
    found = scalar(pair, key, complaints)
    if found is None or found.text in key.choices:
        return None if found is None else found.text
    complaints.at(found, f"{key.name}: {shown(found.text)} is not {key.type}")
    return None


def duration(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    """A duration with its unit, in seconds."""
    return _with_unit(pair, key, complaints, parse_duration)


def percentage(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    """A percentage with its sign, as a share from 0 to 1."""
    return _with_unit(pair, key, complaints, parse_percentage)


def size(pair: Pair, key: Key, complaints: Complaints) -> int | None:
    """A size with its unit, in bytes."""
    return _with_unit(pair, key, complaints, parse_size)


def text(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """A word, as it is written; quotes with nothing in them are none."""
    found = scalar(pair, key, complaints)
    if found is None or found.text.strip():
        return None if found is None else found.text
    complaints.at(found, f"{key.name} is empty (such as {key.example})")
    return None


def says_none(pair: Pair) -> bool:
    """Whether `none` stands there, for a key that may be unset."""
    return isinstance(pair.value, Scalar) and pair.value.text == "none"


def has_value(pair: Pair, key: Key, complaints: Complaints) -> bool:
    """Whether anything stands behind the key.

    An empty one is refused rather than read as the default: who wrote the key meant something.
    """
    if isinstance(pair.value, Scalar) and pair.value.value is None:
        remedy = "" if key.default == "required" else ", or remove the line for the default"
        complaints.at(pair.key, f"{key.name} has no value (such as {key.example}{remedy})")
        return False
    return True


def _with_unit(
    pair: Pair, key: Key, complaints: Complaints, parse: Callable[[str], Quantity]
) -> Quantity | None:
    found = scalar(pair, key, complaints)
    if found is None:
        return None
    try:
        value = parse(found.text)
    except ValueError as error:
        complaints.at(found, f"{key.name}: {shown(found.text)} {error}")
        return None
    return value if _within(value, found, key, complaints) else None


def _wrong_shape(node: Node, key: Key, complaints: Complaints) -> None:
    shape = "a list" if isinstance(node, Items) else "a mapping"
    if isinstance(node, Scalar):
        shape = shown(node.text)
    complaints.at(node, f"{key.name} must be a {key.kind}, not {shape} (such as {key.example})")


def _bare(node: Node) -> str:
    """A number as it was written, cut when it is longer than anyone would read."""
    return shown(node.text)[1:-1] if isinstance(node, Scalar) else ""


def _not_a_number(found: Scalar, key: Key) -> str:
    complaint = f"{key.name}: {shown(found.text)} is not a {key.kind}"
    if isinstance(found.value, str):
        plain = resolve_plain(found.text.strip())
        if isinstance(plain, int | float) and not isinstance(plain, bool):
            return f"{complaint} but text (write it without quotes)"
    return f"{complaint} (such as {key.example})"


def _within(value: float, found: Scalar, key: Key, complaints: Complaints) -> bool:
    if not key.most or key.least <= value <= key.most:
        return True
    bounds = f"{key.in_unit(key.least)} to {key.in_unit(key.most)}"
    complaints.at(found, f"{key.name}: {_bare(found)} is not in {bounds}")
    return False
