"""`fsck`: the sum of a home is a table, and what is wrong is named with a way out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem import app
from skymem.cli.audit_verbs import NAMED_FOR_A_PERSON
from skymem.jobs import workplace
from skymem.jobs.findings import REMEDIES, SERIOUS
from skymem.stores.lock import held
from tests.cli.conftest import Shell, Told

SECRET = "xyzzy"
STATES = {
    "came_in", "short", "long", "archive", "trash", "compacted", "edited outside", "erased",
    "lost", "doubled",
}  # fmt: skip


def echo(path: Path, count: int, letter: str, importance: float) -> None:
    """Write memories whose ids are that letter and a number."""
    for n in range(count):
        line = {"ts": n, "content": f"{SECRET} {n}", "importance": importance, "id": f"{letter}{n}"}
        put(path, json.dumps(line).encode() + b"\n")


@pytest.fixture
def lived(shell: Shell) -> Shell:
    """A home with memories in every tier, each of which is named by what it says."""
    (shell.home / "retention_rules.yaml").write_text("short_term_max_lines: 2\n")
    echo(shell.short_term, 4, "w", 0.9)
    echo(shell.short_term, 5, "k", 0.1)
    assert shell("trigger", "memory_rotate_check").code == 0
    assert shell("forget", "w3").code == 0
    return shell


def look(shell: Shell, *words: str) -> tuple[Told, Told]:
    """What it tells a script, and a person; neither holds any text."""
    told, human = shell(*words, "fsck", "--json"), shell(*words, "fsck")
    assert told.json.keys() == {
        "valid", "entries", "problems", "notes", "remedies", "memories",
    }  # fmt: skip
    assert told.code == human.code
    assert SECRET not in told.out + human.out
    return told, human


def test_a_home_that_balances_is_a_table_whose_rows_add_up(lived: Shell) -> None:
    told, human = look(lived)

    assert (told.code, told.err, human.err) == (0, "", "")
    assert told.json["valid"] is True
    assert told.json["problems"] == told.json["notes"] == []
    assert told.json["remedies"] == {}
    assert told.json["entries"] == lived("audit", "verify", "--json").json["entries"]
    (states,) = told.json["memories"].values()
    assert states.keys() == STATES
    assert states["came_in"] == sum(states.values()) - states["came_in"] == 9
    assert [states[tier] for tier in ("short", "long", "archive", "trash")] == [2, 3, 3, 1]
    heading, row, last = human.out.splitlines()
    assert heading.split()[:3] == ["agent", "came", "in"]
    assert row.split() == ["sky", "9", "2", "3", "3", "1", "0", "0", "0", "0", "0"]
    assert last == "each of 9 memories that came in is in exactly one state"


def test_a_home_without_memories_balances(shell: Shell) -> None:
    told, human = look(shell)
    assert (told.code, told.json["problems"]) == (0, [])
    assert "each of 0 memories" in human.out


def tier(shell: Shell, pattern: str) -> Path:
    (found,) = shell.agent_directory.glob(pattern)
    return found


def take_out(path: Path, name: str) -> bytes:
    """Take a memory's line out of a file by hand."""
    lines = path.read_bytes().splitlines(keepends=True)
    (found,) = [one for one in lines if f'"{name}"'.encode() in one]
    path.write_bytes(b"".join(one for one in lines if one != found))
    return found


def put(path: Path, line: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(line)


def lose(shell: Shell) -> str:
    take_out(shell.agent_directory / "long_term.jsonl", "w1")
    return "w1 is in no file; the ledger says long-term ({run})"


def double(shell: Shell) -> str:
    long = shell.agent_directory / "long_term.jsonl"
    put(long, long.read_bytes().splitlines(keepends=True)[1])
    return "w1 stands in long_term.jsonl and in long_term.jsonl; the ledger says long-term ({run})"


def change(shell: Shell) -> str:
    long = shell.agent_directory / "long_term.jsonl"
    long.write_bytes(long.read_bytes().replace(f"{SECRET} 1".encode(), b"other words"))
    return "w1 in long_term.jsonl is not what was put there"


def move(shell: Shell) -> str:
    archive = tier(shell, "short_term_archive_*")
    put(archive, take_out(shell.agent_directory / "long_term.jsonl", "w1"))
    return f"w1 is in {archive.name}; the ledger says long-term ({{run}})"


HANDS = [
    pytest.param(lose, "lost", id="lost"),
    pytest.param(double, "doubled", id="doubled"),
    pytest.param(change, "changed outside", id="changed"),
    pytest.param(move, "moved outside", id="moved"),
]


def run_of(shell: Shell, name: str) -> str:
    """The run that moved a memory last."""
    found = shell("audit", "log", "--id", name, "--json").json["entries"]
    return str([one for one in found if one["op"] == "decide"][-1]["run"])


@pytest.mark.parametrize(("hand", "what"), HANDS)
def test_a_memory_that_a_hand_touched_is_named_with_what_to_do(
    lived: Shell, hand: Callable[[Shell], str], what: str
) -> None:
    message = hand(lived).format(run=run_of(lived, "w1"))
    told, human = look(lived)

    assert told.code == 20
    assert told.json["valid"] is False
    assert told.json["problems"] == [
        {"what": what, "agent": "sky", "id": "w1", "message": message}
    ]  # fmt: skip
    assert told.json["remedies"][what] == REMEDIES[what]
    lines = human.out.splitlines()
    at = lines.index(f"problem: {what}: sky: {message}")
    assert lines[at + 1] == f"    what to do: {REMEDIES[what]}"
    assert "exactly one state" not in human.out
    assert "1 problem(s) found" in human.err


@pytest.mark.parametrize("hand", [change, move])
def test_what_it_says_to_do_about_ones_own_edit_puts_that_on_the_record(
    lived: Shell, hand: Callable[[Shell], str]
) -> None:
    hand(lived)
    assert look(lived)[0].code == 20
    assert lived("forget", "w1").code == lived("restore", "w1").code == 0

    assert look(lived)[0].code == 0


@pytest.mark.parametrize("hand", [lose, double, change, move])
def test_what_it_says_to_do_about_anybody_elses_is_all_it_takes(
    lived: Shell, hand: Callable[[Shell], str]
) -> None:
    before = {path: path.read_bytes() for path in lived.agent_directory.glob("*.jsonl")}
    hand(lived)
    assert look(lived)[0].code == 20
    for path, data in before.items():
        path.write_bytes(data)

    assert look(lived)[0].code == 0


def test_a_record_that_was_meddled_with_is_a_problem_of_no_agent(lived: Shell) -> None:
    path = lived.home / "audit/ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"by_hand"', b'"my_hand"', 1))
    told, human = look(lived)
    (problem,) = told.json["problems"]

    assert told.code == 20
    assert (problem["what"], problem["agent"]) == ("ledger", "")
    assert "was changed" in problem["message"]
    assert f"problem: ledger: {problem['message']}\n" in human.out
    assert problem["message"] in lived("audit", "verify").out


def test_a_line_that_can_not_be_read_is_told_with_the_memory_it_may_be(lived: Shell) -> None:
    long = lived.agent_directory / "long_term.jsonl"
    long.write_bytes(long.read_bytes().replace(b'"w1"', b'"w1', 1))
    told, human = look(lived)

    assert [(one["what"], one["id"]) for one in told.json["problems"]] == [("lost", "w1")]
    notes = {one["what"]: one for one in told.json["notes"]}
    assert (notes["unreadable"]["file"], notes["unreadable"]["line"]) == ("long_term.jsonl", 2)
    assert "note: unreadable: sky: long_term.jsonl: line 2 can't be read" in human.out


def test_whatever_is_serious_has_a_way_out() -> None:
    assert REMEDIES.keys() >= set(SERIOUS)


def test_one_agent_is_looked_at_when_asked(lived: Shell) -> None:
    lived("--agent", "hobbs", "remember", "theirs")
    lose(lived)

    assert look(lived)[0].json["memories"].keys() == {"hobbs", "sky"}
    told, human = look(lived, "--agent", "hobbs")
    assert (told.code, told.json["memories"].keys()) == (0, {"hobbs"})
    assert human.out.splitlines()[1].split()[:2] == ["hobbs", "1"]


def test_a_person_is_told_a_screen_of_many_and_a_script_all(lived: Shell) -> None:
    count = NAMED_FOR_A_PERSON + 5
    echo(lived.short_term, count, "n", 0.9)
    lived("promote")
    (lived.agent_directory / "long_term.jsonl").write_text("")
    told, human = look(lived)

    assert len(told.json["problems"]) == count + 3
    assert human.out.count("problem: lost: sky: ") == NAMED_FOR_A_PERSON
    assert "problem: lost: 8 more; see them with --json\n" in human.out


def test_in_a_process_of_its_own_it_ends_with_20(lived: Shell) -> None:
    lose(lived)
    told = lived.process("fsck", "--json")

    assert told.code == 20
    assert [one["what"] for one in told.json["problems"]] == ["lost"]
    assert told.err == "skymem: 1 problem(s) found\n"


def test_while_a_job_works_it_names_who_it_waits_for(
    lived: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplace, "JOB_LOCK_SECONDS", 0.01)
    lock = app.open_home(str(lived.home)).paths.job_lock("sky")
    with held(lock, "rotate", deadline_seconds=1.0):
        told = lived("fsck")

    assert told.code == 11
    assert "rotate" in told.err


USAGE = [
    pytest.param(["fsck", "more"], 2, id="a word too many"),
    pytest.param(["fsck", "--repair"], 2, id="no such option"),
    pytest.param(["--agent", "nobody", "fsck"], 2, id="no such agent"),
    pytest.param(["--agent", "../x", "fsck"], 30, id="no name"),
]


@pytest.mark.parametrize(("words", "code"), USAGE)
def test_wrong_words_are_told(shell: Shell, words: list[str], code: int) -> None:
    told = shell(*words)
    assert (told.code, told.out) == (code, "")
    assert told.err


def test_without_a_home_there_is_nothing_to_look_at(shell: Shell, tmp_path: Path) -> None:
    assert shell.bare("--home", str(tmp_path / "none"), "fsck").code == 10
