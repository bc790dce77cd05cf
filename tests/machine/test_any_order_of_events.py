"""Promise 1 in whatever order things happen: appends, edits, kills, clock steps, a lost catalog.

A state machine does to one home what agents, editors, power cuts and operators do, in an order
hypothesis chooses, and looks after each completed run where every memory is.
"""

import os
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skymem.jobs.fsck import fsck
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.spelling import compose
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.conftest import Desk

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # a sync there costs nothing
EXAMPLES = 600 if os.environ.get("SKYMEM_FAULTS") == "all" else 60
JOBS = ["promote", "rotate", "memory_rotate_check"]
TEXT = re.compile(rb'"content": "(m\d+)"')

Made = tuple[float | None, str | None, bool]
MADE: st.SearchStrategy[Made] = st.tuples(
    st.sampled_from([0.1, 0.5, 0.9, None]),
    st.sampled_from([None, None, "w1", "w2"]),
    st.booleans(),
)
"""Importance, the writer's own id, and whether it is the second spelling."""


class PowerCut(BaseException):
    """Nothing in the program may catch it."""


class DyingFiles(Files):
    """Real disk until the n-th step; that one and all after it do not happen, a write by half."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.dead = False

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            self.dead = True
            raise PowerCut

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.steps == 0 and not self.dead:
            super().write(fd, data[: len(data) // 2])
        self._step()
        return super().write(fd, data)

    def create(self, path: Path) -> int:
        self._step()
        return super().create(path)

    def open_append(self, path: Path) -> int:
        self._step()
        return super().open_append(path)

    def overwrite(self, fd: int, data: bytes, offset: int) -> None:
        self._step()
        super().overwrite(fd, data, offset)

    def fsync(self, fd: int) -> None:
        self._step()
        super().fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._step()
        super().truncate(fd, size)

    def link(self, source: Path, target: Path) -> None:
        self._step()
        super().link(source, target)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)

    def mkdir(self, path: Path) -> None:
        self._step()
        super().mkdir(path)

    def fsync_directory(self, path: Path) -> None:
        self._step()
        super().fsync_directory(path)


@dataclass
class SlowWriter:
    """A writer that takes no lock, in the middle of its line, with the file open."""

    fd: int
    text: str
    rest: bytes
    end: int
    """Where its half line ends: who finds more there knows that somebody came in between."""

    clean: bool
    """Whether its line starts where a line should."""

    def finish(self) -> bool:
        """Write the rest; returns whether the line is now whole, in a file that still counts."""
        status = os.fstat(self.fd)
        os.write(self.fd, self.rest)
        return self.clean and status.st_size == self.end and status.st_nlink > 0


class Events(RuleBasedStateMachine):
    """One home. `must` are the memories that have to be there, `may` those that can be."""

    seen: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="skymem-machine-", dir=MEMORY))
        self.desk = Desk(HomePaths(self.base / "home"))
        self.desk.limit(4)
        self.desk.shelf().ensure()
        self.must: set[str] = set()
        self.may: set[str] = set()
        self.melted: set[str] = set()
        """Texts of which a copy may be part of damage, by the writers' doing."""

        self.lines: list[bytes] = []
        self.writers: list[SlowWriter] = []

    def teardown(self) -> None:
        for writer in self.writers:
            os.close(writer.fd)
        shutil.rmtree(self.base)

    def new_line(self, worth: float | None, own_id: str | None, second: bool) -> bytes:
        number = len(self.lines)
        fields: dict[str, Any] = {"content": f"m{number}"}
        if second:
            fields = {"timestamp": "2025-11-08T12:34:56.789Z", **fields, "metadata": {"a": 1}}
            fields |= {} if worth is None else {"score": round(worth * 10)}
        else:
            fields = {"ts": 1_700_000_000 + number, **fields}
            fields |= {} if worth is None else {"importance": worth}
        self.lines.append(compose(fields if own_id is None else {**fields, "id": own_id}))
        return self.lines[-1]

    def acknowledge(self, *lines: bytes) -> None:
        for line in lines:
            self.must.add(text_of(line))
            self.may.discard(text_of(line))

    def doubt(self, text: str) -> None:
        self.must.discard(text)
        self.may.add(text)
        self.melted.add(text)

    def tail_is_clean(self) -> bool:
        data = self.short()
        return not data or data.endswith(b"\n")

    def short(self) -> bytes:
        try:
            return self.desk.short_term.read_bytes()
        except FileNotFoundError:
            return b""

    # -- those who write ------------------------------------------------------------------------

    @rule(many=st.lists(MADE, min_size=1, max_size=3))
    def append_by_the_api(self, many: list[Made]) -> None:
        lines = [self.new_line(*one) for one in many]
        self.desk.shelf().append(lines)
        self.acknowledge(*lines)

    @rule(one=MADE, steps=st.integers(0, 4))
    def be_killed_while_appending(self, one: Made, steps: int) -> None:
        line = self.new_line(*one)
        self.doubt(text_of(line))
        self.desk.files = DyingFiles(steps)
        try:
            self.desk.shelf().append([line])
            self.acknowledge(line)
        except PowerCut:
            self.seen["killed appends"] += 1
        self.desk.files = Files()

    @rule(many=st.lists(MADE, min_size=1, max_size=5))
    def append_by_echo(self, many: list[Made]) -> None:
        self.echo(*[self.new_line(*one) for one in many])

    @precondition(lambda self: bool(self.lines))
    @rule(data=st.data())
    def append_an_exact_repeat(self, data: st.DataObject) -> None:
        self.echo(data.draw(st.sampled_from(self.lines)))

    def echo(self, *lines: bytes) -> None:
        if not self.tail_is_clean():
            self.melted.add(text_of(lines[0]))
            self.seen["melted lines"] += 1
        self.desk.echo(*lines)
        self.acknowledge(*lines)

    @precondition(lambda self: len(self.writers) < 2)
    @rule(one=MADE, part=st.floats(0, 1))
    def begin_a_line_and_keep_the_file_open(self, one: Made, part: float) -> None:
        line = self.new_line(*one)
        self.doubt(text_of(line))
        clean = self.tail_is_clean()
        cut = max(1, round(part * (len(line) - 1)))
        fd = os.open(self.desk.short_term, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, line[:cut])
        end = os.fstat(fd).st_size
        self.writers.append(SlowWriter(fd, text_of(line), line[cut:], end, clean))

    @precondition(lambda self: bool(self.writers))
    @rule(finish=st.booleans())
    def end_a_line_or_give_up(self, finish: bool) -> None:
        writer = self.writers.pop(0)
        self.end(writer, finish=finish)

    def end(self, writer: SlowWriter, *, finish: bool) -> None:
        if finish and writer.finish():
            self.must.add(writer.text)
            self.seen["finished lines"] += 1
        os.close(writer.fd)

    @rule(one=MADE, part=st.floats(0, 1), job=st.sampled_from(JOBS))
    def write_slowly_across_a_run(self, one: Made, part: float, job: str) -> None:
        """Begin a line, let a job swap the file meanwhile, and end the line in the old one."""
        self.begin_a_line_and_keep_the_file_open(one=one, part=part)
        self.run_a_job(job=job)
        self.end(self.writers.pop(), finish=True)

    @precondition(lambda self: not self.writers)
    @rule()
    def fall_silent(self) -> None:
        """Let every file be older than `torn_after`."""
        for path in [self.desk.short_term, *self.desk.tiers.drains.glob("*.jsonl")]:
            if path.exists():
                os.utime(path, (self.desk.clock - 1000, self.desk.clock - 1000))

    @precondition(lambda self: TEXT.search(self.short()) is not None)
    @rule(data=st.data(), one=MADE)
    def edit_by_hand(self, data: st.DataObject, one: Made) -> None:
        """Change one line in an editor, which puts a new file in the place of the old."""
        lines = self.short().splitlines(keepends=True)
        places = [place for place, line in enumerate(lines) if TEXT.search(line)]
        place = data.draw(st.sampled_from(places))
        new = self.new_line(*one)
        for text in TEXT.findall(lines[place]):
            self.doubt(text.decode())
        lines[place] = new
        edited = self.base / "edited"
        edited.write_bytes(b"".join(lines))
        edited.rename(self.desk.short_term)
        self.acknowledge(new)
        if place == len(lines) - 2 and not lines[-1].endswith(b"\n"):
            self.melted.add(text_of(new))

    # -- those who keep -------------------------------------------------------------------------

    @rule(job=st.sampled_from(JOBS))
    def run_a_job(self, job: str) -> None:
        detail = self.desk.run(job)
        assert detail["ok"], detail
        self.seen["runs"] += 1
        self.seen["recovered"] += len(detail.get("recovered", []))
        self.check()

    @rule(job=st.sampled_from(JOBS), steps=st.integers(0, 70))
    def be_killed_in_a_job(self, job: str, steps: int) -> None:
        self.desk.files = DyingFiles(steps)
        try:
            detail = self.desk.run(job)
            assert detail["ok"], detail
        except PowerCut:
            self.seen["killed runs"] += 1
            return
        finally:
            self.desk.files = Files()
        self.check()

    @rule()
    def lose_the_catalog(self) -> None:
        self.desk.delete_catalog()

    @rule(seconds=st.sampled_from([-86_400, -1, 0.5, 3600, 40 * 86_400]))
    def set_the_clock(self, seconds: float) -> None:
        self.desk.clock += seconds

    # -- what holds -----------------------------------------------------------------------------

    def check(self) -> None:
        """Promise 1: each memory in exactly one place, each id once, and a ledger that adds up."""
        tiers = self.tiers()
        for text in self.must | self.may:
            places = [name for name, texts in tiers.items() if text in texts]
            assert len(places) <= 1, f"{text} is in {places}"
            if text in self.must and not places:
                assert text in self.quarantined(), f"{text} is lost"
            for name in ("long", "archive"):
                assert tiers[name][text] <= 1, f"{text} is in {name} twice"
        assert not self.quarantined() & self.must - self.melted
        ids = Counter(memory.source_id for memory in self.moved_memories())
        assert not [name for name, count in ids.items() if count > 1 or name is None]
        # What was edited while the catalog was lost is gone, and nothing tells of it.
        assert {one["what"] for one in fsck(self.desk.work(), ["sky"]).problems} <= {"lost"}

    def tiers(self) -> dict[str, Counter[str]]:
        shelf = self.desk.shelf()
        short = [entry.memory for entry in shelf.short_entries() if isinstance(entry, Entry)]
        found = {"short": Counter(memory.content for memory in short)}
        for tier in ("long", "archive"):
            found[tier] = Counter(self.desk.contents(tier))
        return found

    def moved_memories(self) -> list[Memory]:
        return self.desk.memories("long") + self.desk.memories("archive")

    def quarantined(self) -> set[str]:
        """Texts in quarantine; a promotion that was cut short had them in short-term as well."""
        return {
            text.decode()
            for source, piece in self.desk.quarantined_from()
            if source != "long_term.jsonl"
            for text in TEXT.findall(piece)
        }


def text_of(line: bytes) -> str:
    found = TEXT.search(line)
    assert found is not None
    return found[1].decode()


def test_every_memory_is_in_exactly_one_place_whatever_happens_and_when() -> None:
    Events.seen.clear()
    run_state_machine_as_test(
        Events,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    # What never happened was not tested.
    for event in ("killed appends", "killed runs", "recovered", "finished lines"):
        assert Events.seen[event] > 0, Events.seen
