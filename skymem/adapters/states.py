"""What is known by one name for its whole life, kept as memories: each state a line of its own.

A new state supersedes the ones before, which stay as history; nothing is overwritten (row M3). The
newest that is active is what a reader gets. To forget the name is to forget all its states, since
what only its last state superseded would be back (row N3).
"""

import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from skymem import doors
from skymem.app import READER_BUSY_MS, Home, agent_from_environment, now, open_home
from skymem.errors import NotAllowedError
from skymem.jobs.detail import raise_failure
from skymem.model.memory import Memory
from skymem.model.spelling import read_line
from skymem.policy.admit import check_agent_name
from skymem.policy.form import Admitted
from skymem.policy.rank import Parts
from skymem.policy.standing import State as Standing
from skymem.recall.request import LIMIT_MAX, Filters, ask
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.lock import held
from skymem.stores.protection import read_protection
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.short_lines import named_short
from skymem.upkeep import forget_memories, pin_memory

LOCK_SECONDS: Final = 30.0
MICROSECOND: Final = 1e-6
"""Between names that come at once: their order is kept."""

STATES_MAX: Final = 1_000_000
_LATER: Final = re.compile(r"(.+)\.[0-9a-f]{16}", re.DOTALL)


class State(NamedTuple):
    """One state of a name."""

    kept: Kept
    standing: Standing

    @property
    def age(self) -> tuple[int, str]:
        """Orders states, oldest first."""
        return self.kept.memory.time_us or 0, self.kept.id


class Scored(NamedTuple):
    """What a recall found."""

    kept: Kept
    score: float
    parts: Parts


class New(NamedTuple):
    """The state that a name is to be in."""

    content: str
    fields: Mapping[str, Any]
    """Of the line, beside its text and time."""

    origin: str | None = None
    trust: float | None = None


Change = Callable[[Kept | None, float], New | None]
"""Makes the next state of the present one, if there is any, and the time; None to leave it."""


def name_of(own: str) -> str:
    """Whose state a memory is, by its id; its own name when it is nothing's later state."""
    later = _LATER.fullmatch(own)
    return own if later is None else later[1]


class States:
    """The names one agent's memory has, and their states."""

    def __init__(self, home: Home, agent: str) -> None:
        self.home = home.bind(agent)
        self.agent = agent

    @classmethod
    def opened(cls, agent: str | None, home: str | None) -> "States":
        """Open an agent's memory as `skymem.open_memory` does, and warn where that does.

        Raises:
            HomeNotFoundError, NotAllowedError, AgentNameError.
        """
        from skymem.agent import warned_of

        name = check_agent_name(agent if agent is not None else agent_from_environment())
        opened = open_home(home, appending=True, lenient=True)
        return cls(warned_of(opened, stacklevel=4), name)

    # -- reading --------------------------------------------------------------------------------

    def of(self, names: Collection[str]) -> dict[str, list[State]]:
        """The states of names in every tier, oldest first; a name that is unknown has none.

        Raises:
            NotAllowedError, DiskError.
        """
        found: dict[str, list[State]] = {name: [] for name in names}
        if not found:
            return found
        for state in self._ask(lambda shelf, catalog: self._named(shelf, catalog, found.keys())):
            whose = state.kept.id if state.kept.id in found else name_of(state.kept.id)
            found[whose].append(state)
        return {name: sorted(states, key=lambda one: one.age) for name, states in found.items()}

    def present(self, name: str, *, expired: bool = False) -> Kept | None:
        """What a name is now; None when it is not there, or not any more.

        Raises:
            NotAllowedError, DiskError.
        """
        return newest(self.of([name])[name], expired=expired)

    def every(self, filters: Filters, *, expired: bool = False) -> list[Kept]:
        """What each name is now, newest first: of memories that pass the filters.

        Raises:
            NotAllowedError, DiskError.
        """
        wanted = {"active", "expired"} if expired else {"active"}
        found: dict[str, Kept] = {}
        states = self._ask(lambda shelf, catalog: self._every(shelf, catalog, filters.kind))
        for state in sorted(states, key=lambda one: one.age, reverse=True):
            if state.standing in wanted and filters.passes(state.kept.tier, state.kept.memory):
                found.setdefault(name_of(state.kept.id), state.kept)
        return [*found.values()]

    def recall(self, query: str, limit: int, filters: Filters) -> list[Scored]:
        """Find what each name is now by words and meaning, best first.

        Raises:
            UsageError, NotAllowedError, DiskError.
        """
        from skymem.recalling import recall_and_note

        self.home.only_owner("recall")
        asked = ask(query, min(limit, LIMIT_MAX), filters=filters)
        met: dict[str, Scored] = {}
        for one in recall_and_note(self.home, self.agent, asked):
            if one.memory is not None:
                kept = Kept(one.id, one.tier, "", one.memory)
                met.setdefault(name_of(one.id), Scored(kept, one.score, one.parts))
        return [*met.values()]

    def gone(self, name: str) -> dict[str, tuple[Memory, float]]:
        """The states of a name that lie in trash, by id, each with when it came there.

        Raises:
            NotAllowedError, DiskError.
        """
        self.home.only_owner("read memories")
        shelf = self.home.shelf(self.agent)
        return {
            held.id: (shelf.guard.clean(held.line, held.memory), held.trashed_at)
            for held in shelf.trash.all()
            if name in (held.id, name_of(held.id))
        }

    # -- writing --------------------------------------------------------------------------------

    def add(self, news: Mapping[str, New]) -> dict[str, str]:
        """Write new names, each with its first state, all or none.

        Returns:
            What each says, once it is on disk: without the secrets that were in it.

        Raises:
            InvalidMemoryError, NotAllowedError, DiskError: nothing is changed.
        """
        moment = now()
        lines = [
            self._line(name, new, round(moment + n * MICROSECOND, 6))
            for n, (name, new) in enumerate(news.items())
        ]
        if lines:
            doors.take_in(self.home, self.agent, lines)
        return {one.id: read_line(one.raw).content for one in lines}

    def write(self, changes: Mapping[str, Change], *, expired: bool = False) -> dict[str, str]:
        """Give names new states, all or none; returns their ids by name once they are on disk.

        Who writes at the same time, in whatever process, waits: no state is lost, and none is made
        of one that is not the newest.

        Raises:
            InvalidMemoryError, NotAllowedError, BusyError, DiskError: nothing is changed.
        """
        written: dict[str, Admitted] = {}
        pinned: list[str] = []
        with self._alone():
            protection = read_protection(self.home.shelf(self.agent).paths.protected)
            for name, states in self.of(changes).items():
                there = newest(states, expired=expired)
                moment = _after(states, now())
                new = changes[name](there, moment)
                if new is None:
                    continue
                own = f"{name}.{secrets.token_hex(8)}"
                before = [one.kept.id for one in states if one.standing != "superseded"]
                written[name] = self._line(own, new, moment, before)
                if there is not None and protection.is_pinned(there.id, there.memory):
                    pinned.append(own)
            if written:
                doors.take_in(self.home, self.agent, [*written.values()])
        for own in pinned:
            pin_memory(self.home, self.agent, own)
        return {name: line.id for name, line in written.items()}

    def forget(self, names: Collection[str]) -> list[str]:
        """Move names to trash, with all their states; returns those that were there.

        Raises:
            NotAllowedError: one is pinned; the others are gone.
            BusyError, DiskError.
        """
        there = {name: states for name, states in self.of(names).items() if states}
        ids = [one.kept.id for states in there.values() for one in states]
        if ids:
            detail, outcomes = forget_memories(self.home, self.agent, ids)
            raise_failure(outcomes)
            if detail["skipped"].get("pinned"):
                raise NotAllowedError(
                    "it is pinned, and left; its owner can unpin it: skymem unpin ID"
                )
        return [*there]

    # -- within ---------------------------------------------------------------------------------

    def _line(self, own: str, new: New, moment: float, supersedes: Sequence[str] = ()) -> Admitted:
        links = {"supersedes": [*supersedes]} if supersedes else {}
        return doors.new_memory(
            self.home,
            new.content,
            now=moment,
            origin=new.origin,
            trust=new.trust,
            extra={**new.fields, **links, "id": own},
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold what every writer of states of this agent holds; then nobody's job is waited for."""
        self.home.only_owner("write over memories")
        paths, files = self.home.paths, self.home.files
        files.make_directory(paths.run)
        with held(paths.states_lock(self.agent), "states", deadline_seconds=LOCK_SECONDS):
            yield

    def _ask(self, question: Callable[[Shelf, Catalog], Iterator[Kept]]) -> list[State]:
        """Ask for memories, and find out how each stands; one that is twice there counts once."""
        self.home.only_owner("read memories")
        work = self.home.workplace()
        shelf = work.shelf(self.agent)

        def answer() -> list[State]:
            standings = work.standings(shelf, catalog)
            found = {kept.id: kept for kept in question(shelf, catalog) if kept.tier != "trash"}
            return [
                State(kept, standings.of_memory(kept.id, kept.memory)) for kept in found.values()
            ]

        with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
            return work.ask(catalog, shelf, answer)

    def _named(self, shelf: Shelf, catalog: Catalog, names: Collection[str]) -> Iterator[Kept]:
        for kept in _short(shelf, catalog):
            if kept.id in names or name_of(kept.id) in names:
                yield kept
        for name in names:
            ids = catalog.find_by_prefix(self.agent, name, STATES_MAX)
            own = [one for one in ids if name in (one, name_of(one))]
            yield from shelf.read(catalog.find(self.agent, own))

    def _every(self, shelf: Shelf, catalog: Catalog, kind: str | None) -> Iterator[Kept]:
        yield from _short(shelf, catalog)
        life = Lifecycle(catalog, self.agent, self.home.rules.kinds)
        ids = life.newest_first(None) if kind is None else (one.id for one in life.of_kinds([kind]))
        yield from shelf.read(catalog.find(self.agent, [*ids]))


def newest(states: Sequence[State], *, expired: bool = False) -> Kept | None:
    """The newest that is active, or may have expired: two are where one was restored."""
    wanted = {"active", "expired"} if expired else {"active"}
    found = [one for one in states if one.standing in wanted]
    return found[-1].kept if found else None


def _after(states: Sequence[State], moment: float) -> float:
    """A moment after all states, whatever the clock says: the order of states is their time's."""
    last_us = max((one.kept.memory.time_us or 0 for one in states), default=0)
    return max(round(moment * 1_000_000), last_us + 1) / 1_000_000


def _short(shelf: Shelf, catalog: Catalog) -> Iterator[Kept]:
    file = shelf.paths.short_term.name
    return (Kept(one.id, "short", file, one.memory) for one in named_short(shelf, catalog))
