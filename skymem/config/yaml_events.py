"""What the YAML library tells of a text, made into nodes that know where they stand.

Of the library only its parser is used: see `yaml_text`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import yaml

from skymem.config.problems import Complaints, shown
from skymem.config.yaml_hints import explain_parser_error
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar, Table, resolve_plain

_NODES_MAX: Final = 10_000  # after aliases are followed: an alias bomb grows past any number
_DEPTH_MAX: Final = 32

_CORE_TAG: Final = "tag:yaml.org,2002:"
_COLLECTION_TAGS: Final = {"map": yaml.MappingStartEvent, "seq": yaml.SequenceStartEvent}


Place = tuple[int, int]


class _StructureError(Exception):
    """Nothing after this place can be read."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.line, self.column = place


def parse_events(text: str, complaints: Complaints) -> Node | None:
    """Parse one document; None when it is empty or cannot be read, the latter with a complaint."""
    builder = _Builder(complaints)
    try:
        return builder.document(yaml.parse(text, Loader=yaml.SafeLoader))
    except _StructureError as error:
        complaints.at(error, str(error))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        complaints.note(
            line, column, f"the character U+{ord(text[error.position]):04X} is not text"
        )
    except yaml.MarkedYAMLError as error:
        line, column, message = explain_parser_error(text, error)
        complaints.note(line, column, message)
    except (ValueError, OverflowError):
        # PyYAML lets these out of its scanner, for "\UFFFFFFFF" and for %YAML 999… alike.
        complaints.note(*builder.place, "a number or escape after this is out of range")
    return None


@dataclass(slots=True)
class _Builder:
    """Makes nodes of the parser's events, within limits."""

    complaints: Complaints
    place: Place = (1, 1)
    nodes: int = 0
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict)

    def document(self, events: Iterator[yaml.Event]) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in events:
            self.place = _place(event)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _StructureError(
                        _place(event), "a second document starts here (remove the --- line)"
                    )
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, 0)
        return root

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        self.place = _place(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        size_before = self.nodes
        self._count(1, self.place)
        if depth >= _DEPTH_MAX:
            raise _StructureError(_place(event), f"nested more than {_DEPTH_MAX} deep")
        node: Node
        if isinstance(event, yaml.MappingStartEvent):
            node = self._table(event, events, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._items(event, events, depth)
        elif isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        else:  # pragma: no cover - the parser has no other node
            raise _StructureError(_place(event), "this is no value")
        anchor = event.anchor
        if anchor is not None:
            self.anchors[anchor] = (node, self.nodes - size_before)
        return node

    def _count(self, nodes: int, place: Place) -> None:
        self.nodes += nodes
        if self.nodes > _NODES_MAX:
            message = f"more than {_NODES_MAX} values, counting what aliases repeat"
            raise _StructureError(place, message)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        # Noted only once its node is whole, so an alias inside its own anchor is unknown too.
        if event.anchor not in self.anchors:
            name = shown(f"*{event.anchor}")
            message = f"{name} repeats an anchor that is not there (for text, put quotes around it)"
            raise _StructureError(_place(event), message)
        node, size = self.anchors[event.anchor]
        self._count(size, self.place)
        return node

    def _table(
        self, start: yaml.CollectionStartEvent, events: Iterator[yaml.Event], depth: int
    ) -> Table:
        self._check_tag(start)
        pairs: dict[str, Pair] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if not isinstance(key, Scalar):
                self.complaints.at(key, "a key must be one word, not a list or mapping")
            elif key.text in pairs:
                first = pairs[key.text].key.line
                message = f"duplicate key {shown(key.text)} (first on line {first}, again here)"
                self.complaints.at(key, message)
            else:
                pairs[key.text] = Pair(key, value)
        return Table(tuple(pairs.values()), *_place(start))

    def _items(
        self, start: yaml.CollectionStartEvent, events: Iterator[yaml.Event], depth: int
    ) -> Items:
        self._check_tag(start)
        items: list[Node] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, events, depth + 1))
        return Items(tuple(items), *_place(start))

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        plain = event.implicit[0]
        value = resolve_plain(event.value) if plain and event.tag is None else event.value
        if event.tag is not None and event.tag not in ("!", f"{_CORE_TAG}str"):
            self._complain_of_tag(event, event.tag)
        return Scalar(event.value, value, *_place(event))

    def _check_tag(self, event: yaml.CollectionStartEvent) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            return
        kind = _COLLECTION_TAGS.get(tag.removeprefix(_CORE_TAG))
        if kind is None or not isinstance(event, kind):
            self._complain_of_tag(event, tag)

    def _complain_of_tag(self, event: yaml.Event, tag: str) -> None:
        written = tag.replace(_CORE_TAG, "!!")
        self.complaints.note(*_place(event), f"the tag {shown(written)} is not allowed (remove it)")


def _place(event: yaml.Event) -> Place:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
