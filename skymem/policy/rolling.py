"""A conversation summed up, again and again, within a budget (row W11).

The last summary is one of the inputs of the next, and what it says is quoted again and not summed
up again: so nothing fades by being repeated. What tells most stays while there is room, the oldest
first; what there was no room for is given back and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from skymem.model.conversation import (
    SNIPPET,
    TAIL,
    Conversation,
    Fact,
    Quote,
    Turn,
    heading,
    spelled,
)
from skymem.model.records import Statement
from skymem.model.rules import ConversationRules
from skymem.policy.faithful import signature
from skymem.policy.telling import IMPORTANT, Unit, answers, asks, units, weight

UNSAID: Final = frozenset({"system", "developer"})
"""Roles whose turns are the program's own: nobody said them."""

NOTED: Final = 3
"""What a snippet weighs more than the same said: somebody thought it worth writing down."""

ANSWERED: Final = 4
"""What an answered question weighs more: it is a decision."""


def new_turns(last: Conversation | None, turns: Sequence[Turn]) -> Sequence[Turn]:
    """Those that a summary does not stand for yet: what comes after its last ones.

    Who calls may give the whole conversation or its newest part. In doubt a turn is new: what it
    says is not said twice.
    """
    tail = () if last is None else last.tail
    if last is None or not tail:
        return turns
    keys = [turn.key for turn in turns]
    whole = (last.turns, *range(len(tail), len(keys) + 1))
    parts = range(min(len(tail) - 1, len(keys)), 0, -1)  # what is given begins among the last ones
    for end in (*whole, *parts):
        known = min(end, len(tail))
        if end <= len(keys) and tuple(keys[end - known : end]) == tail[-known:]:
            return turns[end:]
    return turns


def not_due(turns: Sequence[Turn], rules: ConversationRules) -> str:
    """Why it is too early to sum these up; "" when it is time."""
    chars = sum(len(turn.content) for turn in turns)
    if len(turns) >= rules.after_turns or chars >= rules.after_chars:
        return ""
    of_turns = f"{len(turns)} new turn{'' if len(turns) == 1 else 's'} of {rules.after_turns}"
    return f"{of_turns}, {chars} characters of {rules.after_chars}"


def said(turns: Sequence[Turn]) -> Iterable[tuple[Turn, Unit]]:
    """Quote what was said, piece by piece."""
    return ((turn, unit) for turn in turns for unit in units(turn.content))


class Rolled(NamedTuple):
    """A summary, and what it lacks."""

    conversation: Conversation
    left_out: list[Fact]
    """Facts of importance that there was no room for, in the order in which they were said."""

    passed_over: int
    """How many others there was none for."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    fact: Fact
    weight: int
    place: int

    def order(self) -> tuple[int, int, int]:
        """What matters comes first, the oldest of it first; of the rest the newest."""
        if self.weight >= IMPORTANT:
            return 0, -self.weight, self.place
        return 1, -self.weight, -self.place


def roll(
    last: Conversation | None,
    turns: Sequence[Turn],
    snippets: Sequence[Turn],
    chars_max: int,
) -> Rolled:
    """Sum up what a summary says, what was said since, and what was written down on the way.

    Args:
        last: the summary so far.
        turns: those it does not stand for yet.
        snippets: of the scratchpad.
        chars_max: how long the text may be.
    """
    so_far = Conversation() if last is None else last
    heard = [turn for turn in turns if turn.role not in UNSAID]
    facts = [*so_far.facts, *_facts(heard), *_facts(snippets)]
    weighed = [_Weighed(fact, _weight(fact), place) for place, fact in enumerate(_once(facts))]
    times = [turn.ts_us for turn in turns if turn.ts_us is not None]
    count = so_far.turns + len(turns)
    kept = _fitting(weighed, chars_max - len(heading(count)))
    lost = [one for one in weighed if one.weight and one.place not in kept]
    left_out = [one.fact for one in lost if one.weight >= IMPORTANT]
    made = Conversation(
        tuple(one.fact for one in weighed if one.place in kept),
        count,
        (*so_far.tail, *(turn.key for turn in turns))[-TAIL:],
        max(times, default=so_far.until_us),
        so_far.left_out + sum(fact[0].role != SNIPPET for fact in left_out),
    )
    return Rolled(made, left_out, len(lost) - len(left_out))


def _facts(turns: Sequence[Turn]) -> list[Fact]:
    """Give each piece that was said; a yes or a no stands with what it answers."""
    found: list[Fact] = []
    for turn, unit in said(turns):
        quote = Quote(
            turn.role, Statement(unit.text, turn.id, unit.span, turn.ts_us), memory=turn.memory
        )
        asked = found[-1][-1] if found else None
        if asked is not None and _replies(quote, turn, asked):
            found[-1] = (*found[-1], quote)
        else:
            found.append((quote,))
    return found


def _replies(quote: Quote, turn: Turn, asked: Quote) -> bool:
    return quote.role != asked.role and asks(asked.said.text) and answers(turn.content)


def _once(facts: Iterable[Fact]) -> list[Fact]:
    """Leave out what was said before, word for word but for case and punctuation."""
    found: dict[tuple[tuple[str, ...], ...], Fact] = {}
    for fact in facts:
        found.setdefault(_mark(fact), fact)
    return [*found.values()]


def _mark(fact: Fact) -> tuple[tuple[str, ...], ...]:
    return tuple(signature(quote.said.text) for quote in fact)


def _weight(fact: Fact) -> int:
    first = fact[0]
    text = first.said.text
    if len(fact) > 1:  # what was asked is said, now that it is answered
        return weight(text.rstrip().rstrip("?？؟"), first.role) + ANSWERED
    told = weight(text, first.role)
    return told + NOTED if told and first.role == SNIPPET else told


def _fitting(weighed: Sequence[_Weighed], chars: int) -> set[int]:
    """Places of those that there is room for; where one does not fit, a shorter one may."""
    kept: set[int] = set()
    for one in sorted(weighed, key=_Weighed.order):
        size = sum(1 + len(spelled(quote)) for quote in one.fact)
        quotable = all(Unit(quote.said.text, quote.said.span).quotable for quote in one.fact)
        if one.weight and quotable and size <= chars:
            kept.add(one.place)
            chars -= size
    return kept
