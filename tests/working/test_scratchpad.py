"""The scratchpad of a conversation: quick, capped, the same after a restart (row W1)."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skymem import app, open_memory
from skymem.agent import AgentMemory
from skymem.app import init_home
from skymem.errors import DiskError, InvalidMemoryError
from skymem.stores.files import Files
from skymem.working import at_hand as module
from skymem.working.scratchpad import Marks, Scratchpad

T0 = 1_790_000_000.0
DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(app, "now", clock)
    return clock


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[AgentMemory]:
    init_home(tmp_path / "home")
    yield open_memory("sky", home=str(tmp_path / "home"))
    module._hands.clear()


def texts(pad: Scratchpad) -> list[str]:
    """What it reads, which must be what a process that has just started reads."""
    found = pad.read()
    module._hands.clear()
    assert Scratchpad(pad._home, pad._agent, pad.session).read() == found
    return [str(one) for one in found]


def short_term(memory: AgentMemory) -> Path:
    return memory._home.paths.agent(memory.agent).short_term


def test_what_is_written_is_read_the_newest_last(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    assert texts(pad) == []
    first = pad.write("The table has 40 columns.", "Half of the rows have no region.")
    (second,) = pad.write("Sales fell in May.")
    assert [one.id for one in pad.read()] == [*first, second]
    assert texts(pad) == [
        "The table has 40 columns.",
        "Half of the rows have no region.",
        "Sales fell in May.",
    ]


def test_a_line_says_what_it_is(memory: AgentMemory) -> None:
    memory.scratchpad.of("c-42").write("Sales fell.", user_id="ann", origin="tool", trust=0.4)
    fields = json.loads(short_term(memory).read_bytes())
    assert fields == {
        "ts": T0,
        "type": "short",
        "content": "Sales fell.",
        "importance": 0.1,
        "user_id": "ann",
        "origin": "tool",
        "trust": 0.4,
        "record_type": "snippet",
        "session": "c-42",
        "ttl_days": 7.0,
    }


def test_each_conversation_has_its_own(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_SESSION", "c-1")
    memory.scratchpad.write("a")
    memory.scratchpad.of("c-2").write("b")
    assert texts(memory.scratchpad) == ["a"]
    assert texts(memory.scratchpad.of("c-2")) == ["b"]
    assert texts(memory.scratchpad.of("default")) == []
    with pytest.raises(InvalidMemoryError, match="needs a name"):
        memory.scratchpad.of(" ")


def test_what_is_written_again_is_the_newest(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    pad.write("Sales fell in May.", "b", "🎉", "!")
    pad.write("sales fell in may")
    assert texts(pad) == ["b", "🎉", "!", "sales fell in may"]


def test_what_is_written_again_gains_no_trust_and_loses_no_mark(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    pad.write("a", origin="tool", trust=0.3, remember=True, user_id="ann", evidence_ids=["e1"])
    pad.write("a", origin="user", trust=0.9, evidence_ids=["e2"])
    (found,) = pad.read()
    assert (found.origin, found.trust, found.remember, found.user_id) == ("tool", 0.3, True, "ann")
    assert json.loads(short_term(memory).read_bytes().splitlines()[-1])["evidence_ids"] == [
        "e1",
        "e2",
    ]


def test_of_65_the_one_not_written_for_longest_has_left(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    pad.write(*(f"finding {number}" for number in range(64)))
    pad.write("finding 0")
    pad.write("one more")
    found = texts(pad)
    assert len(found) == 64
    assert found[0] == "finding 2"
    assert found[-2:] == ["finding 0", "one more"]
    pad.write(*(f"new {number}" for number in range(70)))  # more than it holds, at once
    assert texts(pad) == [f"new {number}" for number in range(6, 70)]


def test_who_overtook_each_other_leave_no_more_than_the_cap(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    pad.write(*(f"finding {number}" for number in range(64)))
    lines = [pad.lines([text], Marks())[0].raw for text in ("ours", "theirs", "ours")]
    memory._home.remember("sky", lines)
    assert len(texts(pad)) == 64
    pad.write("next")
    assert len(texts(pad)) == 64
    assert texts(pad)[-1] == "next"
    kept = module.at_hand(memory._home, "sky").of("snippet")
    assert len(kept) == 64  # nothing is left behind that could come back


def test_it_ends_a_time_after_it_was_last_written(memory: AgentMemory, clock: Clock) -> None:
    pad = memory.scratchpad
    pad.write("a", "b")
    clock.now += 6 * DAY
    pad.write("a")
    clock.now += 2 * DAY
    assert texts(pad) == ["a"]
    clock.now += 6 * DAY
    assert texts(pad) == []


def test_a_clock_that_was_set_back_does_not_make_the_newest_the_oldest(
    memory: AgentMemory, clock: Clock
) -> None:
    pad = memory.scratchpad
    pad.write("a")
    clock.now -= 3600
    pad.write("b")
    assert texts(pad) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [(" \n", "no text"), ("x" * 2001, "2,001 characters are more than 2,000")],
)
def test_what_is_no_snippet_is_refused_with_all_that_came_with_it(
    memory: AgentMemory, given: str, complaint: str
) -> None:
    with pytest.raises(InvalidMemoryError, match=complaint):
        memory.scratchpad.write("fine", given)
    with pytest.raises(InvalidMemoryError, match="origin"):
        memory.scratchpad.write("fine", origin="hearsay")
    assert texts(memory.scratchpad) == []


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2)), max_size=30),
    st.integers(1, 4),
)
def test_it_is_the_last_few_texts_by_when_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, int]], size: int
) -> None:
    """Whatever is written to whichever conversation, at whatever moments, and whoever restarts."""
    root = tmp_path_factory.mktemp("h") / "home"
    init_home(root)
    rules = root / "retention_rules.yaml"
    rules.write_text(rules.read_text() + f"\nscratchpad: {{size: {size}}}\n")
    pads = [open_memory("sky", home=str(root)).scratchpad.of(f"c-{number}") for number in range(3)]
    model: list[dict[str, None]] = [{}, {}, {}]
    for text, number in written:
        pads[number].write(text)
        model[number].pop(text, None)
        model[number][text] = None
        while len(model[number]) > size:
            del model[number][next(iter(model[number]))]
        assert [str(one) for one in pads[number].read()] == [*model[number]]
    module._hands.clear()
    for pad, expected in zip(pads, model, strict=True):
        assert texts(pad) == [*expected]


class Counting(Files):
    """Counts what reaches the kernel of a write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []
        self.syncs = 0

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.writes.append(len(data))
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self.syncs += 1
        super().fsync(fd)

    def fsync_directory(self, path: Path) -> None:
        self.syncs += 1
        super().fsync_directory(path)


def test_a_write_is_one_write_and_waits_for_no_disk(memory: AgentMemory) -> None:
    memory.scratchpad.write("the first makes the file, whose name must last")
    before = short_term(memory).stat().st_size
    files = Counting()
    home = memory._home
    home.files = files
    home._ready.clear()
    memory.scratchpad.write("a", "b", "c")
    assert files.writes == [short_term(memory).stat().st_size - before]
    assert files.syncs == 0
    memory.remember("what is durable brings it to the disk with it")
    assert files.syncs == 1


def test_the_name_of_a_new_file_is_made_durable_all_the_same(tmp_path: Path) -> None:
    files = Counting()
    files.append(tmp_path / "new", b"one\n", synced=False)
    assert files.syncs == 1


class Full(Files):
    def write(self, fd: int, data: bytes | memoryview) -> int:
        return super().write(fd, data[: len(data) // 2])


def test_a_full_disk_leaves_nothing_of_it(memory: AgentMemory) -> None:
    memory.scratchpad.write("a")
    memory._home.files = Full()
    memory._home._ready.clear()
    with pytest.raises(DiskError):
        memory.scratchpad.write("b", "c")
    assert texts(memory.scratchpad) == ["a"]


WRITER = """
import sys
from skymem import open_memory
pad = open_memory("sky", home=sys.argv[1]).scratchpad
number = 0
while True:
    pad.write(f"finding {number}")
    print(number, flush=True)
    number += 1
"""


def test_what_was_written_survives_the_kill_of_its_process(memory: AgentMemory) -> None:
    root = str(memory._home.paths.root)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, root],
        stdout=subprocess.PIPE,
        env={**os.environ, "SKYMEM_HOME": root},
    )
    assert writer.stdout is not None
    for _ in range(100):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    acknowledged = 99 + len(writer.stdout.read().splitlines())
    writer.wait()
    writer.stdout.close()
    found = [int(one.split()[1]) for one in texts(memory.scratchpad)]
    assert found[-1] in (acknowledged, acknowledged + 1)
    assert found == list(range(found[-1] - 63, found[-1] + 1))


def test_jobs_leave_it_alone_and_what_is_archived_is_still_read(memory: AgentMemory) -> None:
    pad = memory.scratchpad
    pad.write("a", "b", remember=True)
    rules = memory._home.paths.rules
    rules.write_text("short_term_max_lines: 1\npromote_threshold: 0.5\n")
    home = app.open_home(str(memory._home.paths.root))
    detail, _ = home.run_job("memory_rotate_check", agent="sky")
    assert (detail["promoted"], detail["archived"]) == (0, 1)
    assert texts(pad) == ["a", "b"]
