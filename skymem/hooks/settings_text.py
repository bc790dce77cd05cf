"""A coding agent's settings with our hooks put in and taken out, all else left to the byte.

The text is edited where something has to stand or go, and never written anew: key order, indents,
line ends and odd spacing are a person's own.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from skymem.model.strict_json import members

HOOKS: Final = "hooks"
USUAL_INDENT: Final = "  "
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"^\s*(//|/\*|#)", re.M)

Ours = Callable[[Any], bool]
"""Whether one hook, as it stands in the settings, is ours."""


class SettingsError(ValueError):
    """Why these settings are not touched."""


class Span(NamedTuple):
    """Where something stands: a member with its key, or an item."""

    start: int
    value: int
    end: int


class Container(NamedTuple):
    """An object or a list: its brackets, and what is in it."""

    opening: int
    closing: int
    spans: list[Span]
    names: list[str]
    """Of an object, its keys."""

    def member(self, name: str) -> Span | None:
        """The member of that name."""
        return self.at(name) if name in self.names else None

    def at(self, name: str) -> Span:
        """The member of a name that is there."""
        return self.spans[self.names.index(name)]


def check(text: str) -> dict[str, Any]:
    """Read settings.

    Raises:
        SettingsError: they are no JSON, or their hooks have not the form that is documented.
    """
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        hint = "; comments are not JSON, and can't be kept" if _COMMENT.search(text) else ""
        place = f"line {error.lineno}, column {error.colno}"
        raise SettingsError(f"no JSON at {place} ({error.msg}){hint}") from None
    except RecursionError:
        raise SettingsError("nested too deep") from None
    if not isinstance(found, dict):
        raise SettingsError("no JSON object")
    hooks = found.get(HOOKS, {})
    if not isinstance(hooks, dict):
        raise SettingsError('"hooks" is no object')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise SettingsError(f'the hooks of "{event:.40}" are no list')
    return found


def with_hooks(text: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """Put one group of hooks to each event, behind what is there.

    Raises:
        SettingsError: see `check`.
    """
    check(text)
    style = _Style.of(text)
    for event, group in wanted.items():
        root = _object(text, text.index("{"))
        hooks = root.member(HOOKS)
        if hooks is None:
            text = style.insert(text, root, 1, _member(HOOKS, {event: [group]}))
            continue
        inner = _object(text, hooks.value)
        known = inner.member(event)
        if known is None:
            text = style.insert(text, inner, 2, _member(event, [group]))
        else:
            text = style.insert(text, _list(text, known.value), 3, ("", group))
    return text


def without_hooks(text: str, ours: Ours, keep: frozenset[str] = frozenset()) -> str:
    """Take our hooks out, and what is empty without them, but for the containers to `keep`.

    Args:
        text: the settings.
        ours: which hooks go.
        keep: `hooks`, and names of events, that stay where they are empty.

    Raises:
        SettingsError: see `check`.
    """
    check(text)
    while (cut := _next_cut(text, ours, keep)) is not None:
        text = text[: cut[0]] + text[cut[1] :]
    return text


def our_hooks(text: str, ours: Ours) -> dict[str, dict[str, Any]]:
    """Our group of each event, as it stands there."""
    return {
        event: group
        for event, groups in check(text).get(HOOKS, {}).items()
        for group in groups
        if all(map(ours, _hooks_of(group))) and _hooks_of(group)
    }


def containers(text: str) -> frozenset[str]:
    """`hooks`, and the events in it, as far as there are any."""
    found = check(text)
    return frozenset({HOOKS, *found[HOOKS]} if HOOKS in found else ())


def _next_cut(text: str, ours: Ours, keep: frozenset[str]) -> tuple[int, int] | None:
    """From where to where the next of ours goes; None where there is none left."""
    found = check(text)
    hooks = _object(text, text.index("{")).member(HOOKS)
    if hooks is None:
        return None
    inner = _object(text, hooks.value)
    for event, groups in found[HOOKS].items():
        for place, group in enumerate(groups):
            mine = [*map(ours, _hooks_of(group))]
            if not any(mine):
                continue
            there = _list(text, inner.at(event).value)
            if not all(mine):
                beside = _object(text, there.spans[place].value).at(HOOKS)
                return _cut(_list(text, beside.value), mine.index(True))
            if len(groups) > 1 or event in keep:
                return _cut(there, place)
            return _cut_event(text, inner, event, keep)
    return None


def _cut_event(text: str, inner: Container, event: str, keep: frozenset[str]) -> tuple[int, int]:
    """What has to go for an event to be gone; `hooks` goes with the last."""
    if len(inner.spans) > 1 or HOOKS in keep:
        return _cut(inner, inner.names.index(event))
    root = _object(text, text.index("{"))
    return _cut(root, root.names.index(HOOKS))


def _cut(within: Container, place: int) -> tuple[int, int]:
    """What has to go for one member or item to be gone, with the comma that joined it."""
    span = within.spans[place]
    if place:
        return within.spans[place - 1].end, span.end
    if len(within.spans) > 1:
        return span.start, within.spans[1].start
    return within.opening + 1, within.closing


def _hooks_of(group: Any) -> list[Any]:
    found = group.get(HOOKS) if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


class _Style(NamedTuple):
    """How a person's settings are laid out."""

    indent: str | None
    """None: all on one line."""

    line_end: str

    @classmethod
    def of(cls, text: str) -> "_Style":
        root = _object(text, text.index("{"))
        line_end = "\r\n" if "\r\n" in text else "\n"
        if not root.spans:
            return cls(USUAL_INDENT, line_end)
        before = text[root.opening + 1 : root.spans[0].start]
        if "\n" not in before:
            return cls(None, line_end)
        return cls(before.rpartition("\n")[2] or USUAL_INDENT, line_end)

    def insert(self, text: str, within: Container, depth: int, what: tuple[str, Any]) -> str:
        """Put a member or an item behind the last one there is."""
        name, value = what
        said = name + json.dumps(value, indent=self.indent, ensure_ascii=False)
        if self.indent is None:
            return _put(text, within, said, ", ", "")
        begin = self.line_end + self.indent * depth
        end = self.line_end + self.indent * (depth - 1)
        return _put(text, within, begin + said.replace("\n", begin), ",", end)


def _put(text: str, within: Container, said: str, comma: str, end: str) -> str:
    if within.spans:
        last = within.spans[-1].end
        return f"{text[:last]}{comma}{said}{text[last:]}"
    return f"{text[: within.opening + 1]}{said}{end}{text[within.closing :]}"


def _member(name: str, value: Any) -> tuple[str, Any]:
    return f"{json.dumps(name)}: ", value


def _object(text: str, start: int) -> Container:
    """The object that begins at a place."""
    found = members(text[start:])
    spans = [Span(start + key, start + value, start + end) for _, key, value, end in found]
    last = spans[-1].end if spans else start + 1
    return Container(start, _past_space(text, last), spans, [name for name, *_ in found])


def _list(text: str, start: int) -> Container:
    """The list that begins at a place."""
    spans = [*_items(text, start)]
    last = spans[-1].end if spans else start + 1
    return Container(start, _past_space(text, last), spans, [])


def _items(text: str, start: int) -> Iterator[Span]:
    decoder = json.JSONDecoder()
    position = _past_space(text, start + 1)
    while text[position] != "]":
        _, end = decoder.raw_decode(text, position)
        yield Span(position, position, end)
        position = _past_space(text, end)
        if text[position] == ",":
            position = _past_space(text, position + 1)


def _past_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SettingsError("a key stands twice in one object; which one counts can't be told")
    return found


def _no_number(name: str) -> NoReturn:
    raise SettingsError(f"{name} is not JSON")
