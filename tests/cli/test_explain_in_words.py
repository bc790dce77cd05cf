"""`explain` and the verbs that bring back say in words what a person has to know (row X1)."""

import os
import pty
from typing import Any

import pytest

from skymem import app
from skymem.stores.files import Files
from skymem.stores.protection import Protection, Restored, write_protection
from tests.cli.conftest import Shell
from tests.conftest import line

DAY = 86_400.0
GRACE = 30 * DAY


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that a test moves on."""
    clock = [1_700_000_000.0]
    monkeypatch.setattr(app, "now", lambda: clock[0])
    return clock


def explained(shell: Shell, name: str) -> dict[str, Any]:
    found: dict[str, Any] = shell("explain", name, "--json").json
    return found


def undone(shell: Shell) -> str:
    """Undo what was done last; returns the undo's own name."""
    name: str = shell("undo", "--json").json["runs"][0]
    return name


def old(shell: Shell, name: str, days: float, tier: str = "short", **more: Any) -> None:
    path = shell.agent_directory / f"{tier}_term.jsonl"
    text, importance = more.pop("text", f"{name} is so."), more.pop("importance", 0.5)
    with path.open("ab") as stream:
        stream.write(line(text, importance, app.now() - days * DAY, id=name, **more))


# -- what was brought back ------------------------------------------------------------------------


def test_what_was_promoted_and_undone_says_until_when_it_is_left_alone_and_what_then(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "big", 0, importance=0.9)
    shell("promote")
    shell("undo")
    found = explained(shell, "big")

    assert found["restored"] == {
        "gate": "importance", "job": "promote", "since": at[0], "until": at[0] + GRACE,
    }  # fmt: skip
    gate = found["gates"][0]
    assert (gate["gate"], gate["open"], gate["kept_by"], gate["opens_at"]) == (
        "importance", False, "restored", at[0] + GRACE,
    )  # fmt: skip
    assert found["next"][0] == {
        "what": "promoted to long-term", "job": "promote", "gate": "importance",
        "at": at[0] + GRACE,
    }  # fmt: skip
    text = " ".join(shell("explain", "big").out.split())
    assert (
        "left alone by the rule that had moved it (importance) until 2023-12-14 22:13:20 UTC; "
        "then: promoted to long-term, by promote" in text
    )
    at[0] += GRACE + 1
    assert explained(shell, "big")["restored"] is None
    assert explained(shell, "big")["gates"][0]["open"]
    assert shell("promote", "--json").json["promoted"] == 1


def test_an_expired_one_that_was_restored_says_when_it_goes_again(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "brief", 5, "long", ttl_days=1)
    shell("prune")
    shell("restore", "brief")

    assert explained(shell, "brief")["gates"][0]["opens_at"] == at[0] + GRACE
    assert explained(shell, "brief")["next"][0]["gate"] == "expired"
    text = " ".join(shell("explain", "brief").out.split())
    assert "(expired) until 2023-12-14 22:13:20 UTC; then: moved to trash" in text
    assert "nothing" not in text


def test_an_exemption_after_which_nothing_happens_says_so(shell: Shell, at: list[float]) -> None:
    old(shell, "big", 0, importance=0.9)
    shell("promote")
    shell("undo")
    (shell.home / "retention_rules.yaml").write_text("promote_threshold: 0.95\n")

    text = " ".join(shell("explain", "big").out.split())
    assert "importance 0.9 against 0.95 (given): closed " in text
    assert "(importance) until 2023-12-14 22:13:20 UTC; then: nothing, under the rules" in text


def test_an_exemption_of_a_persons_hand_names_no_rule(shell: Shell, at: list[float]) -> None:
    old(shell, "mine", 3, "long", ttl_days=1)
    protection = Protection(restored={"mine": Restored(at[0], "by_hand")})  # of an older version
    write_protection(shell.agent_directory / "protected.json", protection, Files())

    text = " ".join(shell("explain", "mine").out.split())
    assert "left alone by prune until 2023-12-14 22:13:20 UTC, as it was brought back" in text
    assert "by_hand" not in text


def test_undo_says_what_is_left_alone_and_how_to_have_it_done_all_the_same(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "big", 0, importance=0.9)
    shell("promote")
    foreseen = shell("undo", "--dry-run")
    assert "importance leaves them alone until 2023-12-14 22:13:20 UTC\n" in foreseen.out
    told = shell("undo")
    command = told.out.splitlines()[-1].strip()

    assert "until 2023-12-14 22:13:20 UTC; to have it done all the same:" in told.out
    assert shell("promote", "--json").json["skipped"] == {"restored": 1}
    for words in command.split(" && "):
        assert words.startswith("skymem ")
        assert shell(*words.split()[1:]).code == 0
    assert explained(shell, "big")["state"] == "long"
    assert "no longer left alone" in shell("explain", "big").out
    assert shell("fsck").code == 0
    assert shell("audit", "verify").code == 0


def test_undoing_an_undo_lifts_what_that_one_left_alone_and_nothing_else(
    shell: Shell, at: list[float]
) -> None:
    for name in ("one", "two"):
        old(shell, name, 0, importance=0.9)
        shell("promote")
    second, first = undone(shell), undone(shell)
    assert shell("promote", "--json").json["skipped"] == {"restored": 2}

    rehearsed = shell("undo", first, "--dry-run", "--json").json
    assert (rehearsed["lifted"], rehearsed["again"]) == (["one"], "promote")
    assert explained(shell, "one")["restored"] is not None
    assert "1 left alone no longer; next: skymem promote" in shell("undo", first).out
    assert explained(shell, "one")["restored"] is None
    assert explained(shell, "two")["restored"] is not None
    assert shell("undo", first, "--json").json["acted"] == 0
    at[0] += 60
    shell("promote")
    undone(shell)  # of the new run: that exemption is another's
    assert shell("undo", first, "--json").json["lifted"] == []
    assert shell("undo", second, "--json").json["lifted"] == ["two"]


def test_the_undo_of_what_a_person_did_leaves_nothing_alone(shell: Shell, at: list[float]) -> None:
    old(shell, "mine", 1)
    shell("forget", "mine")
    told = shell("undo")
    assert "alone" not in told.out
    (run,) = [
        entry["run"] for entry in shell("audit", "log", "--json").json["entries"]
        if entry["op"] == "begin" and entry["job"] == "undo"
    ]  # fmt: skip

    assert "no rule leaves anything alone because of it" in shell("undo", run).out
    assert shell("undo", "20231114T221320.000000Z_undo_1_1").code == 2


# -- what readers do not return -------------------------------------------------------------------


def test_restore_says_that_readers_do_not_return_it_and_what_makes_it_visible(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "brief", 5, "long", ttl_days=1)
    old(shell, "fine", 5, "long")
    shell("prune")
    shell("forget", "fine")
    for words in (["--dry-run"], []):
        back = shell("restore", "brief", "fine", *words, "--json").json["restored"]
        assert {one["id"]: one["standing"] for one in back} == {
            "brief": "expired", "fine": "active",
        }  # fmt: skip
    assert "brief" not in shell("recent").out
    shell("undo")
    shell("forget", "brief")
    told = " ".join(shell("restore", "brief").out.split())

    assert "brief is expired, so readers don't return it" in told
    assert "skymem pin brief" in told
    shell("pin", "brief")
    assert "brief is so." in shell("recent").out


def test_restore_names_what_superseded_it(shell: Shell, at: list[float]) -> None:
    old(shell, "wrong", 5, "long", kind="fact")
    right = shell("correct", "wrong", "right", "--json").json["id"]
    shell("forget", "wrong", right)
    for words in (["--dry-run"], []):  # its superseder comes back with it
        back = shell("restore", "wrong", right, *words, "--json").json["restored"]
        assert {one["id"]: one.get("superseded_by") for one in back} == {
            "wrong": right, right: None,
        }  # fmt: skip
    shell("forget", "wrong")
    told = " ".join(shell("restore", "wrong").out.split())

    assert f"wrong is superseded by {right}, so readers don't return it" in told
    assert "pin" not in told
    shell("remember", "wrong is so.", "--kind", "fact")
    assert "wrong is so." in shell("recent").out


def test_a_restored_note_of_which_there_is_one_is_superseded_by_the_newer(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "before", 5, "long", kind="soul")
    shell("forget", "before")
    old(shell, "since", 2, "long", kind="soul")

    for words in (["--dry-run"], []):
        (back,) = shell("restore", "before", *words, "--json").json["restored"]
        assert (back["standing"], back["superseded_by"]) == ("superseded", "since")


# -- the forecast ---------------------------------------------------------------------------------


def test_a_superseded_fact_is_said_to_be_archived_without_a_record(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "wrong", 1, kind="fact")
    old(shell, "right", 1, kind="fact", supersedes=["wrong"])
    assert explained(shell, "wrong")["gates"][2]["gate"] == "no_summary"  # not open yet
    at[0] += 2 * DAY

    assert explained(shell, "wrong")["next"][0]["what"] == "archived, and quoted in no record"
    assert "no_summary 3 against 2 (expired or superseded): open" in shell("explain", "wrong").out
    assert explained(shell, "right")["next"][0]["gate"] == "compressed"
    assert shell("compress", "--accept-clock", "--json").json["compressed"] == 1


def test_copies_and_old_volatile_notes_stand_before_merge(shell: Shell, at: list[float]) -> None:
    old(shell, "a", 1, text="The talk is at noon", kind="goal")
    old(shell, "b", 2, "long", text="the talk is at noon.", kind="goal")
    old(shell, "note", 9, "long", kind="log", stability="volatile")
    old(shell, "other", 8, kind="log", stability="volatile")

    for name, other in (("a", "b"), ("b", "a"), ("note", "other"), ("other", "note")):
        (gate,) = [one for one in explained(shell, name)["gates"] if one["job"] == "merge"]
        assert (gate["open"], gate["note"]) == (True, f"with {other}")
        assert explained(shell, name)["next"][0]["what"] == "merged with its like"
    assert shell("merge", "--json").json["merged"] == 4


# -- how it came here -----------------------------------------------------------------------------


def test_several_that_one_superseded_are_no_row_of_successors(
    shell: Shell, at: list[float]
) -> None:
    for name in ("a", "b", "c"):
        old(shell, name, 9, kind="log", stability="volatile")
    shell("merge")
    made = explained(shell, "a")["superseded_by"]
    found = explained(shell, "b")

    assert found["chain"] == ["a", "b", "c", made]
    assert found["chain_by"] == {"a": made, "b": made, "c": made}
    assert f"its chain, oldest first: b, a, c → {made}\n" in shell("explain", "b").out
    right = shell("correct", made, "all of it", "--json").json["id"]
    text = " ".join(shell("explain", "c").out.split())
    assert f"its chain, oldest first: c, a, b → {made} → {right}" in text
    assert f"moved to an archive, as it was merged into {made}" in text


def test_of_many_that_one_superseded_the_one_that_was_asked_for_is_named(
    shell: Shell, at: list[float]
) -> None:
    (shell.home / "retention_rules.yaml").write_text("merge:\n  batch: 20\n")
    for number in range(9):
        old(shell, f"m{number}", 9, kind="log", stability="volatile")
    shell("merge")

    text = " ".join(shell("explain", "m7").out.split())
    assert ": m7, m0, m1, m2, m3 and 4 more → " in text


def test_what_lies_in_trash_says_what_superseded_it(shell: Shell, at: list[float]) -> None:
    old(shell, "wrong", 1, "long")
    right = shell("correct", "wrong", "right", "--json").json["id"]
    shell("forget", "wrong")
    text = shell("explain", "wrong").out

    assert text.startswith(f"wrong  trash, superseded by {right}")
    assert "moved to trash, by hand" in text
    shell("restore", "wrong")
    assert "restored from trash, where it was put by hand" in shell("explain", "wrong").out


def test_a_correction_that_was_undone_is_the_end_of_the_story(
    shell: Shell, at: list[float]
) -> None:
    old(shell, "right", 1, "long")
    wrong = shell("correct", "right", "wrong", "--json").json["id"]
    shell("undo")
    found = explained(shell, "right")

    assert (found["standing"], found["superseded_by"]) == ("active", None)
    last = found["history"][-1]
    assert (last["what"], last["by"], last["gate"]) == ("superseder removed", wrong, "undone")
    text = " ".join(shell("explain", "right").out.split())
    assert f"what superseded it was moved to trash ({wrong}), as the run that had made it" in text
    shell("restore", wrong)
    assert explained(shell, "right")["history"][-1]["what"] == "superseder back"


def test_show_says_who_tells_of_what_is_gone(shell: Shell, at: list[float]) -> None:
    for name in ("gone", "gone-too"):
        old(shell, name, 1)
    shell("forget", "gone", "gone-too")
    at[0] += 31 * DAY
    shell("compact", "--accept-clock")

    told = shell("show", "gone")
    assert (told.code, "skymem explain gone\n" in told.err) == (24, True)
    assert explained(shell, "gone")["state"] == "gone"
    assert "beginning of several that are gone: gone, gone-too" in shell("show", "gon").err
    assert shell("explain", "gon").code == 24
    assert "explain" not in shell("show", "nosuch").err


# -- on the screen --------------------------------------------------------------------------------


def test_no_line_is_wider_than_100_columns_and_no_id_is_cut(shell: Shell, at: list[float]) -> None:
    text = "It was said again and again, " * 20
    name = shell("remember", text, "--importance", "0.9").out.strip()
    shell("promote")
    shell("undo")
    right = shell("correct", name, "right", "--json").json["id"]
    told = shell("explain", name).out

    assert max(map(len, told.splitlines())) <= 100
    words = told.replace(",", " ").split()
    assert {name, right} <= {*words}
    found = explained(shell, name)
    runs = {event["run"] for event in found["history"] if "run" in event}
    assert runs <= {word.strip("[]:") for word in words}


def test_a_narrow_terminal_gets_narrow_lines(shell: Shell) -> None:
    name = shell("remember", "それは本当にそうです。" * 12, "--importance", "0.9").out.strip()
    ours, theirs = pty.openpty()
    told = shell.process("explain", name, stdout=theirs, env={**os.environ, "COLUMNS": "60"})
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as stream:
        printed = stream.read(64 * 1024).decode()

    assert told.code == 0
    widths = [sum(2 if ord(one) > 0x2E80 else 1 for one in each) for each in printed.splitlines()]
    assert 50 < max(widths) <= 60
