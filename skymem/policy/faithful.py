"""Does a sentence say what its source says, and may two memories be one? (rows X7, P15, H1)

No model judges it. A sentence is faithful when it consists of whole clauses of one sentence that it
cites, in their order, word for word but for articles, copulas, case and punctuation, and when it
leaves out neither the first nor any clause that denies, limits or labels. That is stricter than
meaning asks for: what is withheld costs a line of a summary, what is let through wrongly costs the
trust in all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from skymem.policy.claims import BREAK, LABEL, MARKS, Token, What, tokens
from skymem.policy.cues import CONTRASTS, LIMITING
from skymem.policy.sentences import contrasts, sentences

FaultKind = Literal[What, "cut", "uncited"]
"""`cut`: the words are there, and not as whole clauses in their order; `uncited`: no source."""

_CUES: Final = frozenset({"negation", "hedge"})


class Fault(NamedTuple):
    """What keeps a sentence from being said."""

    what: FaultKind
    token: str
    """The word, number or sign; it is memory text: shown to its owner, never logged (promise 6)."""


def check(sentence: str, cited: Sequence[str]) -> list[Fault]:
    """Say what a sentence claims that none of its cited spans says, or leaves out of what one says.

    Args:
        sentence: what a summary would say; of several sentences each is checked.
        cited: the spans it cites, whole sentences of their sources; one alone must bear it all.

    Returns:
        Its faults against the span that bears it best; none when it may be said.
    """
    if not cited:
        return [Fault("uncited", "")]
    if sentence in cited:
        return []
    units = [unit for text in cited for unit in _units(text)]
    faults: list[Fault] = []
    for start, end in sentences(sentence) or [(0, len(sentence))]:
        claim = tokens(sentence[start:end])
        best = min((_unborne(claim, unit) for unit in units), key=len, default=None)
        faults += [Fault("uncited", "")] if best is None else best
    return faults


def signature(text: str) -> tuple[str, ...]:
    """What a text says: of two texts that say the same, and only of those, it is equal."""
    return tuple(token.key for token in tokens(text) if token not in MARKS)


def _lacking(said: Iterable[Token], there: Iterable[Token]) -> Iterator[Fault]:
    """Name each token that is said more often than it is there."""
    left = Counter(token.key for token in there)
    for token in said:
        if left[token.key]:
            left[token.key] -= 1
        else:
            yield Fault(token.what, token.key)


class _Clause(NamedTuple):
    tokens: tuple[Token, ...]
    due: bool
    """Whether the sentence says something else without it."""


def _units(text: str) -> Iterator[list[_Clause]]:
    """Give what a sentence may be drawn from: each sentence of a span, and the whole of it.

    What follows a line that ends in a colon belongs to it up to the next empty line: a bullet under
    "Rejected:" says nothing by itself. And so does a sentence that begins with "however".
    """
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        if spans and (_labels(text, spans[-1], start) or contrasts(text, start)):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if len(spans) != 1:
        yield _clauses(text)
    for start, end in spans:
        yield _clauses(text[start:end])


def _labels(text: str, span: tuple[int, int], start: int) -> bool:
    """Whether a span begins with a line that is a title, and what starts there stands under it."""
    first = text[span[0] : span[1]].partition("\n")[0].rstrip()
    return first.endswith((":", "：")) and "\n\n" not in text[span[1] : start]


def _clauses(text: str) -> list[_Clause]:
    found: list[_Clause] = []
    clause: list[Token] = []
    for token in (*tokens(text), BREAK):
        if token not in MARKS:
            clause.append(token)
        elif clause:
            due = not found or token == LABEL or _limits(clause)
            found.append(_Clause(tuple(clause), due))
            clause = []
    return found


def _limits(clause: Sequence[Token]) -> bool:
    """Whether a clause says that, or when, or where, another one holds."""
    return clause[0].key in LIMITING | CONTRASTS or any(one.what in _CUES for one in clause)


def _unborne(claim: Sequence[Token], unit: Sequence[_Clause]) -> list[Fault]:
    """Say what a claim has that the unit lacks, or leaves out that it must not."""
    said = [token for token in claim if token not in MARKS]
    if said and _consists(said, unit):
        return []
    faults = list(_lacking(said, (token for clause in unit for token in clause.tokens)))
    due = [token for clause in unit if clause.due for token in clause.tokens]
    faults += _lacking((token for token in due if token.what in _CUES), said)
    return faults or [Fault("cut", "")]


def _consists(said: Sequence[Token], unit: Sequence[_Clause]) -> bool:
    """Whether it is made of the unit's clauses, in order, and with all that are due."""
    keys = [token.key for token in said]
    reached = {0}
    for clause in unit:
        wanted = [token.key for token in clause.tokens]
        further = {at + len(wanted) for at in reached if keys[at : at + len(wanted)] == wanted}
        reached = further if clause.due else reached | further
    return len(keys) in reached
