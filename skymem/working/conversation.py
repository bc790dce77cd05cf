"""A conversation summed up when it has grown long, for its older turns to be replaced (row W11).

    done = memory.conversation.summarize(turns, session="s1", store=True)
    if done.new:                       # else done.reason says why it is too early
        turns = []                     # done.text stands for them

What is said is quoted, each quotation with its turn. The last summary of the session is one of the
inputs; the same input gives the same summary with the same id, and is written once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from skymem import doors
from skymem.errors import InvalidMemoryError
from skymem.model.conversation import (
    CONVERSATION,
    Conversation,
    Fact,
    Scope,
    Turn,
    content,
    conversation_of,
    fields_of,
)
from skymem.model.marks import SENSITIVE, inherited
from skymem.model.memory import Memory
from skymem.model.records import seconds
from skymem.model.snippet import SNIPPET
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage
from skymem.policy.form import admit_fields
from skymem.policy.rolling import Rolled, new_turns, not_due, roll
from skymem.policy.secrets import guard_of
from skymem.working.at_hand import at_hand
from skymem.working.scratchpad import Scratchpad
from skymem.working.turns import snippets_of, turns_of

if TYPE_CHECKING:
    from skymem.app import Home

ORIGIN_OF_ROLE: Final[Mapping[str, str]] = {"user": "user", "tool": "tool", "function": "tool"}
"""Where a turn comes from; whoever else speaks is an agent."""

NOTHING_NEW: Final = "nothing was said since the last summary"

IMPORTANCE: Final = 0.4
"""What a summary is worth: as much as another that a session came to."""


@dataclass(frozen=True, slots=True)
class Summarized:
    """What came of it."""

    reason: str
    """Why no new summary was made; "" when one was."""

    line: Mapping[str, Any] | None
    """The summary that stands now, to be stored as it is; None where there is none yet."""

    conversation: Conversation
    replaces: tuple[str, ...] = ()
    """Ids of the turns that it stands for now and did not before."""

    left_out: tuple[Fact, ...] = ()
    """Facts of importance that there was no room for."""

    passed_over: int = 0
    """How many others there was none for."""

    chars_max: int = 0
    written: bool = False

    @property
    def new(self) -> bool:
        """Whether a summary was made."""
        return not self.reason

    @property
    def id(self) -> str | None:
        """The summary's id."""
        return None if self.line is None else self.line["id"]

    @property
    def text(self) -> str:
        """What it says; "" where there is none yet."""
        return "" if self.line is None else self.line["content"]

    def __str__(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem conversation summarize --json` prints it."""
        lost = [one.said for fact in self.left_out for one in fact]
        return {
            "new": self.new,
            "reason": self.reason,
            "id": self.id,
            "text": self.text,
            "chars": len(self.text),
            "max_chars": self.chars_max,
            "turns": self.conversation.turns,
            "replaces": [*self.replaces],
            "facts": [[one.to_json() for one in fact] for fact in self.conversation.facts],
            "left_out": {
                "facts": len(self.left_out),
                "others": self.passed_over,
                "turns": [*dict.fromkeys(one.source for one in lost)],
                "in_all": self.conversation.left_out,
            },
            "written": self.written,
            "line": None if self.line is None else {**self.line},
        }


class Conversations:
    """The conversations of one agent."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home
        self._agent = agent

    def summarize(
        self,
        turns: Iterable[Turn | Mapping[str, Any]],
        scratchpad: Any = None,
        *,
        session: str | None = None,
        previous: "Summarized | Mapping[str, Any] | None" = None,
        user_id: str | None = None,
        force: bool = False,
        store: bool = False,
    ) -> Summarized:
        """Sum a conversation up where it has grown long enough since the last time.

        Args:
            turns: all of the conversation, or what was said since: `{"role": …, "content": …}`
                each, with `ts` and `id` where there are such.
            scratchpad: what was written down on the way: a scratchpad, or texts; that of the
                conversation when left out.
            session: which conversation it is, so that its last summary is found; that of
                `$SKYMEM_SESSION`, else "default", when left out.
            previous: the last summary, of who keeps them himself: the result or its `line`.
            user_id: whom it is with.
            force: now, however short it is.
            store: write the summary down, once; it takes the place of the session's last one.

        Returns:
            The summary that stands now; `new` when it was made by this call, else with the
            `reason` why not.

        Raises:
            InvalidMemoryError: a turn is none; all are named.
            DiskError: it could not be written, or what is there can't be read.
        """
        pad = Scratchpad(self._home, self._agent, session)
        if scratchpad is None and self._home.owned:
            scratchpad = pad
        said, noted = turns_of(turns), self._open(snippets_of(scratchpad))
        lasts = self._lasts(pad.session) if previous is None else [_line_of(previous)]
        fresh = new_turns(_united(lasts), said)
        rules = self._home.rules.conversation
        reason = "" if force else not_due(fresh, rules)
        if not fresh and not (force and noted):
            reason = NOTHING_NEW if lasts else "nothing was said"
        if reason:
            return _standing(reason, lasts, rules.summary_chars)
        scope = Scope(pad.session, fields={"user_id": user_id} if user_id else {})
        return self._rolled(lasts, fresh, noted, scope, store=store)

    def _rolled(
        self,
        lasts: Sequence[Memory],
        fresh: Sequence[Turn],
        noted: Sequence[Turn],
        scope: Scope,
        *,
        store: bool,
    ) -> Summarized:
        """Sum up, without the secrets in what was said."""
        rules, last = self._home.rules, _united(lasts)
        guard, most = guard_of(rules.secrets), rules.conversation.summary_chars
        clean = [replace(turn, content=guard.text(turn.content)[0]) for turn in (*fresh, *noted)]
        rolled = roll(last, clean[: len(fresh)], clean[len(fresh) :], most)
        if not fresh and last is not None and rolled.conversation.facts == last.facts:
            return _standing(NOTHING_NEW, lasts, most)
        marks = _marks(lasts, rolled.conversation, clean)
        whole = replace(scope, supersedes=[*map(_name, lasts)], fields={**scope.fields, **marks})
        return self._made(rolled, fresh, whole, store=store)

    def _made(
        self, rolled: Rolled, fresh: Sequence[Turn], scope: Scope, *, store: bool
    ) -> Summarized:
        from skymem.app import now

        made, rules = rolled.conversation, self._home.rules
        line = admit_fields(
            content(made),
            limit=rules.line_bytes_max,
            now=now() if made.until_us is None else seconds(made.until_us),
            importance=IMPORTANCE,
            extra=fields_of(made, scope),
            guard=guard_of(rules.secrets),
        )
        if store:
            doors.take_in(self._home, self._agent, [line])
        return Summarized(
            "",
            read_line(line.raw).fields,
            made,
            tuple(turn.id for turn in fresh),
            tuple(rolled.left_out),
            rolled.passed_over,
            rules.conversation.summary_chars,
            written=store,
        )

    def _open(self, noted: Sequence[Turn]) -> Sequence[Turn]:
        """Leave out snippets that are sensitive: for one, all of a summary would be."""
        if not any(turn.memory for turn in noted) or not self._home.owned:
            return noted
        there = at_hand(self._home, self._agent).of(SNIPPET)
        careful = {kept.id for kept in there if kept.memory.sensitivity is not None}
        return [turn for turn in noted if turn.id not in careful]

    def _lasts(self, session: str) -> list[Memory]:
        """The summaries of a session that hold, newest first: one, or of two at once both."""
        if not self._home.owned:  # who may only append can't look
            return []
        found = at_hand(self._home, self._agent).of(CONVERSATION)
        return [kept.memory for kept in found if kept.memory.scope.get("session") == session]


def _standing(reason: str, lasts: Sequence[Memory], chars_max: int) -> Summarized:
    """What holds where no new summary is made."""
    line = lasts[0].fields if lasts else None
    return Summarized(reason, line, _united(lasts) or Conversation(), chars_max=chars_max)


def _line_of(previous: "Summarized | Mapping[str, Any]") -> Memory:
    fields = previous.line if isinstance(previous, Summarized) else previous
    try:
        memory = Memory({**(fields or {})})
        conversation_of(memory)
    except (InvalidMemoryError, LineDamage) as error:
        raise InvalidMemoryError(f"the last summary is none: {error}") from None
    if memory.source_id is None:
        raise InvalidMemoryError('the last summary is none: field "id" is missing')
    return memory


def _name(memory: Memory) -> str:
    return memory.source_id or ""


def _united(lasts: Sequence[Memory]) -> Conversation | None:
    """Read the last summary; of several that were written at once, what all of them say."""
    if not lasts:
        return None
    newest, *others = [conversation_of(memory) for memory in lasts]
    said = [fact for one in reversed(others) for fact in one.facts]
    return replace(newest, facts=(*said, *newest.facts))


def _marks(lasts: Sequence[Memory], made: Conversation, new: Sequence[Turn]) -> dict[str, Any]:
    """It is from where the least trusted of what it quotes is; one sensitive turn makes it so."""
    quoted = {quote.said.source for quote in made.quotes()}
    parts = [_marked(turn) for turn in new if turn.id in quoted]
    sensitive = {"sensitivity": SENSITIVE} if any(turn.sensitive for turn in new) else {}
    return inherited([*lasts, *parts]) | sensitive


def _marked(turn: Turn) -> Memory:
    fields: dict[str, Any] = {"content": "-"}
    fields["origin"] = turn.origin or ORIGIN_OF_ROLE.get(turn.role, "agent")
    return Memory(fields if turn.trust is None else {**fields, "trust": turn.trust})
