"""Where sentences begin and end, without a model.

A sentence that is cut in two says half; one too many in a span only says more. So in doubt there is
no end: not after an abbreviation, an initial, a number's or a version's point, within a URL, within
code or brackets, nor where a small letter follows.
"""

import re
from collections.abc import Iterator
from typing import Final

from skymem.model.regex import regex
from skymem.policy.cues import ABBREVIATIONS, CONTRASTS

Span = tuple[int, int]
"""Start and end in a text, in characters."""

_CANDIDATE: Final = regex(
    r"(?P<wide>[。！？｡]+[」』）\"'”’]*)"
    r"|(?P<narrow>[.!?…؟।۔]+)(?P<closing>[\"'”’»)\]*_]*)(?=\s|$)"
    r"|(?P<line>[ \t\r]*\n\s*)"
)
_FENCE: Final = regex(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_BULLET: Final = regex(r"(?:[-*+•‣▪–—]|\d{1,3}[.)]|[a-z]\))[ \t]+")
_FIRST_WORD: Final = regex(r"[\W_]*(\w+)")
_CONTRASTS_UNSPACED: Final = tuple(word for word in CONTRASTS if not word[0] < "\u3000")
_LAST_WORD: Final = regex(r"[\w.]*\w$")


def sentences(text: str) -> list[Span]:
    """Part a text into its sentences, in order and without the space around them.

    They don't overlap, none is blank, and everything between two of them is space or a bullet.
    """
    found: list[Span] = []
    start = 0
    for end in (*_ends(text), len(text)):
        span = _trimmed(text, start, end)
        if span is not None:
            found.append(span)
        start = end
    return found


def lead(text: str, limit: int) -> Span | None:
    """Span the whole of a text, or as many of its first sentences as fit; None when none does.

    Args:
        text: a memory's content.
        limit: characters.
    """
    whole = _stripped(text, 0, len(text))
    if whole is None or whole[1] - whole[0] <= limit:
        return whole
    start = whole[0]
    found = sentences(text)
    for place in range(len(found) - 1, -1, -1):
        end = found[place][1]
        last = place + 1 == len(found)
        if end - start <= limit and (last or not contrasts(text, found[place + 1][0])):
            return start, end
    return None


def contrasts(text: str, start: int) -> bool:
    """Whether the sentence that starts there takes back some of the one before it."""
    match = _FIRST_WORD.match(text, start)
    if match is None:
        return False
    word = match.group(1).casefold()
    return word in CONTRASTS or word.startswith(_CONTRASTS_UNSPACED)


def around(text: str, start: int, end: int) -> Span:
    """Widen a span to the whole sentences it touches, the heading they stand under, and a "but".

    A piece of a sentence can say the contrary of it, and so can a line of a list without its title,
    or a sentence without the next that takes half of it back.
    """
    found = sentences(text)
    touched = [span for span in found if span[0] < end and start < span[1]]
    if not touched:
        return start, end
    first, last = found.index(touched[0]), found.index(touched[-1])
    while last + 1 < len(found) and contrasts(text, found[last + 1][0]):
        last += 1
    for index in range(first - 1, -1, -1):
        here = found[index]
        if "\n\n" in text[here[1] : found[index + 1][0]].replace(" ", ""):
            break
        if text[here[0] : here[1]].endswith((":", "：")):
            first = index
            break
    return found[first][0], found[last][1]


def _ends(text: str) -> Iterator[int]:
    fences = [match.span() for match in _FENCE.finditer(text)]
    fence = 0
    for match in _CANDIDATE.finditer(text):
        while fence < len(fences) and fences[fence][1] <= match.start():
            fence += 1
        if fence < len(fences) and fences[fence][0] < match.start():
            continue
        if match.lastgroup == "line":
            if _line_ends(text, match):
                yield match.end()
        elif match.group("wide") or _point_ends(text, match):
            yield match.end()


def _line_ends(text: str, match: re.Match[str]) -> bool:
    """Whether a line break is more than a wrapped line: an empty line, a bullet, a capital."""
    if match.group().count("\n") > 1:
        return True
    rest = text[match.end() : match.end() + 8]
    if _BULLET.match(rest) or not rest:
        return True
    before = text[max(0, match.start() - 1) : match.start()]
    return not (before.isalnum() or before in ",;-–—(") or not (rest[0].islower())


def _point_ends(text: str, match: re.Match[str]) -> bool:
    rest = text[match.end() :].lstrip()[:1]
    if not rest or rest == "\n":
        return True
    if rest.islower():
        return False  # "approx. five", "… and then", "iPhone" at worst
    if match.group("narrow") != "." or match.group("closing"):
        return True
    before = _LAST_WORD.search(text[max(0, match.start() - 24) : match.start()])
    word = before.group() if before else ""
    if word.casefold() in {"no", "nos"}:
        return not rest.isdigit()
    if word.casefold() in ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return False  # or an initial
    line = text.rfind("\n", 0, match.start()) + 1
    return not _BULLET.fullmatch(text[line : match.end() + 1].lstrip())


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """Take space and a bullet off; None when nothing is left."""
    span = _stripped(text, start, end)
    if span is None:
        return None
    bullet = _BULLET.match(text, *span)
    return _stripped(text, bullet.end(), span[1]) if bullet else span


def _stripped(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = end - (len(piece) - len(piece.rstrip()))
    return (left, right) if left < right else None
