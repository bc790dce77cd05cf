"""Whatever a person or a job takes away comes back: same bytes, same place (promise 5)."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.errors import UnknownMemoryError, UsageError
from skymem.recall.listing import recent
from skymem.recall.request import Filters
from skymem.stores.files import Files
from skymem.stores.protection import read_protection, write_protection
from tests.conftest import Desk, line
from tests.jobs.test_finishing_what_was_left import die
from tests.policy.test_alike import NO_COPIES

MIXED = [
    line("first", 0.9),
    b'{"timestamp": "2025-11-08T12:34:56.789Z", "content": "two", "score": 8}\n',
    line("third", 0.2),
    b'{"content":"four","importance":0.95, "id": "mine" }\n',
    b'{"ts": 5, "type": "fact", "content": "five", "importance": 0.80}\r\n',
    line("six", 0.1),
]


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


def tree(desk: Desk) -> dict[str, bytes]:
    """The files of the tiers, trash included."""
    kept = (*desk.files_of("short"), *desk.files_of("long"), *desk.files_of("archive"))
    trash = desk.tiers.directory.glob("trash/*.jsonl")
    return {path.name: path.read_bytes() for path in (*kept, *trash)}


def ids(desk: Desk, home: app.Home) -> dict[str, str]:
    """Every memory's id by its text."""
    with home.workplace().catalog() as catalog:
        shelf = home.shelf("sky")
        found = shelf.find("", catalog)
    return {kept.memory.content: kept.id for kept in found}


@pytest.mark.parametrize("job", ["promote", "rotate"])
def test_a_run_is_undone_to_the_byte_among_what_came_since(
    desk: Desk, home: app.Home, job: str
) -> None:
    desk.echo(*MIXED)
    before = desk.short_term.read_bytes()
    if job == "rotate":
        desk.limit(2)
        run = desk.run("rotate")["agents"]["sky"]["runs"][0]
    else:
        run = desk.run("promote")["agents"]["sky"]["runs"][0]
    assert desk.short_term.read_bytes() != before
    desk.echo(line("since", 0.3))
    detail = upkeep.undo_run(home, run, ["sky"])

    assert desk.short_term.read_bytes() == before + line("since", 0.3)
    assert not desk.raw("long")
    assert not desk.files_of("archive")
    assert "respelled" not in detail
    ops = [entry["op"] for entry in desk.ledger()]
    assert "edited outside" not in ops
    desk.run("promote")
    assert [e["op"] for e in desk.ledger()].count("remember") == 1  # what came since, alone


@pytest.mark.parametrize("seed", range(6))
def test_forgetting_and_undoing_gives_the_same_files_back(
    desk: Desk, home: app.Home, seed: int
) -> None:
    desk.echo(*MIXED, *(line(f"more {n}", 0.5 + n / 20) for n in range(8)))
    desk.limit(5)
    desk.run()
    before = tree(desk)
    chance = random.Random(seed)
    names = ids(desk, home)
    chosen = chance.sample(sorted(names.values()), chance.randint(1, len(names)))
    detail, _ = upkeep.forget_memories(home, "sky", chosen)
    assert detail["forgotten"] == len(chosen)
    assert len(desk.everything()) == len(names) - len(chosen)
    upkeep.undo_run(home, None, ["sky"])

    assert tree(desk) == before


def test_one_of_each_tier_is_restored_to_its_tier_with_its_bytes(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(*MIXED)
    desk.limit(1)
    desk.run()
    before = tree(desk)
    names = ids(desk, home)
    upkeep.forget_memories(home, "sky", list(names.values()))
    assert desk.everything() == []
    for name in sorted(names.values(), reverse=True):
        upkeep.restore_memories(home, "sky", [name])

    after = tree(desk)
    assert {name: sorted(data.split(b"\n")) for name, data in after.items()} == {
        name: sorted(data.split(b"\n")) for name, data in before.items()
    }
    assert read_protection(desk.tiers.protected).restored == {}  # no rule had removed them


@pytest.mark.parametrize("importance", [0.9, 0.1])
def test_what_is_written_again_while_it_lies_in_trash_is_a_memory_again(
    desk: Desk, home: app.Home, importance: float
) -> None:
    desk.echo(line("said again", importance))
    (name,) = ids(desk, home).values()
    upkeep.forget_memories(home, "sky", [name])
    desk.echo(line("said again", importance))
    tier = "long" if importance > 0.5 else "short"

    assert (home.find("sky", name).id, home.find("sky", name).tier) == (name, "short")
    assert desk.run("promote")["repeats"] == 0
    assert (desk.contents(tier), home.find("sky", name).tier) == (["said again"], tier)
    upkeep.restore_memories(home, "sky", [name])
    assert desk.everything() == ["said again"]
    assert upkeep.trash_listing(home, ["sky"]) == []


def test_what_is_not_there_is_named_and_nothing_is_touched(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    name = ids(desk, home)["first"]
    before = tree(desk)
    with pytest.raises(UnknownMemoryError, match="nosuch"):
        upkeep.forget_memories(home, "sky", [name, "nosuch"])
    with pytest.raises(UnknownMemoryError, match=r"^memory \w+ is not in trash \(agent sky\)$"):
        upkeep.restore_memories(home, "sky", [name])
    with pytest.raises(UsageError, match="no regular expression"):
        upkeep.forget_memories(home, "sky", [], "(")
    with pytest.raises(UsageError, match="no run"):
        upkeep.undo_run(home, "nosuch", ["sky"])
    assert tree(desk) == before
    upkeep.forget_memories(home, "sky", [name])
    with pytest.raises(UnknownMemoryError, match=f"skymem restore {name}"):
        upkeep.forget_memories(home, "sky", [name])


def test_a_pinned_memory_is_not_forgotten_until_it_is_unpinned(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    name = upkeep.pin_memory(home, "sky", ids(desk, home)["first"])
    detail, _ = upkeep.forget_memories(home, "sky", [], ".")

    assert (detail["forgotten"], detail["skipped"]) == (5, {"pinned": 1})
    upkeep.pin_memory(home, "sky", name, pinned=False)
    assert upkeep.forget_memories(home, "sky", [name])[0]["forgotten"] == 1


def test_compact_takes_what_is_past_its_grace_and_nothing_else(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = app.now()
    monkeypatch.setattr(app, "now", lambda: at)
    desk.echo(*MIXED)
    names = ids(desk, home)
    upkeep.forget_memories(home, "sky", [names["first"]])
    at += 20 * 86_400
    upkeep.forget_memories(home, "sky", [names["two"]])
    at += 11 * 86_400
    listing = {one["id"]: one for one in upkeep.trash_listing(home, ["sky"])}
    assert listing[names["first"]]["until"] < at < listing[names["two"]]["until"]
    with_clock = home.run_job("compact")[0]
    assert "the clock moved" in with_clock["error"]
    path = home.paths.agent("sky").protected
    protection = read_protection(path)
    for name in (names["first"], "m-living"):
        protection.restore({name: "expired"}, at)
    protection.unpinned[names["first"]] = at
    write_protection(path, protection, Files())
    assert home.run_job("compact", dry_run=True, accept_clock=True)[0]["compacted"] == 1
    detail, _ = home.run_job("compact", accept_clock=True)

    assert (detail["compacted"], detail["skipped"]) == (1, {"too_young": 1})
    assert [one["id"] for one in upkeep.trash_listing(home, ["sky"])] == [names["two"]]
    assert read_protection(path).ids == {"m-living"}
    with pytest.raises(UnknownMemoryError):
        upkeep.restore_memories(home, "sky", [names["first"]])


def test_a_correction_takes_the_place_of_every_copy(desk: Desk, home: app.Home) -> None:
    desk.echo(
        line("User wants reports at 7am", 0.9, tags=["preference"], user_id="ann"),
        line("user wants reports at 7am!", 0.4, ts=5.0),
        line("User wants reports at 7pm", 0.4),
    )
    desk.run("promote")
    names = ids(desk, home)
    wrong = names["User wants reports at 7am"]
    detail, _ = upkeep.correct_memory(home, "sky", wrong, "User wants reports at 8am")

    (made,) = [m for m in desk.memories("long") if m.content.endswith("8am")]
    assert detail["id"] == made.source_id
    assert set(made.supersedes) == {wrong, names["user wants reports at 7am!"]}
    assert (made.tags, made.importance, made.scope) == (("preference",), 0.9, {"user_id": "ann"})
    upkeep.undo_run(home, None, ["sky"])
    assert not [m for m in desk.memories("long") if m.content.endswith("8am")]


@pytest.mark.parametrize(("wrong", "other"), NO_COPIES)
@pytest.mark.parametrize("promoted", [True, False])
def test_a_correction_leaves_what_only_looks_like_a_copy(
    desk: Desk, home: app.Home, wrong: str, other: str, promoted: bool
) -> None:
    desk.echo(line(wrong, 0.9), line(other, 0.9))
    if promoted:
        desk.run("promote")
    name = ids(desk, home)[wrong]
    upkeep.correct_memory(home, "sky", name, "That was wrong")

    (made,) = [m for m in desk.memories("long") if m.content == "That was wrong"]
    assert made.supersedes == (name,)


def test_the_ledger_and_the_status_hold_no_text(desk: Desk, home: app.Home) -> None:
    desk.echo(line("Xyzzy plugh", 0.9))
    (name,) = ids(desk, home).values()
    upkeep.correct_memory(home, "sky", name, "Xyzzy corrected")
    upkeep.forget_memories(home, "sky", [], "xyzzy")
    upkeep.undo_run(home, None, ["sky"])

    def holding(where: Path) -> list[str]:
        files = (path for path in where.rglob("*") if path.is_file())
        return [str(path) for path in files if b"yzzy" in path.read_bytes()]

    assert not holding(desk.paths.audit)
    assert not holding(desk.paths.status)


def test_the_actions_are_on_the_record(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    name = ids(desk, home)["first"]
    upkeep.forget_memories(home, "sky", [name])
    upkeep.restore_memories(home, "sky", [name])
    last: dict[str, Any] = json.loads((desk.paths.status / "sky_last_action.json").read_bytes())

    assert (last["action"], last["detail"]["ok"]) == ("restore", True)
    assert last["detail"]["restored"] == [{"id": name, "tier": "short", "standing": "active"}]


def test_an_exact_repeat_is_forgotten_with_its_twin_and_lies_in_trash_once(
    desk: Desk, home: app.Home
) -> None:
    twice = line("said twice", 0.2)
    desk.echo(twice, line("other", 0.2), twice)
    name = ids(desk, home)["said twice"]
    upkeep.forget_memories(home, "sky", [name])

    assert desk.contents("short") == ["other"]
    assert [one["id"] for one in upkeep.trash_listing(home, ["sky"])] == [name]


@pytest.mark.parametrize("tier", ["short", "long"])
def test_what_comes_back_to_the_first_place_stands_behind_an_editors_mark(
    desk: Desk, home: app.Home, tier: str
) -> None:
    path = desk.short_term if tier == "short" else desk.tiers.long_term
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line("first", 0.2))
    name = ids(desk, home)["first"]
    upkeep.forget_memories(home, "sky", [name])
    path.write_bytes(b"\xef\xbb\xbf" + line("edited", 0.2))
    upkeep.restore_memories(home, "sky", [name])

    assert path.read_bytes() == b"\xef\xbb\xbf" + line("first", 0.2) + line("edited", 0.2)
    assert {*ids(desk, home)} == {"first", "edited"}


def test_what_comes_back_behind_a_dead_writers_torn_line_stands_by_itself(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("before", 0.2), line("wanted", 0.2))
    name = ids(desk, home)["wanted"]
    upkeep.forget_memories(home, "sky", [name])
    desk.short_term.write_bytes(b'{"content": "to')
    os.utime(desk.short_term, (0, 0))
    upkeep.restore_memories(home, "sky", [name])

    assert desk.short_term.read_bytes() == b'{"content": "to\n' + line("wanted", 0.2)


def test_a_correction_leaves_alone_what_another_user_said(desk: Desk, home: app.Home) -> None:
    desk.echo(
        line("Likes tea", 0.2, id="anns", user_id="ann"),
        line("likes tea!", 0.2, id="anns-too", user_id="ann"),
        line("Likes tea", 0.2, id="bobs", user_id="bob"),
    )
    desk.tiers.long_term.write_bytes(line("Likes tea", 0.2, id="nobodys"))
    detail, _ = upkeep.correct_memory(home, "sky", "anns", "Likes coffee")

    (made,) = [one for one in desk.memories("long") if one.supersedes]
    assert detail["corrected"] == 3
    assert made.supersedes == ("anns", "anns-too", "nobodys")


def test_a_last_line_of_trash_that_lost_its_newline_is_not_lost_with_the_others(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("one", 0.2), line("two", 0.2))
    names = ids(desk, home)
    upkeep.forget_memories(home, "sky", [*names.values()])
    (path,) = desk.tiers.directory.glob("trash/*.jsonl")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    upkeep.restore_memories(home, "sky", [names["one"]])
    upkeep.restore_memories(home, "sky", [names["two"]])

    assert desk.contents("short") == ["one", "two"]


def test_a_second_correction_of_what_was_corrected_is_refused(desk: Desk, home: app.Home) -> None:
    desk.echo(line("Standup is at 9", 0.9, id="nine"))
    ten = upkeep.correct_memory(home, "sky", "nine", "Standup is at 10")[0]["id"]
    with pytest.raises(UsageError, match=ten):
        upkeep.correct_memory(home, "sky", "nine", "Standup is at 11")

    eleven = upkeep.correct_memory(home, "sky", ten, "Standup is at 11")[0]["id"]
    assert [one["id"] for one in recent(home.workplace(), "sky", Filters(), 9)] == [eleven]


def test_forget_names_what_still_quotes_it_and_compress_takes_it_out(
    desk: Desk, home: app.Home
) -> None:
    old = app.now() - 3 * 86_400
    desk.echo(
        line("Ann's phone is 555-1234", 0.5, ts=old, kind="fact", id="phone"),
        line("Ann lives in Rome", 0.5, ts=old, kind="fact", id="rome"),
    )
    home.run_job("compress")
    (profile,) = (str(memory.source_id) for memory in desk.memories("long"))
    detail, _ = upkeep.forget_memories(home, "sky", ["phone"])
    assert (detail["forgotten"], detail["quoted_by"]) == (1, [profile])

    home.run_job("compress")
    texts = [one["content"] for one in recent(home.workplace(), "sky", Filters(), 9)]
    assert [text for text in texts if "phone" in text] == []
    assert upkeep.forget_memories(home, "sky", ["rome"])[0]["quoted_by"] != [profile]
    assert upkeep.forget_memories(home, "sky", [profile])[0]["quoted_by"] == []


def test_undoing_a_run_that_was_killed_and_finished_leaves_writers_their_ids(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("first", 0.9, id="mine"), line("second", 0.9))
    before = desk.short_term.read_bytes()
    die(desk, "promote", "rename", "short_term.jsonl")
    (run,) = desk.run("promote")["recovered"]
    assert desk.contents("short") == []
    upkeep.undo_run(home, run, ["sky"])

    assert desk.short_term.read_bytes() == before
