"""Is a snippet worth keeping beyond its conversation? By rules anyone can follow (row W2).

Four things are weighed, each a number against a threshold: whether somebody asked for it, how much
of a general principle it is, how new it is, and in how many conversations it was found. What was
asked for is promoted; else what is a principle, and is new or found again and again. What is not
believed, is sensitive, or stands there already is not, whoever asks.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from skymem.model.plan import Reason
from skymem.model.regex import regex
from skymem.model.rules import ScratchpadRules
from skymem.policy import cues

Destination = Literal["context", "preference"]
"""Business context, or a user's preferences."""

FOUND_AGAIN: Final = 0.6
"""Share of telling words, from which two snippets say the same."""

KNOWN: Final = 0.9
"""The same, from which what is promoted already says it."""


def _any(words: str) -> str:
    return rf"\b(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})\b".replace("_", r"\s+")


def _signs(**patterns: str) -> Mapping[str, re.Pattern[str]]:
    each = {name: regex(one, re.IGNORECASE) for name, one in patterns.items()}
    return MappingProxyType(each)


PRINCIPLE_WORDS: Final = MappingProxyType(
    {
        "always": (
            "always never usually generally typically normally whenever wherever every any each "
            "all everyone nobody in_general as_a_rule by_default every_time immer nie niemals "
            "meistens grundsätzlich generell toujours jamais généralement siempre nunca "
            "generalmente"
        ),
        "must": (
            "must should shall ought need_to needs_to has_to have_to required requires require "
            "only avoid do_not don't muss müssen soll sollen sollte doit doivent il_faut debe deben"
        ),
        "because": (
            "because therefore so_that means_that depends_on due_to leads_to causes implies weil "
            "daher deshalb bedeutet parce_que car donc porque por_eso"
        ),
        "instead": (
            "instead rather better worse than unless otherwise statt anstatt plutôt en_vez_de"
        ),
        "rule": (
            "rule principle policy convention pattern standard lesson guideline definition "
            "defined_as counts_as is_called refers_to Regel Grundsatz règle principe regla "
            "principio"
        ),
        "prefers": (
            "prefer prefers preferred favourite favorite likes dislikes wants would_rather "
            "bevorzugt mag préfère aime prefiere gusta"
        ),
    }
)
"""Words, and words joined by `_`, that speak for a general principle, by the name of the sign."""

OBSERVATION_WORDS: Final = MappingProxyType(
    {
        "moment": " ".join(sorted(cues.CLOCK_WORDS - {"daily", "weekly", "monthly", "may", "mar"})),
        "past": (
            "was were found saw seen looked noticed observed showed returned contained fell rose "
            "grew dropped increased decreased failed crashed happened did had ran loaded war waren "
            "fand était étaient fue fueron"
        ),
        "this": (
            "this these that_file here first_rows sample diese dieser dieses ce cette este esta"
        ),
    }
)
"""The same for what speaks for one thing that was seen."""

PRINCIPLE: Final = _signs(
    **{name: _any(PRINCIPLE_WORDS[name]) for name in ("always", "must", "because", "instead")},
    rule=_any(PRINCIPLE_WORDS["rule"]),
    when=r"\b(?:if|when|once|wenn|falls|quand|lorsque|cuando|si)\b[^.?!]*[, ]",
    prefers=_any(PRINCIPLE_WORDS["prefers"]),
)
"""What speaks for a general principle, by name: each counts once, however often it is there."""

OBSERVATION: Final = _signs(
    number=r"\d",
    **{name: _any(words) for name, words in OBSERVATION_WORDS.items()},
    place=r"(?:https?://|\b[\w.-]+/[\w./-]+|\b\w+\.(?:csv|xlsx?|json|parquet|py|txt|md|log|sql)\b)",
)
"""What speaks for one thing that was seen, by name."""

_ASKED: Final = regex(
    r"\s*(?:please[ ,]+)?(?:do\s+)?(?:remember|don['’]t forget|do not forget|keep in mind|"
    r"note for (?:later|the future)|save (?:this )?to memory|merk(?:e)? (?:dir|euch)|"
    r"vergiss nicht|souviens-toi|n['’]oublie pas|recuerda|no olvides)\b",
    re.IGNORECASE,
)
_HOW: Final = (
    r"(?:(?:really|always|usually|generally|only|does\s+not|do\s+not|doesn['’]t|don['’]t)\s+)*"
)
_PREFERS: Final = regex(
    r"(?i:\b(?:prefer(?:s|red)?|favou?rite|would\s+rather|bevorzugt?|préfère|prefiere)\b)"
    r"|(?i:\b(?:I|we|you|users?|customers?|clients?|she|he|they|team|boss|manager|ich|je)\s+)"
    + _HOW
    + r"(?:likes?|loves?|dislikes?|hates?|wants?|mag|möchte|aime|veux)\b"
    rf"|\b[A-Z][a-z]+\s+{_HOW}(?:likes|loves|dislikes|hates|wants|mag|aime|quiere)\b"
    r"|(?i:\b(?:please|bitte)\s+(?:always|never|don['’]t|do\s+not|immer|nie)\b)"
)
"""A name is told from "data like this" by the ending of its verb."""


class Salience(NamedTuple):
    """How much of a general principle a text is."""

    value: float
    """The share of what speaks for one among all that speaks for or against it, 0 to 1."""

    signs: str
    """What does, by name."""


class Weighed(NamedTuple):
    """What becomes of one snippet, and why."""

    id: str
    to: Destination | None
    """None leaves it to its conversation."""

    by: str
    """The gate that decided."""

    gates: tuple[Reason, ...]
    """Every one, with its value against its threshold."""

    def as_json(self) -> dict[str, Any]:
        """Spell it; no text of a memory is in it."""
        gates = [
            {"gate": one.gate, "value": one.value, "threshold": one.threshold, "note": one.note}
            for one in self.gates
        ]
        return {"id": self.id, "to": self.to, "by": self.by, "gates": gates}


class Facts(NamedTuple):
    """What is known of a snippet beside its words."""

    remember: bool
    """Whether its writer says that somebody asked for it."""

    trust: float
    """How far it is believed, 0 to 1."""

    needed: float
    """How far it must be."""

    sensitive: bool
    known: str
    """What says the same already: `context`, `preference`, or that it was promoted before."""

    likeness: float
    """The best among long-term memories, 0 to 1."""

    told_by: str
    """What likeness was told by: `meaning` and words, or `words` alone."""

    sessions: int
    """Conversations it was found in."""


def weigh(name: str, text: str, facts: Facts, rules: ScratchpadRules) -> Weighed:
    """Decide one snippet."""
    asked = facts.remember or asks(text)
    salience = salience_of(text)
    surprisal = round(1 - facts.likeness, 3)
    how = "said so by its writer" if facts.remember else "by its words" if asked else ""
    gates = (
        Reason("explicit", float(asked), 1.0, how),
        Reason("salience", salience.value, rules.salience, salience.signs),
        Reason("surprisal", surprisal, rules.surprisal, f"told by {facts.told_by}"),
        Reason("frequency", float(facts.sessions), float(rules.sessions), "conversations"),
    )
    held = _held_by(facts)
    if held is not None:
        return Weighed(name, None, held.gate, (held, *gates))
    to, by = _passed(gates, text)
    return Weighed(name, to, by, gates)


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of telling words (`policy.terms`) that two texts have in common, 0 to 1."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def asks(text: str) -> bool:
    """Whether it asks for itself to be remembered."""
    return _ASKED.match(text) is not None


def is_preference(text: str) -> bool:
    """Whether it states what somebody likes, or how somebody wants things done."""
    return _PREFERS.search(text) is not None


def salience_of(text: str) -> Salience:
    """Weigh what speaks for a general principle against what speaks for an observation."""
    found = [name for name, sign in PRINCIPLE.items() if sign.search(text)]
    against = [name for name, sign in OBSERVATION.items() if sign.search(text)]
    if not found:
        return Salience(0.0, f"against: {', '.join(against)}" if against else "no sign of one")
    value = round(len(found) / (len(found) + len(against)), 3)
    told = f"for: {', '.join(found)}"
    return Salience(value, f"{told}; against: {', '.join(against)}" if against else told)


def _held_by(facts: Facts) -> Reason | None:
    """What keeps it where it is whatever it says, and whoever asks."""
    if facts.known:
        return Reason("known", note=facts.known)
    if facts.sensitive:
        return Reason("sensitive")
    if facts.trust < facts.needed:
        return Reason("trust", facts.trust, facts.needed)
    return None


def _passed(gates: tuple[Reason, ...], text: str) -> tuple[Destination | None, str]:
    asked, salient, new, often = (_reached(one) for one in gates)
    to: Destination = "preference" if is_preference(text) else "context"
    if asked:
        return to, "explicit"
    if not salient:
        return None, "salience"
    if often:
        return to, "frequency"
    return (to, "surprisal") if new else (None, "surprisal")


def _reached(reason: Reason) -> bool:
    return (reason.value or 0.0) >= (reason.threshold or 0.0)
