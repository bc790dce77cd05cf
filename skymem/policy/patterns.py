"""What several tenants have in common, without anything that is one tenant's own (row W10).

A text is generalised before it is compared: names, numbers, ids, paths and quotations become slots.
What then is equal, word for word, in the texts of enough tenants is a pattern. So no word of it is
known from fewer tenants than that; and of who they are only the number is told.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from skymem.model.regex import regex
from skymem.policy import cues
from skymem.policy.sentences import sentences
from skymem.policy.telling import COMMITMENTS, DECISIONS, LEANINGS
from skymem.policy.terms import STOP_WORDS

Kind = Literal["flow", "statement"]

WORDS_LEAST: Final = 3
"""Telling words of a statement: with fewer it says nothing, or is all slots."""

CALLS_MAX: Final = 40
"""A longer flow is its tenant's own business."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAME: Final = "{name}"
NUMBER: Final = "{number}"
QUOTED: Final = "{quoted}"
ID: Final = "{id}"

_PIECE: Final = regex(
    r"(?P<quoted>\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“\n]*“|`[^`\n]*`|(?<!\w)'[^'\n]+'(?!\w))"
    r"|(?P<id>\w+://\S+|\S+@\S+|[@#$]\w[\w.\-]*|\S*[\\/~_]\S*|\w+(?:\.\w+)+"
    r"|(?=[\w\-]*\d)[\w\-]*[^\W\d_][\w\-]*)"
    r"|(?P<number>[+\-]?\d+(?:[.,:/\-]\d+)*)"
    r"|(?P<word>[^\W\d_]+(?:['’\-][^\W\d_]+)*)"
)
_TOOL: Final = regex(r"[a-z][a-z0-9_.\-]{0,63}")
_TOOL_KEYS: Final = ("tool", "name", "tool_id", "tool_name", "function", "id")

_COMMON: Final = _words(
    """
    account accounts agent agents amounts answer answers ask assets bills budgets buyers call
    calls cases change changes charts check checks claims clients close complaints contracts costs
    credit customers data dates deadlines deliveries discounts documents draft emails employees
    errors exports figures files fees goods hours invoices issues keep leads legal letters limits
    links list loans mail make managers margins meetings messages money notes offers open orders
    owners partners payments people plans policies prices products projects proposals put
    questions quote quotes read record records refunds report reports requests returns revenue
    reviews risks sales save send sources staff start statements stock suppliers support sums
    tables take tasks taxes teams terms test tests tickets tools totals use users values vendors
    wait work write
    """
)
"""Words that begin a sentence without being a name."""

_KNOWN: Final = (
    _COMMON | STOP_WORDS | cues.NEGATIONS | cues.HEDGES | DECISIONS | LEANINGS | COMMITMENTS
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What several tenants have in common."""

    kind: Kind
    """`flow`: which tools, in which order; `statement`: what they know of their business."""

    text: str
    tenants: int
    """How many have it."""

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {"kind": self.kind, "text": self.text, "tenants": self.tenants}


def statements(text: str) -> set[str]:
    """Generalise each sentence of a text; those that still say something."""
    found = (generalised(text[start:end]) for start, end in sentences(text))
    return {one for one in found if _says(one)}


def generalised(sentence: str) -> str:
    """Put slots where names, numbers, ids, paths and quotations stand; the rest in small letters.

    What begins the sentence with a capital is a name, unless it is a word that many sentences begin
    with. So is what is written without a difference of large and small.
    """
    pieces: list[str] = []
    for match in _PIECE.finditer(sentence):
        slot = _slot(match, first=not pieces)
        if not (pieces and slot == pieces[-1] and slot.startswith("{")):
            pieces.append(slot)
    return " ".join(pieces)


def _slot(match: re.Match[str], *, first: bool) -> str:
    kind, text = match.lastgroup, match.group()
    if kind != "word":
        return {"quoted": QUOTED, "id": ID}.get(kind or "", NUMBER)
    word = text.casefold().replace("’", "'")
    if word in cues.NUMBER_WORDS or word in cues.COUNTS or word in cues.CLOCK_WORDS:
        return NUMBER
    if text == text.lower() and text != text.upper():
        return word
    begins = first and text[1:] == text[1:].lower()
    return word if begins and word in _KNOWN else NAME


def _says(text: str) -> bool:
    words = [word for word in text.split() if not word.startswith("{")]
    return len([word for word in words if word not in STOP_WORDS]) >= WORDS_LEAST


def flow(flow_dact: str, tool_calls: Iterable[Mapping[str, Any]]) -> str:
    """Which flow, and which tools it calls in which order; "" where one of them has no plain name.

    Nothing of what they are called with is in it.
    """
    names = [_tool(call) for call in tool_calls]
    if not _TOOL.fullmatch(flow_dact) or not all(names) or len(names) > CALLS_MAX:
        return ""
    return f"{flow_dact}: {' → '.join(names)}"


def _tool(call: Mapping[str, Any]) -> str:
    """The tool's name, under whichever key; "" where it is none that could be anybody's."""
    for key in _TOOL_KEYS:
        value = call.get(key)
        if isinstance(value, Mapping):
            value = value.get("name")
        if isinstance(value, str):
            return value if _TOOL.fullmatch(value) else ""
    return ""


def in_common(told: Mapping[str, Mapping[Kind, set[str]]], least: int) -> list[Pattern]:
    """What at least so many tenants have in common, most common first.

    Args:
        told: what each tenant's playbooks and business context come to, generalised.
        least: how many tenants.
    """
    counts: dict[tuple[Kind, str], int] = {}
    for kinds in told.values():
        for kind, texts in kinds.items():
            for text in texts:
                counts[kind, text] = counts.get((kind, text), 0) + 1
    found = [Pattern(*key, count) for key, count in counts.items() if count >= max(2, least)]
    return sorted(found, key=lambda one: (-one.tenants, one.kind, one.text))
