"""One agent's memory as its code sees it: what `skymem.open_memory` gives."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from skymem.moments import microseconds_of, seconds_of
from skymem.working.handle import WorkingMemory

if TYPE_CHECKING:  # importing skymem costs little: the parts are loaded when they are first used
    from skymem.app import Home
    from skymem.notes import NewNote, Note
    from skymem.prompting import Hooks
    from skymem.recall.context import Context
    from skymem.recall.request import Request
    from skymem.recall.result import Listed, Recall


class AgentMemory(WorkingMemory):
    """One agent's memory, as its code sees it; bound to that agent for good (row M7)."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home.bind(agent)
        self._agent = agent

    @property
    def agent(self) -> str:
        """Whose memory it is; no other can be put in its place.

        Raises:
            NotAllowedError: somebody tries; it is on record as a violation.
        """
        return self._agent

    @agent.setter
    def agent(self, name: str) -> None:
        self._home.admit(name)

    def remember(  # noqa: PLR0913  (all but the first are fields by name)
        self,
        content: str,
        *,
        tags: Sequence[str] = (),
        importance: float | None = None,
        ts: float | datetime | None = None,
        kind: str | None = None,
        ttl_days: float | None = None,
        metadata: dict[str, Any] | None = None,
        origin: str | None = None,
        trust: float | None = None,
    ) -> str:
        """Write one memory to short-term; returns its id once it is on disk.

        Args:
            content: the text.
            tags: labels.
            importance: 0 to 1; left out, it counts as the scoring guide says of its kind.
            ts: when it happened, epoch seconds or an aware datetime; now when left out.
            kind: what sort of thing it is.
            ttl_days: days it is good for.
            metadata: anything else; filterable.
            origin: where it comes from: user, agent, tool, document or import.
            trust: how far it is believed, 0 to 1; as its origin is when left out.

        Raises:
            InvalidMemoryError: a field is outside its range.
            DiskError: it could not be written; nothing of it stays.
        """
        from skymem import doors
        from skymem.app import now

        extra = {"kind": kind, "ttl_days": ttl_days, "metadata": metadata}
        line = doors.new_memory(
            self._home,
            content,
            now=now() if ts is None else seconds_of(ts),
            tags=tags,
            importance=importance,
            origin=origin,
            trust=trust,
            extra={key: value for key, value in extra.items() if value is not None},
        )
        doors.take_in(self._home, self.agent, [line])
        return line.id

    def recall(  # noqa: PLR0913  (all but the first are filters by name)
        self,
        query: str,
        *,
        limit: int = 10,
        mode: str = "auto",
        tier: str | Sequence[str] = (),
        kind: str | None = None,
        tags: str | Sequence[str] = (),
        meta: Mapping[str, Any] | None = None,
        since: float | datetime | None = None,
        recency_bias: float = 0.35,
        semantic_weight: float = 0.5,
        at: float | datetime | None = None,
    ) -> "Recall":
        """Find this agent's memories of every tier by words and meaning, best first.

        Args:
            query: what to look for, in your own words.
            limit: how many, at most.
            mode: `auto`, which is `fusion`, and `hybrid` weigh words and meaning, and do without
                meaning where there is no engine; `deterministic` or `semantic` asks for one alone.
            tier: only `short`, `long` or `archive`, or any of several.
            kind: only this sort of thing.
            tags: only with any of these labels.
            meta: only with all of this metadata, compared as text.
            since: not older, epoch seconds or an aware datetime.
            recency_bias: of `deterministic` and `hybrid`, share of recency, 0 to 1.
            semantic_weight: of `hybrid`, share of meaning against the rest, 0 to 1.
            at: as it was at that moment; what was forgotten since is not back.

        Returns:
            A list of `Recalled`; its `mode` says what answered, its `degraded` what did not work.

        Raises:
            UsageError, NotAllowedError, DiskError.
            EngineUnavailableError: mode `semantic` without an engine.
        """
        from skymem.model.spelling import spelled
        from skymem.recall import request

        filters = request.filters_of(
            tiers=texts(tier),
            kind=kind,
            tags=texts(tags),
            meta=[(key, spelled(value)) for key, value in (meta or {}).items()],
            since_us=microseconds_of(since, "since"),
        )
        weights, at_us = (recency_bias, semantic_weight), microseconds_of(at, "at")
        return self._recall(request.ask(query, limit, mode, *weights, filters=filters, at_us=at_us))

    def recent(
        self,
        *,
        hours: float | None = None,
        tags: str | Sequence[str] = (),
        kind: str | None = None,
        meta: Mapping[str, Any] | None = None,
        limit: int = 20,
        at: float | datetime | None = None,
    ) -> "list[Listed]":
        """The newest memories of every tier, newest first (row R4).

        Args:
            hours: not older than so many; all when left out.
            tags: only with any of these labels.
            kind: only this sort of thing.
            meta: only with all of this metadata, compared as text.
            limit: how many, at most.
            at: as it was at that moment; what was forgotten since is not back.

        Raises:
            UsageError, NotAllowedError, DiskError.
        """
        from skymem.app import now
        from skymem.model.spelling import spelled
        from skymem.recall import listing, request
        from skymem.recall.result import Listed

        request.check_limit(limit)
        self._home.only_owner("recall")
        at_us = microseconds_of(at, "at")
        moment_us = round(now() * 1_000_000) if at_us is None else at_us
        found = listing.recent(
            self._home.workplace(),
            self.agent,
            request.filters_of(
                kind=kind,
                tags=texts(tags),
                meta=[(key, spelled(value)) for key, value in (meta or {}).items()],
            ),
            limit,
            since_us=request.hours_before(moment_us, hours),
            at_us=at_us,
        )
        return [Listed(**{**one, "tags": tuple(one["tags"])}) for one in found]

    def context(
        self,
        message: str = "",
        *,
        user_id: str | None = None,
        max_chars: int | None = None,
        limit: int | None = None,
        at: float | datetime | None = None,
        session: str | None = None,
        situation: Mapping[str, Any] | None = None,
        documents: int = 3,
    ) -> "Context":
        """Make the block to put into a prompt: notes by layer, and what is recalled (row N11).

        Args:
            message: what the prompt is about.
            user_id: whom it is for: what is another user's is left out.
            max_chars: how long it may be; `$SKYMEM_CONTEXT_MAX_CHARS`, else 8000, when left out.
            limit: how many memories it may hold; `$SKYMEM_CONTEXT_LIMIT`, else any number.
            at: as it was at that moment; what was forgotten since is not back.
            session: the conversation; that of `$SKYMEM_SESSION` when left out.
            situation: what conditions of preferences are compared with.
            documents: passages of documents that fit the message.

        Returns:
            Its `text`, which `str()` gives too, and its `layers` with what did not fit.

        Raises:
            UsageError, NotAllowedError, ConfigurationError, DiskError.
        """
        from skymem import prompting

        return prompting.context(
            self._home,
            self.agent,
            message,
            user_id=user_id,
            max_chars=max_chars,
            limit=limit,
            at_us=microseconds_of(at, "at"),
            beside=prompting.Beside(session, situation or {}, documents),
        )

    def hooks(self) -> "Hooks":
        """Give what to call before and after each call of a model (row R13).

        Raises:
            ConfigurationError: a value of the environment can't be; names the variable.
        """
        from skymem.prompting import Hooks

        return Hooks(self._home, self.agent)

    def write_note(  # noqa: PLR0913  (row N4's)
        self,
        kind: str,
        content: str,
        *,
        scope: str = "user",
        user_id: str | None = None,
        tags: str | Sequence[str] = (),
        confidence: float = 1.0,
        stability: str = "stable",
        ttl_days: float | None = None,
        sensitivity: str = "normal",
        evidence: str | Sequence[str] = (),
        job_id: str | None = None,
    ) -> "Note":
        """Write a note to short-term; returns it once it is on disk (row N4).

        Of the kinds `soul`, `agent` and `user` a user has one: a new one supersedes it, and one
        that says the same is not written again.

        Args:
            kind: `log`, `summary`, `rule`, `soul`, `agent`, `user`, or another of the table.
            content: the text.
            scope: whom it concerns.
            user_id: which user.
            tags: labels.
            confidence: how sure it is, 0 to 1; a `rule` needs 0.8 or more, and evidence.
            stability: `volatile` (warned about without `ttl_days`), `stable` or `permanent`.
            ttl_days: days it is good for; for good when left out.
            sensitivity: `sensitive` keeps it out of contexts.
            evidence: paths and URLs it rests on.
            job_id: the job it came of.

        Raises:
            InvalidMemoryError, DiskError.
        """
        from skymem.notes import NewNote

        new = NewNote(
            kind, content, scope, user_id, texts(tags), confidence=confidence, stability=stability,
            ttl_days=ttl_days, sensitivity=sensitivity, evidence=texts(evidence), job_id=job_id,
        )  # fmt: skip
        return written(self._home, self.agent, new)

    def get_notes(
        self,
        *,
        user_id: str | None = None,
        kind: str | None = None,
        scope: str | None = None,
        tags: str | Sequence[str] = (),
        limit: int = 50,
    ) -> "list[Note]":
        """The notes that hold now, of every tier, newest first (row N5).

        Args:
            user_id: only of this user.
            kind: only of this kind; memories of any kind when left out.
            scope: only of this scope.
            tags: only with any of these labels.
            limit: how many, at most.

        Raises:
            UsageError, NotAllowedError, DiskError.
        """
        from skymem import notes

        return notes.get_notes(
            self._home,
            self.agent,
            user_id=user_id,
            kind=kind,
            scope=scope,
            tags=texts(tags),
            limit=limit,
        )

    def erase(
        self,
        ids: str | Sequence[str] = (),
        *,
        match: str | None = None,
        source: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Erase memories for good, everywhere in the home; gives the receipt (row X5).

        Args:
            ids: ids, or their first letters.
            match: all whose text has this: a regular expression.
            source: all that came from there: an origin, a document's file, a URL.
            everything: all there is of this agent.
            dry_run: only say what would go.

        Raises:
            UnknownMemoryError, UsageError, NotAllowedError, BusyError, DiskError.
        """
        from skymem.erasure import erase_memories

        what: dict[str, Any] = {"match": match, "source": source, "everything": everything}
        return erase_memories(self._home, self.agent, texts(ids), **what, dry_run=dry_run).as_json()

    def _recall(self, asked: "Request") -> "Recall":
        from skymem.recalling import recall_and_note

        self._home.only_owner("recall")
        found = recall_and_note(self._home, self.agent, asked)
        found.degraded += self._home.faults
        return found


def texts(given: str | Sequence[str]) -> Sequence[str]:
    """Take one text for a list of it."""
    return (given,) if isinstance(given, str) else given


def written(home: "Home", agent: str, new: "NewNote") -> "Note":
    """Write a note, and warn of it where it is written: two calls up."""
    import warnings

    from skymem import notes

    done = notes.write_note(home, agent, new)
    if done.warning:
        warnings.warn(done.warning, UserWarning, stacklevel=3)
    return done.note


def warned_of(home: "Home", *, stacklevel: int) -> "Home":
    """Warn, where it is opened, of a home whose rules are faulty; gives the home."""
    import warnings

    for fault in home.faults:
        warnings.warn(fault, UserWarning, stacklevel=stacklevel)
    return home


def open_memory(agent: str | None = None, *, home: str | None = None) -> AgentMemory:
    """Open one agent's memory; the home is found as the CLI finds it.

    Where its rules can't be used it warns, and goes on by what could be read of them.

    Args:
        agent: its name; `$SKYMEM_AGENT`, else `sky`, when left out.
        home: the home's directory.

    Raises:
        HomeNotFoundError, NotAllowedError, AgentNameError.
    """
    from skymem.app import agent_from_environment, open_home
    from skymem.policy.admit import check_agent_name

    name = check_agent_name(agent if agent is not None else agent_from_environment())
    return AgentMemory(warned_of(open_home(home, appending=True, lenient=True), stacklevel=3), name)
