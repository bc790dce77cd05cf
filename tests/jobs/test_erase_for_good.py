"""What was erased does not come back: by replay, undo, restore, a saved plan or import (row X5)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem import app, erasure, upkeep
from skymem.errors import StalePlanError, UnknownMemoryError, UsageError
from skymem.model.memory import Memory
from skymem.model.spelling import read_line
from skymem.stores.home_key import key_path
from skymem.stores.tombstones import Graveyard
from tests.conftest import START, Desk, line
from tests.jobs.erased import SECRET, balanced, erased, id_of, traces


def test_the_same_line_written_again_is_dropped_and_counted(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9), line("kept", 0.9))
    desk.run("promote")
    (secret, _) = desk.raw("long")
    erased(desk, id_of(desk, SECRET))
    desk.echo(line(SECRET, 0.9), line(SECRET, 0.9), secret + b"\n")
    told = desk.run()

    assert (told["erased"], told["promoted"], told["steps"]["promote"]["repeats"]) == (3, 0, 3)
    assert desk.contents("long") == ["kept"]
    assert traces(desk.paths.root, SECRET) == []
    assert balanced(desk) == {"came_in": 2, "long": 1, "erased": 1}
    gates = [one[2] for entry in desk.ledger() for one in entry.get("decided", ())]
    assert gates.count("erased") == 3


@pytest.mark.parametrize("job", ["rotate", "compress", "merge", "prune"])
def test_every_job_drops_it(desk: Desk, job: str) -> None:
    desk.echo(line(SECRET, 0.1))
    erased(desk, id_of(desk, SECRET))
    desk.limit(0)
    desk.echo(line(SECRET, 0.1))
    assert desk.run(job)["erased"] == 1
    assert desk.everything() == []


def test_the_same_words_at_another_time_are_a_new_memory(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9))
    erased(desk, id_of(desk, SECRET))
    desk.echo(line(SECRET, 0.9, ts=START + 60))
    assert desk.run("promote")["promoted"] == 1
    assert balanced(desk) == {"came_in": 2, "long": 1, "erased": 1}


def test_a_writers_own_id_is_not_given_again(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9, id="x1"))
    erased(desk, "x1")
    desk.echo(line(SECRET, 0.9, id="x1"), line("other words", 0.9, id="x1"))
    told = desk.run("promote")

    assert (told["promoted"], told["erased"]) == (1, 1)
    (raw,) = desk.raw("long")
    assert (json.loads(raw)["content"], json.loads(raw)["source_id"]) == ("other words", "x1")
    assert json.loads(raw)["id"] != "x1"
    assert balanced(desk) == {"came_in": 2, "long": 1, "erased": 1}


def test_no_undo_and_no_restore_brings_it_back(desk: Desk, home: app.Home) -> None:
    desk.echo(line(SECRET, 0.9), line("kept", 0.9))
    promoted = desk.run("promote")["agents"]["sky"]["runs"][0]
    own, kept = id_of(desk, SECRET), id_of(desk, "kept")
    (_, (forgotten,)) = upkeep.forget_memories(home, "sky", [own, kept])
    receipt = erased(desk, own)

    with pytest.raises(UnknownMemoryError):
        upkeep.restore_memories(home, "sky", [own])
    back = upkeep.undo_run(home, forgotten.runs[0], ["sky"])
    assert (back["restored"], back["left"]) == ([kept], {"no longer in trash": 1})
    assert upkeep.undo_run(home, promoted, ["sky"])["restored"] == [kept]
    with pytest.raises(UsageError, match="can't be undone"):
        upkeep.undo_run(home, receipt.run, ["sky"])
    assert traces(desk.paths.root, SECRET) == []
    assert balanced(desk) == {"came_in": 2, "short": 1, "erased": 1}


def test_a_plan_that_was_saved_before_is_stale(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9), line("kept", 0.9))
    _, outcomes = desk.run_with_outcomes("promote", dry_run=True)
    plans = {("promote", "sky"): outcomes[0].plans[0]}
    erased(desk, id_of(desk, SECRET))
    with pytest.raises(StalePlanError):
        desk.run_with_outcomes("promote", plans=plans)
    assert desk.contents("short") == ["kept"]


def test_an_import_knows_it_by_its_words_whatever_else_the_line_says(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9))
    erased(desk, id_of(desk, SECRET))
    tombstones = desk.work().graveyard().of("sky")

    assert tombstones.bars_import(read_line(line(SECRET, 0.3, ts=START + 99, tags=["x"])))
    assert tombstones.bars_import(Memory({"timestamp": "2025-11-08T12:34:56Z", "content": SECRET}))
    assert not tombstones.bars_import(read_line(line("other words")))
    assert not desk.work().graveyard().of("hobbs").bars_import(read_line(line(SECRET)))


def test_tombstones_tell_nothing_without_the_homes_key(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9, id="a-telling-id"))
    erased(desk, "a-telling-id")
    work = desk.work()
    stones = Graveyard(work.paths, work.home_key).path("sky").read_bytes()

    assert b"telling" not in stones
    assert traces(desk.paths.audit / "tombstones", SECRET) == []
    key_path(desk.paths).write_bytes(b"k" * 32)
    other = desk.work().graveyard().of("sky")
    assert other
    assert not other.has_id("a-telling-id")


def test_erasing_again_says_when_it_was_erased(desk: Desk, home: app.Home) -> None:
    desk.echo(line(SECRET, 0.9))
    own = id_of(desk, SECRET)
    erased(desk, own)
    before = desk.ledger()
    again = erasure.erase_memories(home, "sky", [own])

    assert (again.ids, [*again.already], again.exit_code) == ([], [own], 0)
    assert again.already[own] == desk.clock
    assert len(desk.ledger()) == len(before)
    with pytest.raises(UnknownMemoryError):
        erasure.erase_memories(home, "sky", ["never-there"])


def test_a_backup_put_back_by_hand_is_erased_again(desk: Desk) -> None:
    desk.echo(line(SECRET, 0.9))
    desk.run("promote")
    backup = desk.tiers.long_term.read_bytes()
    own = id_of(desk, SECRET)
    erased(desk, own)
    desk.tiers.long_term.write_bytes(backup)
    assert erased(desk, own).ids == [own]
    assert traces(desk.paths.root, SECRET) == []
    assert len(desk.work().graveyard().of("sky").lines) == 1


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({}, "give ids"),
        ({"match": "x", "everything": True}, "give ids"),
        ({"match": ""}, "matches everything"),
        ({"match": "("}, "no regular expression"),
        ({"source": " "}, "--source is empty"),
    ],
)
def test_what_is_not_said_clearly_erases_nothing(
    desk: Desk, home: app.Home, what: dict[str, str], message: str
) -> None:
    desk.echo(line("kept"))
    with pytest.raises(UsageError, match=message):
        erasure.erase_memories(home, "sky", **what)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match='no agent "nobody"'):
        erasure.erase_memories(home, "nobody", match="x")
    assert desk.contents("short") == ["kept"]
    assert not (desk.paths.memory / "nobody").exists()


def test_a_file_that_goes_while_the_home_is_searched_is_no_fault(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs of other agents go on: what they take away has nothing in it any more."""
    desk.echo(line(SECRET, 0.9))
    walk = os.walk

    def with_one_that_went(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for directory, names, files in walk(root):
            yield directory, names, [*files, "went.jsonl"]

    monkeypatch.setattr("skymem.jobs.erase_proof.os.walk", with_one_that_went)
    proof = erased(desk, id_of(desk, SECRET)).proof

    assert proof is not None
    assert proof["found_in"] == []
    assert proof["files"] > 0
