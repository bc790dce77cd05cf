"""Playbooks: flows that went well, kept once the user was satisfied, and found again (W6, W7).

    flow completed ── satisfied ────────────────────────────▶ playbook
          │
          └─ nobody said: waits ── next turn, no correction ─▶ playbook
                           └────── corrected, or too long ───▶ dropped

Each is a line like any other; what waits expires. One code path for the CLI and the Python API.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem import doors
from skymem.errors import InvalidMemoryError
from skymem.model.playbook import CONTINUED, CORRECTED, FLOW, PLAYBOOK, WAITING, Flow, Playbook
from skymem.model.snippet import CHARACTERS_MAX
from skymem.model.spelling import read_line
from skymem.policy import playbooks as choosing
from skymem.policy.form import Admitted
from skymem.policy.playbooks import Hit
from skymem.policy.trust import is_held_back
from skymem.recall.request import check_limit
from skymem.recall.result import DECIMALS
from skymem.stores.shelf import Kept
from skymem.working.likeness import MEANING, likeness
from skymem.working.records import active
from skymem.working.scratchpad import Scratchpad

if TYPE_CHECKING:
    from skymem.app import Home

IMPORTANCE: Final = 0.9
"""What a playbook is worth at least: promote takes it, whatever the threshold."""

WAITING_IMPORTANCE: Final = 0.1
DAY_SECONDS: Final = 86_400.0


class Completed(NamedTuple):
    """What became of a completed flow."""

    id: str
    """Of its line; "" when nothing was kept."""

    state: str
    """`playbook`, `waiting` for the user's next turn, or `corrected`: nothing was kept."""

    playbook: Playbook | None = None
    redacted: Mapping[str, int] = MappingProxyType({})
    """Secrets that were taken out of it, by kind."""


class Hits(list[Hit]):
    """The playbooks that fit, best first; it also knows how they were found."""

    def __init__(
        self, hits: Iterable[Hit], mode: str, degraded: Iterable[str], snippet_id: str
    ) -> None:
        super().__init__(hits)
        self.mode = mode
        """`meaning`, or `words` where there is no engine; `flow` when nothing was compared."""

        self.degraded = list(degraded)
        """What did not work as it should, and was done without."""

        self.snippet_id = snippet_id
        """What the best one was written to the scratchpad as; "" when it stood there already."""

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem playbook find --json` prints it."""
        results = [
            {**one.playbook.as_json(), "by": one.by, "score": round(one.score, DECIMALS)}
            for one in self
        ]
        told = {"results": results, "mode": self.mode, "degraded": self.degraded}
        return told | {"snippet_id": self.snippet_id or None}


class Playbooks:
    """The playbooks that one agent knows; one without a user is everybody's."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home
        self._agent = agent
        self._seen: tuple[Kept, ...] | None = None
        self._known: list[Playbook] = []

    # -- keeping --------------------------------------------------------------------------------

    def add(
        self,
        flow_dact: str,
        *,
        user_query: str,
        tool_calls: Sequence[Mapping[str, Any]],
        outcome: str,
        slots: Mapping[str, Any] | None = None,
        user_id: str | None = None,
    ) -> Playbook:
        """Keep a completed flow that the user said was right; returns once it is on disk.

        One that is equal but for its outcome takes the place of what is there, and counts one more.

        Args:
            flow_dact: the flow's id.
            user_query: what the user asked.
            tool_calls: each call in its order, any JSON object.
            outcome: what came of it.
            slots: the slots' names and values.
            user_id: whose; everybody's when left out.

        Raises:
            InvalidMemoryError: a field is missing or holds what JSON can't, or all of it is longer
                than a line may be; every fault is named.
            DiskError: it could not be written; nothing of it stays.
        """
        flow = Flow(flow_dact, tool_calls, outcome, user_query, {} if slots is None else slots)
        done = self.complete(flow, satisfied=True, user_id=user_id)
        assert done.playbook is not None  # noqa: S101  (a satisfied user makes one)
        return done.playbook

    def complete(
        self,
        flow: Flow,
        *,
        satisfied: bool | None = None,
        session: str | None = None,
        user_id: str | None = None,
        dry_run: bool = False,
    ) -> Completed:
        """Say that a flow is completed.

        Args:
            flow: what was done.
            satisfied: whether the user said so; None waits for the next turn (`continued`).
            session: the conversation; `$SKYMEM_SESSION`, else "default".
            user_id: whose.
            dry_run: write nothing.

        Raises:
            InvalidMemoryError, DiskError: as `add`.
        """
        faults = flow.faults()
        if faults:
            raise InvalidMemoryError("\n".join(faults))
        if satisfied is None:
            line = self._waiting_line(flow, self._session(session), user_id)
            state, playbook = WAITING, None
        elif satisfied:
            line = self._playbook_line(flow, user_id, self._there(dry_run=dry_run))
            state, playbook = PLAYBOOK, Playbook.of(line.id, "short", read_line(line.raw))
        else:
            return Completed("", CORRECTED)
        if not dry_run:
            doors.take_in(self._home, self._agent, [line])
        return Completed(line.id, state, playbook, line.redacted)

    def continued(self, *, session: str | None = None, dry_run: bool = False) -> list[Playbook]:
        """Say that the user's next turn came and corrected nothing: what waits is kept.

        Raises:
            NotAllowedError, DiskError: nothing is kept then.
        """
        there = self._there(dry_run=dry_run)
        lines: list[Admitted] = []
        made: list[Playbook] = []
        for kept, flow in self._waiting(session, dry_run=dry_run):
            user_id = kept.memory.scope.get("user_id")
            line = self._playbook_line(flow, user_id, [*made, *there], waited=[kept.id])
            made.append(Playbook.of(line.id, "short", read_line(line.raw)))
            lines += [line, self._marker(kept, CONTINUED)]
        if lines and not dry_run:
            doors.take_in(self._home, self._agent, lines)
        return made

    def corrected(self, *, session: str | None = None, dry_run: bool = False) -> list[str]:
        """Say that the user's next turn corrected what was done: what waits is dropped.

        Returns:
            The ids of what waited.

        Raises:
            NotAllowedError, DiskError: nothing is dropped then.
        """
        waiting = [kept for kept, _ in self._waiting(session, dry_run=dry_run)]
        if waiting and not dry_run:
            markers = [self._marker(kept, CORRECTED) for kept in waiting]
            doors.take_in(self._home, self._agent, markers)
        return [kept.id for kept in waiting]

    # -- finding --------------------------------------------------------------------------------

    def all(self, *, user_id: str | None = None) -> list[Playbook]:
        """Those there are, newest first: a user's and everybody's, or all when none is said."""
        found = self._current()
        return [one for one in found if user_id is None or one.user_id in (None, user_id)]

    def waiting(self, *, session: str | None = None) -> list[Flow]:
        """The completed flows of a conversation that wait for the user's next turn."""
        return [flow for _, flow in self._waiting(session)]

    def find(
        self,
        query: str = "",
        *,
        flow: str = "",
        limit: int = 1,
        session: str | None = None,
        user_id: str | None = None,
        to_scratchpad: bool = True,
        dry_run: bool = False,
    ) -> Hits:
        """Find what fits: by the flow's id, else by likeness of what is asked (row W7).

        The best one is written to the conversation's scratchpad, once: the same found again writes
        nothing.

        Args:
            query: what is asked.
            flow: the flow's id, where one was predicted.
            limit: how many, at most.
            session: the conversation; `$SKYMEM_SESSION`, else "default".
            user_id: whose, beside everybody's.
            to_scratchpad: whether to write the best one there.
            dry_run: write nothing, not even what is derived.

        Raises:
            InvalidMemoryError: neither a query nor a flow.
            UsageError, NotAllowedError, DiskError.
        """
        check_limit(limit)
        if not query.strip() and not flow.strip():
            raise InvalidMemoryError('field "query": say what is asked, or which flow it is')
        found = self._current(dry_run=dry_run)
        mine = [one for one in found if one.user_id in (None, user_id)]
        hits, mode, degraded = self._fitting(query, flow, mine)
        written = ""
        if hits and to_scratchpad and not dry_run:
            written = self._write_down(hits[0].playbook, session, user_id)
        return Hits(hits[:limit], mode, degraded, written)

    def _fitting(
        self, query: str, flow: str, mine: Sequence[Playbook]
    ) -> tuple[list[Hit], str, list[str]]:
        of_flow = [one for one in mine if one.flow.flow_dact == flow]
        if len(of_flow) == 1 or (of_flow and not query.strip()):  # there is nothing to choose by
            return choosing.fitting(of_flow, [1.0] * len(of_flow), flow, 0.0), "flow", []
        among = of_flow or mine
        texts = [one.flow.user_query for one in among]
        near = likeness(self._home, self._agent, query, texts if query.strip() else [])
        scores = near.scores or [0.0] * len(among)
        rules = self._home.rules.playbooks
        least = rules.likeness if near.mode == MEANING else rules.words
        return choosing.fitting(among, scores, flow, least), near.mode, near.degraded

    def _write_down(self, playbook: Playbook, session: str | None, user_id: str | None) -> str:
        pad = Scratchpad(self._home, self._agent, session)
        text = choosing.snippet(playbook.flow, CHARACTERS_MAX).strip()
        if any(one.text == text for one in pad.read()):
            return ""
        (written,) = pad.write(text, user_id=user_id, evidence_ids=[playbook.id])
        return written

    # -- the rest -------------------------------------------------------------------------------

    def _current(self, *, dry_run: bool = False) -> list[Playbook]:
        """Those there are; worked out again only when there are others."""
        found = active(self._home, self._agent, PLAYBOOK, dry_run=dry_run)
        if found is not self._seen:
            self._known, self._seen = self._followed(found), found
        return self._known

    def _followed(self, found: Iterable[Kept]) -> list[Playbook]:
        """What is believed too little tells nobody what to do (row X11)."""
        trust = self._home.rules.trust
        return choosing.current(
            _readable(one for one in found if not is_held_back(one.memory, trust))
        )

    def _there(self, *, dry_run: bool) -> list[Playbook]:
        """What is active; who may only append can't look, and readers take the newest."""
        if not self._home.owned:
            return []
        return [*_readable(active(self._home, self._agent, PLAYBOOK, dry_run=dry_run))]

    def _waiting(
        self, session: str | None, *, dry_run: bool = False
    ) -> Iterator[tuple[Kept, Flow]]:
        """What waits in a conversation, oldest first."""
        name = self._session(session)
        for kept in reversed(active(self._home, self._agent, FLOW, dry_run=dry_run)):
            waits = kept.memory.payload.get("state") == WAITING
            if not waits or kept.memory.scope.get("session") != name:
                continue
            try:
                yield kept, Flow.of(kept.memory.payload)
            except InvalidMemoryError:  # a hand has written it otherwise
                continue

    def _session(self, session: str | None) -> str:
        return Scratchpad(self._home, self._agent, session).session

    def _playbook_line(
        self,
        flow: Flow,
        user_id: str | None,
        there: Iterable[Playbook],
        waited: Sequence[str] = (),
    ) -> Admitted:
        flow, redacted = self._admitted(flow)
        equal = [one for one in there if _equal(one, flow, user_id)]
        count = 1 + max((one.count for one in equal), default=0)
        threshold = self._home.rules.for_agent(self._agent).promote_threshold
        extra = {
            "record_type": PLAYBOOK,
            "payload": {**flow.to_payload(), "count": count},
            "stability": "permanent",
            "origin": "agent",
        }
        supersedes = [*(one.id for one in equal), *waited]
        worth = max(IMPORTANCE, threshold)
        line = self._line(flow.user_query, worth, user_id, supersedes, extra)
        return line._replace(redacted=redacted)

    def _admitted(self, flow: Flow) -> tuple[Flow, Mapping[str, int]]:
        """A flow as it may come in, and what was taken out of it.

        Without its secrets it is equal to what was kept of it.
        """
        line = self._line(flow.user_query, 0.0, None, [], {"payload": flow.to_payload()})
        return Flow.of(read_line(line.raw).payload), line.redacted

    def _waiting_line(self, flow: Flow, session: str, user_id: str | None) -> Admitted:
        extra = {
            "record_type": FLOW,
            "payload": {"state": WAITING, **flow.to_payload()},
            "session": session,
            "ttl_days": self._home.rules.playbooks.waits_seconds / DAY_SECONDS,
        }
        return self._line(flow.user_query, WAITING_IMPORTANCE, user_id, [], extra)

    def _marker(self, kept: Kept, state: str) -> Admitted:
        """What says that a flow no longer waits, even where its playbook is forgotten again."""
        flow = str(kept.memory.payload.get("flow_dact"))
        extra = {
            "record_type": FLOW,
            "payload": {"state": state, "flow_dact": flow},
            "session": kept.memory.scope.get("session"),
            "ttl_days": self._home.rules.playbooks.waits_seconds / DAY_SECONDS,
        }
        user_id = kept.memory.scope.get("user_id")
        return self._line(f"Flow {flow}: {state}", 0.0, user_id, [kept.id], extra)

    def _line(
        self,
        content: str,
        importance: float,
        user_id: str | None,
        supersedes: Sequence[str],
        extra: Mapping[str, Any],
    ) -> Admitted:
        from skymem.app import now

        more = {"user_id": user_id, "supersedes": [*supersedes] or None}
        return doors.new_memory(
            self._home,
            content,
            now=now(),
            importance=importance,
            extra={**extra, **{name: one for name, one in more.items() if one is not None}},
        )


def _equal(one: Playbook, flow: Flow, user_id: str | None) -> bool:
    return choosing.same(one.flow, one.user_id) == choosing.same(flow, user_id)


def _readable(records: Iterable[Kept]) -> Iterator[Playbook]:
    """Read those that are playbooks: what a hand has written otherwise is passed over."""
    for kept in records:
        try:
            yield Playbook.of(kept.id, kept.tier, kept.memory)
        except InvalidMemoryError:
            continue
