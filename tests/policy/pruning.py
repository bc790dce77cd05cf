"""A made-up agent's tiers in memory, as a prune sees them: each line 100 bytes, applied by hand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Plan, Stored
from skymem.model.rules import PruneRules
from skymem.policy.archives import ArchiveFile
from skymem.policy.prune import PruneView, plan_prune
from skymem.policy.standing import Chains, Link

DAY = 86_400
DAY_US = DAY * 1_000_000
NOW = 1_800_000_000
NOW_US = NOW * 1_000_000
WIDTH = 100
LONG = "long_term.jsonl"
OLD = "short_term_archive_20260601T000000Z.jsonl"
NEW = "short_term_archive_20261201T000000Z.jsonl"
GRACE_DAYS = 30
NO_RULES = PruneRules()


@dataclass
class World:
    """What there is; `put` adds a memory, `plan` plans, `apply` carries a plan out."""

    files: dict[str, list[tuple[str, Memory]]] = field(default_factory=dict)
    """By file ("" is short-term), memories in order, with their ids."""

    damage: int = 0
    elsewhere: dict[str, str] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)
    unpinned: set[str] = field(default_factory=set)
    evidence: set[str] = field(default_factory=set)
    restored: dict[str, tuple[str, int]] = field(default_factory=dict)
    recalled: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    reads: list[str] = field(default_factory=list)

    def put(self, name: str, file: str = LONG, *, age: float | None = 1, **fields: Any) -> "World":
        """Add a memory so many days old; None is without a time."""
        time = {} if age is None else {"ts": NOW - age * DAY}
        memory = Memory({**time, "content": "x", "importance": 0.2, **fields, "id": name})
        self.files.setdefault(file, []).append((name, memory))
        return self

    def ids(self) -> set[str]:
        """All that is in short, long and archives."""
        return {name for lines in self.files.values() for name, _ in lines}

    def stored(self, file: str) -> list[Stored]:
        """The memories of a file as the catalog knows them."""
        tier = "long" if file == LONG else "archive"
        return [
            Stored(
                name,
                tier,
                file,
                place * WIDTH,
                place * WIDTH + WIDTH,
                memory.time_us,
                0.2,
            )
            for place, (name, memory) in enumerate(self.files.get(file, ()))
        ]

    def short(self) -> list[Entry | Damage]:
        """Short-term as a reading gives it, damage at its end."""
        lines = self.files.get("", ())
        found: list[Entry | Damage] = []
        for place, (name, memory) in enumerate(lines):
            entry = Entry(place * WIDTH, place * WIDTH + WIDTH, memory, digest(memory))
            entry.id, entry.line = name, place
            entry.elsewhere = self.elsewhere.get(name, "")
            entry.pinned = self.is_pinned(name, memory)
            found.append(entry)
        first = len(lines) * WIDTH
        return [*found, *(Damage(first + n, first + n + 1, "no") for n in range(self.damage))]

    def view(self, *, backwards: bool = False) -> PruneView:
        """What a prune sees of it."""
        memories = {name: one for lines in self.files.values() for name, one in lines}
        links = [
            Link(name, memory.time_us, target)
            for lines in self.files.values()
            for name, memory in lines
            for target in memory.supersedes
        ]
        chains = Chains.of(links)

        def read(wanted: Sequence[Stored]) -> Mapping[str, Memory]:
            self.reads += [one.id for one in wanted]
            return {one.id: memories[one.id] for one in wanted if one.id not in self.unreadable}

        archives = [
            ArchiveFile(name, WIDTH * len(lines), self._newest(name))
            for name, lines in self.files.items()
            if name not in {"", LONG}
        ]
        stored = [one for name in self.files if name for one in self.stored(name)]
        turn: Any = reversed if backwards else iter
        return PruneView(
            read=read,
            short=self.short(),
            stored=turn(stored),
            superseded=chains.superseded(),
            rings=chains.rings,
            pinned=self.pinned,
            unpinned=self.unpinned,
            evidence=self.evidence,
            restored=self.restored,
            recalled=self.recalled,
            archives=[*turn(archives)],
            archive_lines=self.stored,
        )

    def plan(self, rules: PruneRules = NO_RULES, *, backwards: bool = False) -> Plan:
        """Plan a prune at `NOW`."""
        view = self.view(backwards=backwards)
        return plan_prune(view, "sky", rules, now_us=NOW_US, grace_us=GRACE_DAYS * DAY_US)

    def apply(self, plan: Plan) -> None:
        """Carry it out."""
        gone: dict[str, set[int]] = {}
        for one in plan.decisions:
            gone.setdefault(one.file, set()).add(one.start // WIDTH)
            self.damage -= one.action == "quarantine"
        for name, places in gone.items():
            lines = [
                one for place, one in enumerate(self.files.get(name, ())) if place not in places
            ]
            self.files[name] = lines

    def is_pinned(self, name: str, memory: Memory) -> bool:
        """Whether every job leaves it where it is."""
        return name in self.pinned or (memory.pinned and name not in self.unpinned)

    def _newest(self, file: str) -> int | None:
        times = (memory.time_us for _, memory in self.files[file])
        return max((one for one in times if one is not None), default=None)


def gates(plan: Plan) -> dict[str, str]:
    """The gate of each memory that goes."""
    return {one.id: one.reason.gate for one in plan.decisions if one.action == "trash"}


def names(entries: Iterable[Any]) -> list[str]:
    """Ids, in order."""
    return [one.id for one in entries]
