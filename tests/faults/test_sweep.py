"""Every step of every job fails once and dies once; the next run finds everything again."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import world
from .faulty import FAULTS, DyingFiles, PowerCut
from .oracle import check_records, check_sound, undisturbed
from .world import AGENT, look

STEPS_MAX = 1000


def promote_home(root: Path) -> str:
    world.make_home(root)
    return "promote"


def rotate_home(root: Path) -> str:
    world.make_home(root, lines_max=3)
    return "rotate"


def both_home(root: Path) -> str:
    world.make_home(root, lines_max=3)
    return "memory_rotate_check"


def flat_home(root: Path) -> str:
    """The first source's path holds half of it."""
    world.make_home(root)
    short_term = root / AGENT / "short_term.jsonl"
    world.write_old(short_term, short_term.read_bytes().removesuffix(world.TORN))
    flat = world.line("flat-worth", 0.9) + world.line("flat-kept", 0.1)
    world.write_old(root / "memory/short_term.jsonl", flat + world.TORN)
    return "promote"


def late_home(root: Path) -> str:
    """A writer held short-term open across a swap, wrote on, and died without its last newline."""
    world.make_home(root)
    short_term = root / AGENT / "short_term.jsonl"
    everything = short_term.read_bytes().removesuffix(world.TORN)
    world.write_old(short_term, world.line("early-worth", 0.9) + world.line("early-kept", 0.1))
    with short_term.open("ab") as late:
        world.run(root, "promote")
        late.write(world.line("late-worth", 0.9) + world.line("late-kept", 0.2))
        late.write(world.line("late-end", 0.8).rstrip())
    (drain,) = root.glob(f"{AGENT}/drains/*.jsonl")
    os.utime(drain, (world.OLD, world.OLD))
    with short_term.open("ab") as more:
        more.write(everything)
    os.utime(short_term, (world.OLD, world.OLD))
    return "promote"


HOMES = [promote_home, rotate_home, both_home, flat_home, late_home]


@pytest.fixture
def disk() -> Iterator[Path]:
    """A place in memory where there is one: no power is cut here, so no disk need turn."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path:
        yield Path(path)


def as_if_from_another_process(root: Path) -> None:
    """Temporary files carry their process's number, and the next process has another."""
    for left in root.rglob(f".*.{os.getpid()}.new"):
        left.rename(left.with_name(left.name.replace(f".{os.getpid()}.", ".1.")))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("make", HOMES, ids=lambda make: make.__name__)
def test_the_next_run_finds_every_memory_once_whichever_step_broke(
    make: Callable[[Path], str], fault: str, disk: Path
) -> None:
    template = disk / "template"
    job = make(template)
    shutil.copytree(template, disk / "undisturbed")
    world.run(disk / "undisturbed", job)
    expected = undisturbed(disk / "undisturbed")
    assert {world.BROKEN, world.HUGE} <= expected.damage.keys()
    for step in range(1, STEPS_MAX):
        root = disk / f"{step}"
        shutil.copytree(template, root)
        files = FAULTS[fault](step)
        try:
            world.run(root, job, files)
        except PowerCut:
            assert fault.startswith("killed")
        assert look(root).names() >= expected.places.keys(), f"unseen after step {step}"
        as_if_from_another_process(root)
        assert world.run(root, job)["ok"]
        check_sound(root, expected, exact="middle of a write" not in fault)
        shutil.rmtree(root)
        if not files.fired:
            break
    assert step > 8, "the fault never met its step"
    assert not files.fired


def states(make: Callable[[Path], str], name: str, disk: Path) -> list[frozenset[str]]:
    """In which tiers a memory is after a kill at each step, without the repetitions."""
    template = disk / "template"
    job = make(template)
    seen: list[frozenset[str]] = []
    for step in range(1, STEPS_MAX):
        root = disk / f"{step}"
        shutil.copytree(template, root)
        files = DyingFiles(step)
        try:
            world.run(root, job, files)
        except PowerCut:
            pass
        sight = look(root)
        state = sight.where(name) or sight.where_damage(name.encode())
        if state not in seen[-1:]:
            seen.append(state)
        if not files.fired:
            return seen
    pytest.fail("it never ends")


@pytest.mark.parametrize(
    ("make", "name", "order"),
    [
        pytest.param(promote_home, "worth-1", ["short", "long+short", "long"], id="promoted"),
        pytest.param(promote_home, "kept-last", ["short"], id="kept"),
        pytest.param(
            promote_home, world.BROKEN.decode(), ["short", "quarantine+short", "quarantine"],
            id="damaged",
        ),
        pytest.param(
            rotate_home, "kept-first", ["short", "archive+short", "archive"], id="archived"
        ),
        pytest.param(
            both_home, "worth-2", ["short", "long+short", "long"], id="promoted by the check"
        ),
        pytest.param(
            both_home, "kept-first", ["short", "archive+short", "archive"], id="archived by it"
        ),
        pytest.param(late_home, "late-worth", ["short", "long+short", "long"], id="late"),
    ],
)  # fmt: skip
def test_a_memory_is_in_its_old_place_then_in_both_then_in_its_new_one(
    make: Callable[[Path], str], name: str, order: list[str], disk: Path
) -> None:
    assert ["+".join(sorted(state)) for state in states(make, name, disk)] == order


@pytest.mark.parametrize("make", HOMES, ids=lambda make: make.__name__)
def test_a_run_after_the_last_changes_nothing(make: Callable[[Path], str], disk: Path) -> None:
    root = disk / "home"
    job = make(root)
    world.run(root, job)
    before = look(root)
    assert not world.run(root, job)["acted"]
    assert look(root) == before
    check_records(root)
