"""Working records at hand: what is read again is what a restart would read (rows W1, W3)."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.app import Home, init_home, open_home
from skymem.errors import DiskError
from skymem.stores.drains import Cursor
from skymem.stores.shelf import Kept
from skymem.upkeep import forget_memories
from skymem.working import at_hand as module
from skymem.working import short_records
from skymem.working.at_hand import Hand, at_hand

T0 = 1_790_000_000.0


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
def home(tmp_path: Path, clock: Clock) -> Iterator[Home]:
    init_home(tmp_path / "home")
    yield open_home(str(tmp_path / "home"))
    module._hands.clear()


def spelled(
    text: str, record_type: str | None = "preference", at: float = T0, **more: Any
) -> bytes:
    fields: dict[str, Any] = {"ts": at, "content": text}
    if record_type:
        fields["record_type"] = record_type
    return json.dumps({**fields, **more}).encode() + b"\n"


def seen(home: Home, *types: str) -> list[str]:
    """What is at hand, which must be what a process that has just started reads."""
    kept = at_hand(home, "sky").of(*types or ("preference",))
    anew = Hand(home, "sky").of(*types or ("preference",))
    assert [_told(one) for one in kept] == [_told(one) for one in anew]
    return [one.memory.content for one in kept]


def _told(kept: Kept) -> tuple[Any, ...]:
    return kept.id, kept.tier, kept.file, kept.memory.fields


def ids(home: Home) -> list[str]:
    return [one.id for one in at_hand(home, "sky").of("preference")]


def test_newest_first_of_the_types_asked_for(home: Home) -> None:
    assert seen(home) == []
    home.remember("sky", [spelled("a"), spelled("b", at=T0 + 2), spelled("note", None)])
    home.remember("sky", [spelled("p", "playbook", T0 + 1)])
    assert seen(home) == ["b", "a"]
    assert seen(home, "preference", "playbook") == ["b", "p", "a"]


def test_what_others_append_without_a_lock_is_there_at_the_next_call(home: Home) -> None:
    home.remember("sky", [spelled("a")])
    assert seen(home) == ["a"]
    path = home.paths.agent("sky").short_term
    with path.open("ab") as stream:
        stream.write(spelled("b", at=T0 + 1)[:-20])
        stream.flush()
        assert seen(home) == ["a"]  # its line has not ended
        stream.write(spelled("b", at=T0 + 1)[-20:])
    assert seen(home) == ["b", "a"]


def test_a_file_that_was_edited_is_read_anew(home: Home) -> None:
    home.remember("sky", [spelled("a"), spelled("b", at=T0 + 1)])
    assert seen(home) == ["b", "a"]
    path = home.paths.agent("sky").short_term
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"c"') + spelled("d", at=T0 + 2))
    assert seen(home) == ["d", "c", "a"]
    path.unlink()
    assert seen(home) == []


def test_superseded_and_expired_are_gone_at_once(home: Home, clock: Clock) -> None:
    home.remember("sky", [spelled("a"), spelled("short-lived", at=T0 + 1, ttl_days=1)])
    assert seen(home) == ["short-lived", "a"]
    first = ids(home)[1]
    home.remember("sky", [spelled("b", at=T0 + 2, supersedes=[first])])
    assert seen(home) == ["b", "short-lived"]
    home.remember("sky", [spelled("a note", None, T0 + 3, supersedes=ids(home)[:1])])
    assert seen(home) == ["short-lived"]
    clock.now = T0 + 86_401
    assert seen(home) == []
    clock.now = T0 + 5  # a clock that was set back has it again
    assert seen(home) == ["short-lived"]


def test_a_ring_keeps_its_newest(home: Home) -> None:
    home.remember("sky", [spelled("a", id="a", supersedes=["b"])])
    assert seen(home) == ["a"]
    home.remember("sky", [spelled("b", at=T0 + 1, id="b", supersedes=["a"])])
    assert seen(home) == ["b"]


def test_long_term_and_archives_are_asked_of_the_catalog(home: Home) -> None:
    paths = home.paths.agent("sky")
    paths.directory.mkdir(parents=True, exist_ok=True)
    paths.long_term.write_bytes(spelled("long", id="l"))
    archive = paths.directory / "short_term_archive_20260101T000000Z.jsonl"
    archive.write_bytes(spelled("old", at=T0 - 9, id="o"))
    home.remember("sky", [spelled("new", at=T0 + 9)])
    assert seen(home) == ["new", "long", "old"]
    tiers = [one.tier for one in at_hand(home, "sky").of("preference")]
    assert tiers == ["short", "long", "archive"]
    with paths.long_term.open("ab") as stream:
        stream.write(spelled("longer", at=T0 + 1, id="l2", supersedes=["l"]))
    assert seen(home) == ["new", "longer", "old"]


def test_what_is_promoted_is_there_once_and_what_is_forgotten_is_not(home: Home) -> None:
    home.remember("sky", [spelled("a", importance=0.9), spelled("b", at=T0 + 1, importance=0.1)])
    assert seen(home) == ["b", "a"]
    names = ids(home)
    home.run_job("promote", agent="sky")
    assert seen(home) == ["b", "a"]
    assert ids(home) == names
    forget_memories(home, "sky", names, None)
    assert seen(home) == []


def test_what_a_drain_still_holds_counts(home: Home) -> None:
    home.remember("sky", [spelled("a")])
    assert seen(home) == ["a"]
    shelf = home.shelf("sky")
    drain = shelf.drains.begin("d.jsonl", Cursor("short_term.jsonl", 0, T0, "r"))
    drain.write_bytes(spelled("late", at=T0 + 1))
    assert seen(home) == ["late", "a"]
    with drain.open("ab") as stream:
        stream.write(spelled("later", at=T0 + 2))
    assert seen(home) == ["later", "late", "a"]


def test_pinned_never_expires(home: Home, clock: Clock) -> None:
    home.remember("sky", [spelled("a", ttl_days=1)])
    (name,) = ids(home)
    clock.now = T0 + 2 * 86_400
    assert seen(home) == []
    document = {"pinned": {name: T0}, "unpinned": {}, "restored": {}}
    home.paths.agent("sky").protected.write_text(json.dumps(document))
    assert seen(home) == ["a"]


def test_a_failure_to_read_leaves_nothing_half_read(home: Home) -> None:
    home.remember("sky", [spelled("a")])
    long_term = home.paths.agent("sky").long_term
    long_term.symlink_to("/nowhere")
    home.paths.agent("sky").protected.mkdir()
    with pytest.raises(DiskError):
        at_hand(home, "sky").of("preference")
    home.paths.agent("sky").protected.rmdir()
    long_term.unlink()
    assert seen(home) == ["a"]


def test_a_large_file_is_read_by_what_matters(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_records, "CHUNK_BYTES", 64)
    noise = [spelled("n" * size, None) for size in range(1, 200, 7)]
    home.remember("sky", [*noise, spelled("a" * 300), *noise, spelled("b", at=T0 + 1), *noise])
    assert seen(home) == ["b", "a" * 300]


def test_threads_share_it(home: Home) -> None:
    home.remember("sky", [spelled("a")])
    found: list[int] = []

    def reads() -> None:
        found.extend(len(at_hand(home, "sky").of("preference")) for _ in range(50))

    threads = [threading.Thread(target=reads) for _ in range(4)]
    for one in threads:
        one.start()
    for number in range(20):
        home.remember("sky", [spelled(f"more {number}")])
    for one in threads:
        one.join()
    assert len(found) == 200
    assert len(seen(home)) == 21
