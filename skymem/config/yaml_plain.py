"""YAML of the plainest kind, read without the library, whose loading takes longer than most verbs.

That is: comments, and keys with plain words or numbers, in nested mappings. A home's rules are
often no more. Of anything else, right or wrong, nothing is said here: the library reads it. Both
ways agree wherever this one says something; a property test holds them to it.
"""

import re
from typing import Final, NamedTuple

from skymem.config.yaml_nodes import Node, Pair, Scalar, Table, resolve_plain
from skymem.model.regex import regex

LINES_MAX: Final = 1_000
DEPTH_MAX: Final = 8

_LINE: Final = regex(
    r" *(?P<key>[a-z][a-z0-9_]{0,63}):"
    r"(?: +(?P<value>[A-Za-z0-9](?:[A-Za-z0-9_.%/+-]*[A-Za-z0-9_%/+])?))?(?: *| +#.*)"
)
_NOTHING: Final = regex(r" *(?:#.*)?")


class _Line(NamedTuple):
    number: int
    indent: int
    found: re.Match[str]


def read_plainly(text: str) -> Table | None:
    """Read a mapping; None where it is for the library to read, or to complain about."""
    lines: list[_Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number > LINES_MAX or not line.isprintable():
            return None
        if not _NOTHING.fullmatch(line):
            found = _LINE.fullmatch(line)
            if found is None:
                return None
            lines.append(_Line(number, found.start("key"), found))
    table, end = _table(lines, 0, 0) if lines else (None, 0)
    return table if end == len(lines) else None


def _table(lines: list[_Line], start: int, depth: int) -> tuple[Table | None, int]:
    """The mapping that begins there, and where it ends; None where something isn't plain."""
    indent, pairs, at = lines[start].indent, dict[str, Pair](), start
    if depth > DEPTH_MAX or (depth == 0 and indent):
        return None, start
    while at < len(lines) and lines[at].indent == indent:
        line = lines[at]
        key = _scalar(line, "key")
        value: Node | None = _scalar(line, "value") if line.found["value"] else None
        at += 1
        deeper = at < len(lines) and lines[at].indent > indent
        if value is None and deeper:
            value, at = _table(lines, at, depth + 1)
        elif deeper:
            return None, start
        if value is None or key.text in pairs:
            return None, start
        pairs[key.text] = Pair(key, value)
    return Table(tuple(pairs.values()), lines[start].number, indent + 1), at


def _scalar(line: _Line, group: str) -> Scalar:
    text = line.found[group]
    return Scalar(text, resolve_plain(text), line.number, line.found.start(group) + 1)
