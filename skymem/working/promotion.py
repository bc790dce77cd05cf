"""Promotion of a scratchpad: what of it outlives its conversation, and where it goes (row W2).

Every snippet is weighed by `policy.salience`. What passes becomes a memory that cites it, with the
same origin and trust: in the business context of the agent's tenant, and in its `agent.md`; or, if
it states what somebody likes, among the preferences. Promoting again adds nothing, and a snippet
that leaves the scratchpad takes nothing of it along.

Killed in between, what was promoted is promoted; the rest is at the next time. A line of `agent.md`
is written before its memory, whose id is known beforehand and stays the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from skymem import app, doors
from skymem.errors import SkymemError
from skymem.model.marks import SENSITIVE
from skymem.model.memory import Memory
from skymem.model.records import seconds
from skymem.model.snippet import SNIPPET
from skymem.policy.form import Admitted
from skymem.policy.salience import FOUND_AGAIN, KNOWN, Facts, Weighed, shared, weigh
from skymem.policy.terms import terms
from skymem.policy.trust import trust_of
from skymem.recall import request
from skymem.recall.search import recall
from skymem.stores.history import SCRATCHPAD
from skymem.stores.lock import held
from skymem.working import agent_md
from skymem.working.at_hand import at_hand
from skymem.working.tenancy import of_tenant

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.stores.shelf import Kept

JOB: Final = SCRATCHPAD
CONTEXT: Final = "context"
"""The record type of what is promoted to business context."""

PREFERENCE: Final = "preference"
IMPORTANCE: Final = 0.8
"""It is to stay; an agent's own threshold counts where that is higher."""

NEAREST: Final = 10
"""Memories that are looked at for the one that is most alike."""

LOCK_SECONDS: Final = 30.0

WORD: Final = b'"scratchpad"'
"""In the ledger's line of each promotion; few others have it."""

OUTLIVES: Final = "outlive"
"""What the ledger says was decided of a snippet: something is made of it, and it stays."""

Because = Literal["by_hand", "report_saved"]


class Known(NamedTuple):
    """What a memory says, as far as likeness goes."""

    what: str
    """`context`, `preference` or "" for any other."""

    words: frozenset[str]
    user_id: str | None = None
    evidence_ids: tuple[str, ...] = ()


@dataclass(slots=True)
class Promoted:
    """What became of one scratchpad."""

    weighed: list[Weighed] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    """Ids of new memories, by the snippet each is of."""

    dry_run: bool = False
    degraded: list[str] = field(default_factory=list)
    error: SkymemError | None = None

    def count(self, *to: str) -> int:
        """How many went there, or would go."""
        went = [one for one in self.weighed if self.dry_run or one.id in self.made]
        return sum(1 for one in went if one.to in to)


def promote(
    home: "Home",
    agent: str,
    session: str,
    snippets: "Sequence[Kept]",
    *,
    because: Because = "by_hand",
    dry_run: bool = False,
) -> dict[str, Any]:
    """Promote what of a scratchpad is worth it; gives the run's detail.

    Args:
        home: where.
        agent: whose.
        session: which conversation's.
        snippets: what stands in it, oldest first.
        because: what set it off.
        dry_run: weigh only, and write nothing.

    Raises:
        NotAllowedError: this process is not the home's owner.
        SkymemError: what kept it from its end; what came before it is done and recorded.
    """
    home.only_owner("promote a scratchpad")
    started = app.now()
    done = Promoted(dry_run=dry_run)
    if dry_run:
        _weigh_all(home, agent, snippets, done, dry_run=True)
    else:
        home.files.make_directory(home.paths.run)
        lock = home.paths.run / f"scratchpad-{agent}.lock"
        with held(lock, JOB, deadline_seconds=LOCK_SECONDS, stop=home.stop):
            _carry_out(home, agent, snippets, done)
    detail = _detail(done, session, because, len(snippets))
    detail |= {"started": started, "duration_s": round(app.now() - started, 6)}
    if dry_run:
        return detail | {"dry_run": True}
    home.record(JOB, detail)
    if done.error is not None:
        raise done.error
    return detail


def _carry_out(home: "Home", agent: str, snippets: "Sequence[Kept]", done: Promoted) -> None:
    _weigh_all(home, agent, snippets, done, dry_run=False)
    by_id = {one.id: one.memory for one in snippets}
    try:
        for one in done.weighed:
            if one.to is not None:
                make = _to_context if one.to == CONTEXT else _to_preferences
                done.made[one.id] = make(home, agent, one.id, by_id[one.id])
    except SkymemError as error:
        done.error = error
    _record(home, agent, done)


def _to_context(home: "Home", agent: str, name: str, memory: Memory) -> str:
    theirs, owner = of_tenant(home, agent)
    line = _context_line(home, owner, agent, name, memory)
    agent_md.append(theirs, agent, memory.searchable, memory_id=line.id)
    theirs.remember(owner, [line.raw])
    return line.id


def _context_line(home: "Home", owner: str, agent: str, name: str, memory: Memory) -> Admitted:
    """The memory of a snippet, which is the same whenever it is made."""
    tenant = home.rules.tenants.of(agent)
    extra: dict[str, Any] = {"record_type": CONTEXT, "evidence_ids": [name]}
    if tenant is not None:
        extra["tenant"] = tenant.name
    return doors.new_memory(
        home,
        memory.searchable,
        origin=memory.origin,
        trust=trust_of(memory, home.rules.trust),
        now=seconds(memory.time_us or 0),
        importance=max(IMPORTANCE, home.rules.for_agent(owner).promote_threshold),
        extra=extra,
    )


def _to_preferences(home: "Home", agent: str, name: str, memory: Memory) -> str:
    from skymem.working.preferences import Preferences

    written = Preferences(home, agent).note(
        memory.searchable,
        origin_ids=[name],
        origin=memory.origin,
        trust=memory.trust,
        user_id=memory.scope.get("user_id"),
    )
    return written.preference.id


def _record(home: "Home", agent: str, done: Promoted) -> None:
    """Tell the ledger what was made of what, and by which gate."""
    decided, added = [], []
    for one in done.weighed:
        if one.id in done.made:
            reason = next(gate for gate in one.gates if gate.gate == one.by)
            decided.append([OUTLIVES, one.id, *reason])
            added.append([one.to, done.made[one.id], [one.id], []])
    if not decided:
        return
    entry = {"op": "scratchpad", "agent": agent, "decided": decided, "added": added}
    own = [one for one in added if one[0] == CONTEXT]
    owner = home.rules.tenants.owner(agent)
    entries: list[dict[str, Any]] = (
        [entry, {"op": "scratchpad", "agent": owner, "added": own}] if own else [entry]
    )
    home.workplace().ledger().append(entries, app.now())


def _detail(done: Promoted, session: str, because: str, eligible: int) -> dict[str, Any]:
    kept: dict[str, int] = {}
    for one in done.weighed:
        if one.to is None:
            kept[one.by] = kept.get(one.by, 0) + 1
    acted = done.count(CONTEXT, PREFERENCE)
    detail: dict[str, Any] = {
        "ok": done.error is None,
        "job": JOB,
        "because": because,
        "session": session,
        "eligible": eligible,
        "acted": acted,
        "context": done.count(CONTEXT),
        "preferences": done.count(PREFERENCE),
        "skipped": kept,
        "degraded": done.degraded,
        "decisions": [{**one.as_json(), "made": done.made.get(one.id)} for one in done.weighed],
    }
    if not acted:
        detail["why"] = _why(eligible, kept)
    if done.error is not None:
        detail |= {"error": str(done.error), "exit_code": done.error.exit_code}
    return detail


def _why(eligible: int, kept: Mapping[str, int]) -> str:
    if not eligible:
        return "the scratchpad is empty"
    told = ", ".join(f"{count} by {gate}" for gate, count in sorted(kept.items()))
    return f"nothing passes; kept: {told}" if told else "it failed"


# -- weighing ---------------------------------------------------------------------------------


def _weigh_all(
    home: "Home", agent: str, snippets: "Sequence[Kept]", done: Promoted, *, dry_run: bool
) -> None:
    known = [*_promoted_already(home, agent, dry_run=dry_run)]
    before = _promoted_before(home, agent)
    elsewhere = [
        (terms(one.memory.searchable), one.memory.scope.get("session", ""))
        for one in at_hand(home, agent, dry_run=dry_run).of(SNIPPET)
    ]
    whom = [(home, agent), of_tenant(home, agent)]
    for kept in snippets:
        text, words = kept.memory.searchable, terms(kept.memory.searchable)
        likeness, told_by = _likeness(whom, text, words, done.degraded, dry_run=dry_run)
        again = {session for other, session in elsewhere if shared(words, other) >= FOUND_AGAIN}
        facts = Facts(
            remember=kept.memory.payload.get("remember") is True,
            trust=trust_of(kept.memory, home.rules.trust),
            needed=home.rules.trust.needed,
            sensitive=kept.memory.sensitivity == SENSITIVE,
            known=_said_already(kept, words, known) or before.get(kept.id, ""),
            likeness=max([likeness, *(shared(words, one.words) for one in known)]),
            told_by=told_by,
            sessions=len(again),
        )
        weighed = weigh(kept.id, text, facts, home.rules.scratchpad)
        done.weighed.append(weighed)
        if weighed.to is not None:
            user_id = kept.memory.scope.get("user_id") if weighed.to == PREFERENCE else None
            known.append(Known(weighed.to, words, user_id, (kept.id,)))


def _promoted_already(home: "Home", agent: str, *, dry_run: bool) -> Iterator[Known]:
    """What stands in business context and among the preferences, whoever put it there."""
    for whose, what in ((of_tenant(home, agent), CONTEXT), ((home, agent), PREFERENCE)):
        for kept in at_hand(*whose, dry_run=dry_run).of(what):
            memory = kept.memory
            user_id = memory.scope.get("user_id") if what == PREFERENCE else None
            yield Known(what, terms(memory.searchable), user_id, memory.evidence_ids)


def _promoted_before(home: "Home", agent: str) -> dict[str, str]:
    """What something was made of that may be there no more: whoever took it away meant it."""
    found: dict[str, str] = {}
    for entry in home.workplace().ledger().mentioning(WORD):
        if entry.get("op") == "scratchpad" and entry.get("agent") == agent:
            for _, _, evidence, _ in entry["added"]:
                found |= dict.fromkeys(evidence, "promoted before")
    return found


def _said_already(kept: "Kept", words: frozenset[str], known: Sequence[Known]) -> str:
    user_id = kept.memory.scope.get("user_id")
    for one in known:
        if kept.id in one.evidence_ids:
            return one.what
        if shared(words, one.words) >= KNOWN and one.user_id in (None, user_id):
            return one.what
    return ""


def _likeness(
    whom: "Sequence[tuple[Home, str]]",
    text: str,
    words: frozenset[str],
    degraded: list[str],
    *,
    dry_run: bool,
) -> tuple[float, str]:
    """The best likeness in long-term, by words, and by meaning where the engine answers."""
    best, told_by = 0.0, "words"
    asked = request.ask(text, NEAREST, recency_bias=0.0, filters=request.filters_of(tiers=["long"]))
    for home, agent in whom:
        if not home.shelf(agent).paths.long_term.exists():
            continue
        found = recall(home.workplace(dry_run=dry_run), agent, asked, home.engine)
        degraded += [one for one in found.degraded if one not in degraded]
        for one in found:
            best = max(best, shared(words, terms(one.content)), one.parts.semantic or 0.0)
            if one.parts.semantic is not None:
                told_by = "meaning and words"
    return min(1.0, best), told_by
