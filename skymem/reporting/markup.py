"""A page as a tree of elements, out of which text can't break.

There is no template and no markup in strings: a text is a node or an attribute of the tree, and the
standard library's serialiser escapes all of them (hazard H4). So nothing has to be remembered to be
escaped, and no engine of templates to be installed. What a page would obey unseen, controls and
marks of direction, is spelled out as on a terminal.
"""

from collections.abc import Iterable
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from skymem.model.harmless import plain

Child: TypeAlias = "Element | str | Iterable[Element | str] | None"

_OF_LINES = frozenset(
    {"section", "table", "tr", "div", "details", "figure", "ul", "li", "svg", "g"}
)
"""Elements behind which a line ends, for whoever compares two pages."""


def element(tag: str, *children: Child, **attributes: str | float | None) -> Element:
    """Make an element; `class_` is `class`, and `_` within a name is `-`. None is left out."""
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), _spelled(value))
    for child in children:
        add(made, child)
    if tag in _OF_LINES:
        made.tail = "\n"
    return made


def add(parent: Element, child: Child) -> None:
    """Put something at the end of an element."""
    if child is None:
        return
    if isinstance(child, str):
        _add_text(parent, plain(child))
    elif isinstance(child, Element):
        parent.append(child)
    else:
        for one in child:
            add(parent, one)


def document(root: Element) -> bytes:
    """Spell a page."""
    spelled: str = tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{spelled}\n".encode()


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        last = parent[-1]
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _spelled(value: str | float) -> str:
    return plain(value) if isinstance(value, str) else f"{round(value, 2):g}"
