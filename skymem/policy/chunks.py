"""Cutting documents into chunks that can be found and cited, each from one place (row W8).

A chunk never reaches over a heading, a page, a message or a thread. Within one it is made of whole
paragraphs and turns as far as they fit, of whole sentences where a paragraph is longer, and of
words where a sentence is. It begins with what it stands under, and repeats the end of the one
before, so that what stands across a cut is found from either side.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from skymem.model.regex import regex
from skymem.policy.sentences import sentences

Place: TypeAlias = tuple[tuple[str, str | int], ...]
"""Where something stands in its document: heading, page, message, thread, speaker, time."""

TOP_SHARE: Final = 4
"""What stands over a chunk may take one part in so many of it."""

SENTENCES_CHARS_MAX: Final = 20_000
"""A longer paragraph is no prose: it is cut at line ends and spaces, whatever stands there."""

_SPACE: Final = regex(r"\s+")
_LINES: Final = regex(r"(?<=\n)")
_STOP: Final = regex(r"(?<=[.!?:;])\s+|\n+")


class Block(NamedTuple):
    """A paragraph of a document, a turn of a talk, a message of a thread."""

    text: str
    place: Place = ()
    section: tuple[str | int, ...] = ()
    """Blocks that follow each other in one section may share a chunk."""

    top: str = ""
    """What each chunk of the section begins with: its headings, or who wrote to whom."""

    time_us: int | None = None
    """When it was said or written, where the document tells; microseconds since the epoch."""

    tight: bool = False
    """Whether it follows the one before without a blank line, as a turn does."""


class Piece(NamedTuple):
    """A chunk: its text, and where and when its own part begins."""

    text: str
    place: Place
    time_us: int | None


class _Atom(NamedTuple):
    """What is not cut any further, and what stands between it and the one before."""

    text: str
    joint: str
    block: Block


def cut(blocks: Iterable[Block], chars: int, overlap: int) -> Iterator[Piece]:
    """Cut a document.

    Args:
        blocks: what it says, in its order.
        chars: of a chunk, at most, with all that is in it.
        overlap: of what stands before a chunk, at most; half a chunk where that is less.
    """
    for _, group in groupby(blocks, key=lambda block: block.section):
        section = [block for block in group if block.text.strip()]
        if not section:
            continue
        top = _shortened(section[0].top, chars // TOP_SHARE)
        over = f"{top}\n\n" if top else ""
        room = chars - len(over)
        atoms = [atom for block in section for atom in _atoms(block, room)]
        for text, first in _packed(atoms, room, min(overlap, room // 2)):
            yield Piece(over + text, first.place, first.time_us)


def _packed(atoms: Sequence[_Atom], room: int, overlap: int) -> Iterator[tuple[str, Block]]:
    """Put atoms together as far as they fit; each text with the block its own part begins in."""
    text, first = "", None
    for atom in atoms:
        if first is not None and len(text) + len(atom.joint) + len(atom.text) > room:
            yield text, first
            text, first = _end_of(text, min(overlap, room - len(atom.text) - len(atom.joint))), None
        first = first or atom.block
        text = text + atom.joint + atom.text if text else atom.text
    if first is not None:
        yield text, first


def _end_of(text: str, chars: int) -> str:
    """The end of a text, from where a sentence begins in it, else a word."""
    if chars <= 0:
        return ""
    end = text[-chars:]
    if len(end) == len(text):
        return end
    parts = _STOP.split(end, maxsplit=1)
    if len(parts) == 2 and len(parts[1]) * 3 >= len(end):
        return parts[1]
    words = _SPACE.split(end, maxsplit=1)
    return words[1] if len(words) == 2 else ""


def _atoms(block: Block, room: int) -> Iterator[_Atom]:
    joint = "\n" if block.tight else "\n\n"
    text = block.text.strip()
    if len(text) <= room:
        yield _Atom(text, joint, block)
        return
    for part in _parts(text, room):
        yield _Atom(part, joint, block)
        joint = "\n" if "\n" in text else " "


def _parts(text: str, room: int) -> Iterator[str]:
    """Sentences, or lines of what is no prose; those that are longer by words."""
    if len(text) > SENTENCES_CHARS_MAX:
        parts: Iterable[str] = _LINES.split(text)
    else:
        parts = (text[start:end] for start, end in sentences(text))
    for part in parts:
        if len(part.strip()) <= room:
            yield from filter(None, [part.strip()])
        else:
            yield from _by_words(part.strip(), room)


def _by_words(text: str, room: int) -> Iterator[str]:
    at = 0
    while len(text) - at > room:
        end = max(
            text.rfind(" ", at + room // 2, at + room), text.rfind("\n", at + room // 2, at + room)
        )
        end = at + room if end < 0 else end
        yield text[at:end].strip()
        at = end
    yield text[at:].strip()


def _shortened(top: str, chars: int) -> str:
    """What stands over a chunk, on one line; of a longer one its end, which is nearest to it."""
    said = " ".join(top.split())
    return said if len(said) <= chars else "…" + said[len(said) - chars + 1 :]
