"""The scratchpad of a conversation: what each of its flows found out, in sentences (row W1).

Reading and writing cost microseconds: no model, no engine and no wait for the disk. What was
written is there for every process at once, and whoever is killed; **a power cut may take what was
written within the last seconds**, until something durable is written to the same agent's short-term
(as by `remember`) or the kernel has brought it to the disk of its own accord.

A snippet is a line of short-term that expires. One that is written again is the newest again. Of
one conversation there are 64 at most: the one that was not written for longest leaves as the next
one comes, which names it among what it supersedes, so that any process reads the same from the
lines. Reading is a use of all of them alike, and changes no order.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem import app, doors
from skymem.errors import InvalidMemoryError
from skymem.model.caution import TrustRules
from skymem.model.marks import inherited
from skymem.model.memory import Memory
from skymem.model.records import seconds
from skymem.model.snippet import CHARACTERS_MAX, IMPORTANCE, SESSION, SNIPPET, Snippet
from skymem.policy.alike import word_key
from skymem.policy.form import Admitted
from skymem.policy.trust import trust_of
from skymem.stores.counts import note_redacted
from skymem.stores.shelf import Kept
from skymem.working.at_hand import at_hand

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.working.promotion import Because

SESSION_CHARACTERS_MAX: Final = 200
DAY_SECONDS: Final = 86_400.0


class Marks(NamedTuple):
    """What else is said of snippets as they are written."""

    remember: bool = False
    user_id: str | None = None
    origin: str | None = "agent"
    trust: float | None = None
    evidence_ids: Sequence[str] = ()

    def fields(self) -> dict[str, Any]:
        """As the line has it."""
        given = {"user_id": self.user_id, "origin": self.origin, "trust": self.trust}
        fields: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
        if self.evidence_ids:
            fields["evidence_ids"] = [*self.evidence_ids]
        return fields | ({"payload": {"remember": True}} if self.remember else {})


class Scratchpad:
    """The scratchpad of one conversation of an agent."""

    def __init__(self, home: "Home", agent: str, session: str | None = None) -> None:
        """Open it; of `$SKYMEM_SESSION`, else "default", when no conversation is named.

        Raises:
            InvalidMemoryError: the conversation's name is empty, or longer than a name is.
        """
        if session is None:
            session = home.workplace().environment.get("SKYMEM_SESSION") or SESSION
        if not session.strip():
            raise InvalidMemoryError('field "session": a conversation needs a name')
        if len(session) > SESSION_CHARACTERS_MAX:
            raise InvalidMemoryError(
                f'field "session": a name of {len(session):,} characters is longer than '
                f"{SESSION_CHARACTERS_MAX}"
            )
        self.session = session
        self._home, self._agent = home, agent
        self._seen: tuple[Kept, ...] | None = None
        self._snippets: tuple[Snippet, ...] = ()
        self._keys: dict[str, bytes] = {}
        """What each says, by its id: equal where it is the same."""

    def of(self, session: str) -> "Scratchpad":
        """The scratchpad of another conversation of the same agent."""
        return Scratchpad(self._home, self._agent, session)

    def read(self) -> list[Snippet]:
        """Every snippet of the conversation, the one written last at the end.

        Raises:
            NotAllowedError: this process is not the home's owner.
            DiskError: it can't be read.
        """
        kept = self._kept()
        if kept is not self._seen:
            shown, _ = self._own(kept)
            snippets = {one.id: one for one in self._snippets}
            self._snippets = tuple(
                snippets.get(one.id) or Snippet.of(one.id, one.memory) for one in reversed(shown)
            )
            self._seen = kept
        return [*self._snippets]

    def write(
        self,
        *texts: str,
        remember: bool = False,
        user_id: str | None = None,
        origin: str | None = "agent",
        trust: float | None = None,
        evidence_ids: Sequence[str] = (),
    ) -> list[str]:
        """Write what a flow found out, a snippet each; returns their ids.

        They are there for every process at once and survive its end; a power cut may take them
        (see the module). One that says what is there already is the newest again, trusted no more
        than before.

        Args:
            texts: a sentence or a few each.
            remember: somebody asked for it to be remembered: it is promoted for that.
            user_id: whom it concerns.
            origin: where it is from: `user`, `agent`, `tool`, `document` or `import`.
            trust: how far it is believed, 0 to 1.
            evidence_ids: the memories it rests on.

        Raises:
            InvalidMemoryError: one has no text or is too long, or a field is outside its range;
                none was written.
            DiskError: they could not be written; none stays.
        """
        marks = Marks(remember, user_id, origin, trust, evidence_ids)
        return [line.id for line in self.put(texts, marks)]

    def put(self, texts: Sequence[str], marks: Marks) -> list[Admitted]:
        """As `write`; gives the lines, which know what secrets were taken out of them."""
        lines = self.lines(texts, marks)
        if lines:
            self._home.remember(self._agent, [line.raw for line in lines], synced=False)
            if gone := doors.redacted(lines):
                note_redacted(self._home.paths, self._home.files, self._agent, gone)
        return lines

    def promote(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Promote what is worth it to business context or preferences (row W2).

        Returns:
            The run's detail: where each snippet went, and each gate with value and threshold.

        Raises:
            NotAllowedError, DiskError, BusyError: what came before it is done and recorded.
        """
        return self._promote("by_hand", dry_run=dry_run)

    def report_saved(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Say that a report was saved in this conversation: that promotes, as `promote` does."""
        return self._promote("report_saved", dry_run=dry_run)

    def end(self, *, dry_run: bool = False) -> list[str]:
        """Move what stands in it to trash, before its time; gives the ids.

        Raises:
            SkymemError: what kept the job from its end.
        """
        from skymem.jobs import runner
        from skymem.jobs.detail import raise_failure
        from skymem.jobs.forget import Wanted, forget

        hand = at_hand(self._home, self._agent, dry_run=dry_run)
        # What was superseded goes as well: it would be back when its superseder has gone.
        ids = [one.id for one in hand.every(SNIPPET, self.session)]
        if ids:
            work, job = self._home.workplace(dry_run=dry_run), forget(Wanted(frozenset(ids)))
            table = {"forget": job}
            detail, outcomes = runner.run(
                work, "forget", [self._agent], dry_run=dry_run, table=table
            )
            if not dry_run:
                self._home.record("forget", detail)
            raise_failure(outcomes)
        return ids

    def _promote(self, because: "Because", *, dry_run: bool) -> dict[str, Any]:
        from skymem.working.promotion import promote

        shown, _ = self._own(self._kept(dry_run=dry_run))
        return promote(
            self._home, self._agent, self.session, shown[::-1], because=because, dry_run=dry_run
        )

    def lines(self, texts: Sequence[str], marks: Marks, *, dry_run: bool = False) -> list[Admitted]:
        """Make the lines that `write` appends, each with what it takes the place of."""
        kept = self._kept(dry_run=dry_run) if self._home.owned else ()
        shown, hidden = self._own(kept)
        memories = {one.id: one.memory for one in shown}
        there = {self._keys[one.id]: one.id for one in reversed(shown)}
        now_us = max([round(app.now() * 1_000_000), *(_time(one) + 1 for one in shown[:1])])
        leaving = [one.id for one in hidden]
        made: list[Admitted] = []
        for key, text in {_key(_checked(text)): text.strip() for text in texts}.items():
            known = there.pop(key, None)
            leaving += [known] if known is not None else []
            while len(there) >= self._home.rules.scratchpad.size:
                leaving.append(there.pop(next(iter(there))))
            line = self._line(text, now_us + len(made), marks, memories.get(known or ""), leaving)
            there[key] = line.id
            made.append(line)
            leaving = []
        return made

    def _kept(self, *, dry_run: bool = False) -> tuple[Kept, ...]:
        hand = at_hand(self._home, self._agent, dry_run=dry_run)
        return hand.of(SNIPPET, session=self.session)

    def _own(self, kept: tuple[Kept, ...]) -> tuple[list[Kept], list[Kept]]:
        """The newest of each text up to the cap, newest first, and the others."""
        keys = self._keys
        self._keys = {one.id: keys.get(one.id) or _key(one.memory.searchable) for one in kept}
        shown: dict[bytes, Kept] = {}
        hidden: list[Kept] = []
        for one in kept:
            key = self._keys[one.id]
            if key in shown or len(shown) == self._home.rules.scratchpad.size:
                hidden.append(one)
            else:
                shown[key] = one
        return [*shown.values()], hidden

    def _line(
        self, text: str, time_us: int, marks: Marks, known: Memory | None, leaving: list[str]
    ) -> Admitted:
        rules = self._home.rules
        fields = marks.fields()
        if known is not None:
            fields = _joined(fields, known, rules.trust)
        fields |= {
            "record_type": SNIPPET,
            "session": self.session,
            "ttl_days": rules.scratchpad.keep_seconds / DAY_SECONDS,
        }
        if leaving:
            fields["supersedes"] = leaving
        return doors.new_memory(
            self._home,
            text,
            now=seconds(time_us),
            importance=IMPORTANCE,
            origin=fields.pop("origin", None),
            trust=fields.pop("trust", None),
            extra=fields,
        )


def _joined(fields: dict[str, Any], known: Memory, rules: TrustRules) -> dict[str, Any]:
    """What is written again keeps what was said of it, and gains no trust."""
    own = Memory({"ts": 0, "content": "", **fields})
    found = {name: value for name, value in fields.items() if name not in ("origin", "trust")}
    found |= inherited([own, known])
    found["trust"] = min(trust_of(own, rules), trust_of(known, rules))
    evidence = [*dict.fromkeys((*known.evidence_ids, *own.evidence_ids))]
    if evidence:
        found["evidence_ids"] = evidence
    if known.payload.get("remember") is True:
        found["payload"] = {"remember": True}
    user_id = known.scope.get("user_id")
    return found if user_id is None else {"user_id": user_id, **found}


def _checked(text: str) -> str:
    if not text.strip():
        raise InvalidMemoryError('field "content": there is no text in it')
    if len(text) > CHARACTERS_MAX:
        raise InvalidMemoryError(
            f'field "content": {len(text):,} characters are more than {CHARACTERS_MAX:,}; '
            "a snippet says what came of something, in a sentence or a few"
        )
    return text


_WORDLESS: Final = word_key("")


def _key(text: str) -> bytes:
    """Equal for texts that say the same; of one without words, as a sign, the text itself."""
    key = word_key(text)
    return key if key != _WORDLESS else text.strip().encode(errors="replace")


def _time(kept: Kept) -> int:
    return kept.memory.time_us or 0
