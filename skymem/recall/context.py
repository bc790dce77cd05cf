"""What goes into a prompt, read: an agent's notes, and what it recalls for a message (row N11)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from skymem.errors import UsageError
from skymem.policy.context import (
    CHARS,
    CHARS_MAX,
    CHARS_OF,
    KINDS,
    MEMORIES_MAX,
    RULE,
    SIMILAR_MAX,
    SUMMARY,
    Audience,
    By,
    Layer,
    Piece,
    Subject,
    compose,
    layers,
)
from skymem.policy.rank import RECENCY_BIAS, Standing, standing
from skymem.recall.listing import newest_of_kinds
from skymem.recall.meaning import Vectors
from skymem.recall.place import READER_BUSY_MS, Place
from skymem.recall.request import Filters, Mode, ask, check_limit
from skymem.recall.result import Recall, Recalled
from skymem.recall.search import recall
from skymem.stores.files import disk_errors

BY_RECENCY: Final = "recency"
"""How a context is made that has no message to go by."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The context that is wanted. Made by `want`, which checks it."""

    message: str = ""
    user_id: str | None = None
    chars_max: int = CHARS
    limit: int | None = None
    """Memories, in all; None: as many as each layer has."""

    at_us: int | None = None
    """The moment it is asked about; None: now."""


@dataclass(frozen=True, slots=True)
class Context:
    """What goes into a prompt, and how it came about."""

    text: str
    """The block; empty where nothing fits."""

    layers: tuple[Layer, ...]
    wanted: Wanted
    mode: str
    """What chose for the message: `fusion`, `deterministic`, or `recency` without one."""

    degraded: list[str]
    """What did not work as it should, and was done without."""

    def __str__(self) -> str:
        return self.text

    @property
    def left_out(self) -> int:
        """How many entries did not fit."""
        return sum(layer.left_out for layer in self.layers)

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem context --json` prints it."""
        at_us = self.wanted.at_us
        return {
            "text": self.text,
            "layers": [layer.as_json() for layer in self.layers],
            "chars": len(self.text),
            "max_chars": self.wanted.chars_max,
            "limit": self.wanted.limit,
            "at": None if at_us is None else at_us / 1_000_000,
            "mode": self.mode,
            "degraded": self.degraded,
        }


def want(
    message: str = "",
    *,
    user_id: str | None = None,
    chars_max: int = CHARS,
    limit: int | None = None,
    at_us: int | None = None,
) -> Wanted:
    """Check what is wanted.

    Raises:
        UsageError: a value is outside its range; names it and what it may be.
    """
    if type(chars_max) is not int or not 1 <= chars_max <= CHARS_MAX:
        raise UsageError(
            f"max-chars {chars_max!r:.40} is not in 1 to {CHARS_MAX}; give a whole number"
        )
    if limit is not None:
        check_limit(limit)
    ask(message)  # what no recall takes is refused, whether there is anything to recall or not
    return Wanted(message, user_id, chars_max, limit, at_us)


def context(  # noqa: PLR0917  (one question)
    work: Place,
    agent: str,
    wanted: Wanted,
    engine: Callable[[], Vectors],
    machine: Sequence[str] = (),
    working: Sequence[Layer] = (),
) -> Context:
    """Make the context of one agent.

    Args:
        work: the home's lines, catalog and clock.
        agent: whose memories; nobody else's are looked at.
        wanted: for which message and user, and how long at most.
        engine: connects to the engine; called when there is a message to go by, and not before.
        machine: facts about the machine.
        working: what the layers of working memory may hold.

    Raises:
        AgentNameError, NotAllowedError, DiskError: see `recall`.
    """
    audience = Audience(wanted.user_id)
    notes = _notes(work, agent, wanted.at_us)
    asking = _Asking(work, agent, wanted, engine)
    similar = asking.similar({one.memory.kind for one in notes} & {RULE, SUMMARY}, audience)
    recalled = asking.recalled(audience)
    held = {layer.name: layer for layer in working}
    found = layers(notes, similar, recalled, machine, audience, caution=work.rules.trust)
    found += [held.get(name, Layer(name)) for name in CHARS_OF]
    made = compose(found, chars_max=wanted.chars_max, limit=wanted.limit)
    return Context(made.text, made.layers, wanted, asking.mode, asking.degraded)


def _notes(work: Place, agent: str, at_us: int | None) -> list[Piece]:
    """Every active note of a kind that has a layer, newest first, each once."""
    shelf = work.shelf(agent)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        found = work.ask(
            catalog, shelf, lambda: [*newest_of_kinds(work, shelf, catalog, KINDS, at_us)]
        )
    pieces = {kept.id: Piece(kept.id, kept.tier, kept.memory) for kept in reversed(found)}
    return [*pieces.values()][::-1]


class _Asking:
    """Recalls for one message, first with the engine, and on by words once that is away."""

    def __init__(
        self, work: Place, agent: str, wanted: Wanted, engine: Callable[[], Vectors]
    ) -> None:
        self._work = work
        self._agent = agent
        self._wanted = wanted
        self._engine = engine
        self._subject = Subject.of(wanted.message)
        self.mode = BY_RECENCY
        self.degraded: list[str] = work.degraded

    def similar(self, kinds: Iterable[str | None], audience: Audience) -> list[Piece]:
        """The notes of these kinds that have to do with the message, best first.

        Which fits is told by what it says (row R5), and neither by how old it is, as the rest of
        the room is for the newest anyway, nor by what was said beside it.
        """
        asked = [
            Filters(kind=kind, besides=audience.admits) for kind in sorted(filter(None, kinds))
        ]
        return self._best(asked, "hybrid", SIMILAR_MAX, 0.0)

    def recalled(self, audience: Audience) -> list[Piece]:
        """What else has to do with the message, best first.

        The user's own are asked for by themselves too: among those of many users they could be
        missed.
        """
        anyones = Filters(besides=audience.admits_beside_notes)
        asked = [anyones]
        if audience.user_id is not None:
            asked.append(replace(anyones, meta=(("user_id", audience.user_id),)))
        return self._best(asked, "auto", MEMORIES_MAX, RECENCY_BIAS)

    def _best(self, asked: Sequence[Filters], mode: Mode, most: int, bias: float) -> list[Piece]:
        """The best of several answers to the message; none without a message."""
        if not self._wanted.message.strip():
            return []
        answers = (self._recall(filters, mode, most, bias) for filters in asked)
        found = {one.id: one for answer in answers for one in answer}
        best = sorted(found.values(), key=_place)
        by: By = "similarity"
        return [
            Piece(one.id, one.tier, one.memory, by)
            for one in best
            if one.memory is not None and self._subject.concerns(one.memory, one.parts)
        ][:most]

    def _recall(self, filters: Filters, mode: Mode, most: int, bias: float) -> Recall:
        if self.mode == "deterministic":  # one wait for an engine that is away is enough
            mode = "deterministic"
        at_us = self._wanted.at_us
        asked = ask(self._wanted.message, most, mode, bias, filters=filters, at_us=at_us)
        found = recall(self._work, self._agent, asked, self._engine)
        self.mode = found.mode
        self.degraded = found.degraded
        return found


def _place(one: Recalled) -> Standing:
    time_us = None if one.memory is None else one.memory.time_us
    return standing(one.score, one.parts.importance, time_us, one.id)
