"""Is a memory active, expired or superseded? From lines alone, at any moment (row N3, design §3).

Nothing is written into an old line: a superseder names what it replaces in its own `supersedes`,
and readers work out the rest. So what is forgotten gives back what it had replaced.
"""

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Protocol

from skymem.model.memory import Memory

State = Literal["active", "expired", "superseded"]

EARLIEST_US: Final = 1_000_000_000_000_000
"""September 2001: a time before it is a number of days or seconds, or a clock that wasn't set."""

TIME_US_MAX: Final = 253_402_300_800_000_000
"""The year 10000: an expiry beyond it is none."""


class Refers(Protocol):
    """One memory names another in its `supersedes`."""

    @property
    def source(self) -> str:
        """The id of the one that names."""

    @property
    def target(self) -> str:
        """The id of the one that is named."""

    @property
    def time_us(self) -> int | None:
        """When the one that names happened."""


class Link(NamedTuple):
    """The plainest `Refers`."""

    source: str
    time_us: int | None
    target: str


class Single(NamedTuple):
    """A memory of a kind of which only one is active at a time (row N10)."""

    id: str
    time_us: int | None
    of: tuple[str, ...]
    """What there is only one of; see `single_of`."""


class Superseded(NamedTuple):
    """What took the place of a memory, and when."""

    by: str
    since_us: int | None
    """When its superseder happened; None when that says no time."""


def expires_us(memory: Memory, *, pinned: bool = False) -> int | None:
    """When a memory expires, microseconds since the epoch; None when it never does."""
    if pinned or memory.stability == "permanent":
        return None
    return plausible_expiry(memory.time_us, memory.expires_us)


def plausible_expiry(time_us: int | None, expiry_us: int | None) -> int | None:
    """Take an expiry for what it says, unless it can't be meant.

    One at or before the memory's own time would have it end before it began: a slip in the sign, or
    a number of days where a moment belongs. A memory must not vanish by a slip.
    """
    if expiry_us is None or expiry_us > TIME_US_MAX:
        return None
    begins = EARLIEST_US if time_us is None else time_us
    return expiry_us if expiry_us > begins else None


def is_expired(memory: Memory, *, now_us: int, pinned: bool = False) -> bool:
    """Whether its time to live is over: at that very moment it is."""
    ends = expires_us(memory, pinned=pinned)
    return ends is not None and ends <= now_us


def single_of(memory: Memory) -> tuple[str, ...]:
    """What a memory of a single kind is the only one of: its kind, for its user."""
    scope = memory.scope
    return memory.kind or "", scope.get("user_id", ""), scope.get("tenant", "")


class Chains:
    """Who supersedes whom among the memories of one agent's short, long and archive."""

    __slots__ = ("_below", "_by", "_times", "rings")

    def __init__(
        self,
        by: dict[str, str],
        below: Mapping[str, list[str]],
        times: Mapping[str, int | None],
        rings: frozenset[str],
    ) -> None:
        """Hold what `of` works out."""
        self._by = by
        self._below = below
        self._times = times
        self.rings = rings
        """All that supersedes itself by way of others: odd lines, best left alone."""

    @classmethod
    def of(
        cls,
        links: Iterable[Refers],
        living: Container[str] | None = None,
        singles: Iterable[Single] = (),
    ) -> "Chains":
        """Work out all chains at once.

        Args:
            links: each `supersedes` of each memory, in any order.
            living: ids of what is in short, long or archive; what is not there supersedes nothing
                and is not superseded. None: all that is named is there.
            singles: memories of single kinds, without those that are expired.
        """
        above: dict[str, list[str]] = {}
        below: dict[str, list[str]] = {}
        times: dict[str, int | None] = {}
        for link in links:
            source, target = link.source, link.target
            if source == target or (living is not None and source not in living):
                continue
            times[source] = link.time_us
            if living is None or target in living:
                above.setdefault(target, []).append(source)
                below.setdefault(source, []).append(target)
        rings = _break_rings(above, below, times)
        by = _nearest(above, below, times)
        alone = [*singles]
        for one in alone:
            times.setdefault(one.id, one.time_us)
        for loser, winner in _all_but_newest(one for one in alone if one.id not in by):
            by[loser] = winner
            below.setdefault(winner, []).append(loser)
        return cls(by, below, times, rings)

    def superseded_by(self, name: str) -> str | None:
        """What took its place; of several, one that is active, and of these the newest."""
        return self._by.get(name)

    def superseded(self) -> Mapping[str, Superseded]:
        """Every superseded memory."""
        times = self._times
        return MappingProxyType(
            {name: Superseded(by, times.get(by)) for name, by in self._by.items()}
        )

    def head(self, name: str) -> str:
        """What stands in its place now: itself when nothing does."""
        while (above := self._by.get(name)) is not None:
            name = above
        return name

    def history(self, name: str) -> list[str]:
        """Every memory of its chain, oldest first and the active one last."""
        head = self.head(name)
        depths = {head: 0}
        waiting = deque([head])
        while waiting:
            above = waiting.popleft()
            for one in self._below.get(above, ()):
                if one not in depths:
                    depths[one] = depths[above] + 1
                    waiting.append(one)
        return sorted(depths, key=lambda one: (-depths[one], *_age(self._times, one)))

    def __contains__(self, name: str) -> bool:
        """Whether it is superseded."""
        return name in self._by

    def __len__(self) -> int:
        """How many are superseded."""
        return len(self._by)


def passed_on(
    links: Iterable[Link], removed: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Link, str]]:
    """Follow chains through what is in trash: whatever that had replaced is not back.

    Only where the last of a chain is removed its predecessor is active again.

    Args:
        links: each `supersedes` of what is in short, long or archive.
        removed: what each memory in trash supersedes.

    Yields:
        What is superseded that way, and by way of which memory in trash.
    """
    for link in links:
        met: set[str] = set()
        waiting = [link.target] if link.target in removed else []
        while waiting:
            name = waiting.pop()
            for target in removed.get(name, ()):
                if target not in met and target != link.source:
                    met.add(target)
                    yield link._replace(target=target), name
                    waiting.append(target)


def standing(
    name: str, memory: Memory, chains: Chains, *, now_us: int, pinned: bool = False
) -> State:
    """Say whether readers may return a memory: only when it is active."""
    if is_expired(memory, now_us=now_us, pinned=pinned):
        return "expired"
    return "superseded" if name in chains else "active"


# -- working it out ---------------------------------------------------------------------------

_Edges = dict[str, list[str]]
_Times = Mapping[str, int | None]


def _age(times: _Times, name: str) -> tuple[int, str]:
    """Order memories oldest first, equal times by id; without a time it is the oldest."""
    time_us = times.get(name)
    return (-1 if time_us is None else time_us), name


def _all_but_newest(singles: Iterable[Single]) -> Iterator[tuple[str, str]]:
    """Yield each single memory that isn't the newest of its sort, with the one that is."""
    sorts: dict[tuple[str, ...], dict[str, int | None]] = {}
    for one in singles:
        sorts.setdefault(one.of, {})[one.id] = one.time_us
    for times in sorts.values():
        winner = max(times, key=lambda name: _age(times, name))
        yield from ((name, winner) for name in times if name != winner)


def _nearest(above: _Edges, below: _Edges, times: _Times) -> dict[str, str]:
    """Give each superseded memory the superseder that is nearest to an active one."""
    by: dict[str, str] = {}
    level = [name for name in below if not above.get(name)]
    while level:
        level.sort(key=lambda name: _age(times, name), reverse=True)
        after: list[str] = []
        for source in level:
            for target in below.get(source, ()):
                if target not in by and above.get(target):
                    by[target] = source
                    after.append(target)
        level = after
    return by


def _break_rings(above: _Edges, below: _Edges, times: _Times) -> frozenset[str]:
    """Let the newest of each ring be superseded by none of it; returns all that are in rings."""
    found: set[str] = set()
    for ring in _rings(above, below):
        found |= ring
        winner = max(ring, key=lambda name: _age(times, name))
        losers = [name for name in above[winner] if name in ring]
        above[winner] = [name for name in above[winner] if name not in ring]
        for name in losers:
            below[name] = [target for target in below[name] if target != winner]
    return frozenset(found)


def _rings(above: _Edges, below: _Edges) -> Iterator[set[str]]:
    """Find the strongly connected sets of more than one (Kosaraju's two passes, no recursion)."""
    left = _in_or_under_rings(above, below)
    found: set[str] = set()
    for first in reversed(_finished(left, below)):
        if first in found:
            continue
        ring, waiting = {first}, [first]
        while waiting:
            for name in above.get(waiting.pop(), ()):
                if name in left and name not in found and name not in ring:
                    ring.add(name)
                    waiting.append(name)
        found |= ring
        if len(ring) > 1:
            yield ring


def _in_or_under_rings(above: _Edges, below: _Edges) -> set[str]:
    """Drop, as long as there are any, those that nothing left supersedes: most of them, mostly."""
    counts = {name: len(sources) for name, sources in above.items()}
    waiting = [name for name in below if name not in counts]
    while waiting:
        for target in below.get(waiting.pop(), ()):
            counts[target] -= 1
            if not counts[target]:
                del counts[target]
                waiting.append(target)
    return set(counts)


def _finished(left: set[str], below: _Edges) -> list[str]:
    """Order memories by when a walk downwards is done with them."""
    order: list[str] = []
    met: set[str] = set()
    for first in sorted(left):
        if first in met:
            continue
        met.add(first)
        stack = [(first, iter(below.get(first, ())))]
        while stack:
            name, targets = stack[-1]
            into = next((one for one in targets if one in left and one not in met), None)
            if into is None:
                order.append(name)
                stack.pop()
            else:
                met.add(into)
                stack.append((into, iter(below.get(into, ()))))
    return order
