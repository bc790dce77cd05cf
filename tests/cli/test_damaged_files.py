"""Each file of a home is damaged in turn: `doctor` names it, and `check` where work stops on it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from skymem.app import Home, open_home
from skymem.daemon.runs import RunBook
from skymem.doctor import examine
from tests.cli.conftest import Shell

RULES = "promote_threshold: 0.70\nshort_term_max_lines: 2\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which every file is that there can be; made once, as making it takes long."""
    home = tmp_path_factory.mktemp("template") / "home"
    memory = home / "memory/sky"
    command = [sys.executable, "-m", "skymem", "--home", str(home)]
    environment = {**os.environ, "SKYMEM_ENGINE": "off"}

    def run(*words: str) -> bytes:
        done = subprocess.run([*command, *words], check=True, stdout=PIPE, env=environment)
        return done.stdout

    run("init", str(home))
    (home / "retention_rules.yaml").write_text(RULES)
    for worth in (0.1, 0.2, 0.3, 0.4, 0.8, 0.9):
        line = {"ts": 1.0, "content": f"tea number {worth}", "importance": worth}
        with (memory / "short_term.jsonl").open("a") as stream:
            stream.write(json.dumps(line) + "\n")
    for words in ("promote", "rotate", "prune", "pause prune", "forget --match 0.8"):
        run(*words.split())
    run("pin", json.loads(run("recall", "0.9", "--json"))["results"][0]["id"])
    opened = open_home(str(home))
    RunBook(opened.paths, opened.files, lambda error: pytest.fail(str(error))).see(["prune"], 1.0)
    opened.status_files().write_heartbeat({"ts": 1.0, "state": "stopped"})
    return home


@pytest.fixture
def lived_in(shell: Shell, template: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command, on a copy of it."""
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    shutil.rmtree(shell.home)
    shutil.copytree(template, shell.home)
    return shell


def garble(path: Path) -> None:
    path.write_bytes(b"{garbage\n")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lose_a_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))


def lose_the_end(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def change_the_end(path: Path) -> None:
    *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, last.replace(b'"by":"cli', b'"by":"CLI')]))


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


PROTECTED, KEY, LEDGER = "memory/sky/protected.json", "audit/key", "audit/ledger.jsonl"
GONE = Path.unlink
STOPS = [
    (PROTECTED, garble, "put a copy of it back, or remove it"),
    (PROTECTED, empty, "put a copy of it back, or remove it"),
    (KEY, garble, "put the key of a backup back"),
    (KEY, empty, "put the key of a backup back"),
    (KEY, GONE, "hashes in the ledger can't be checked without it; put it back from a backup"),
    (LEDGER, garble, "put it back from a backup"),
    (LEDGER, GONE, "nothing of it is left"),
    (LEDGER, lose_the_end, "it ends with entry"),
    (LEDGER, lose_a_line, "lines were changed, removed or inserted"),
    (LEDGER, change_the_end, "was changed"),
    ("state/paused.json", garble, "pause again what should be"),
    ("memory/sky/long_term.jsonl", garble, "line(s) 1 can't be read"),
    ("memory/sky/short_term_archive_*.jsonl", garble, "mend or remove them with an editor"),
    ("memory/sky/trash/*.jsonl", garble, "mend or remove them with an editor"),
]
"""Damage that a verb stops on or that loses something, and what is told of it beside the name."""

MADE_ANEW = [
    ("state/clock.json", garble, "the next run records it anew"),
    ("state/runs.json", garble, "counts anew"),
    ("state/ledger_head.json", garble, "the next run notes it anew"),
    ("state/recalled/sky.json", garble, "the next recall counts anew"),
    ("state/catalog.db", garble, "made anew"),
    ("state/words/sky.db", garble, "makes it anew"),
]
"""Damage that mends itself, and costs something until then."""

FILES = [
    *dict.fromkeys(file for file, *_ in [*STOPS, *MADE_ANEW]),
    "memory/sky/short_term.jsonl",
    "status/sky_last_action.json",
    "status/sky_heartbeat.json",
    "status/actions.jsonl",
]


def damaged(shell: Shell, file: str, damage: Callable[[Path], object]) -> Path:
    (path,) = shell.home.glob(file)
    damage(path)
    return path


def said_of(path: Path, told: str) -> str:
    lines = [line for line in told.splitlines() if path.name in line]
    assert lines, f"{path.name} is not named in:\n{told}"
    return "\n".join(lines)


def test_a_home_that_is_whole_has_no_fault(lived_in: Shell) -> None:
    told = lived_in("doctor")
    assert (told.code, told.err) == (0, "")
    assert "ok      files: the home's own files can be read" in told.out
    assert lived_in("check").code == 0


@pytest.mark.parametrize(("file", "damage", "remedy"), STOPS)
def test_damage_that_work_stops_on_is_a_problem_and_a_reason(
    lived_in: Shell, file: str, damage: Callable[[Path], object], remedy: str
) -> None:
    path = damaged(lived_in, file, damage)

    checked, told = lived_in("check"), lived_in("doctor")
    assert (checked.code, told.code) == (23, 20)
    for out in (checked.out, told.out):
        assert remedy in said_of(path, out)


@pytest.mark.parametrize(("file", "damage", "follows"), MADE_ANEW)
def test_damage_that_mends_itself_is_a_note(
    lived_in: Shell, file: str, damage: Callable[[Path], object], follows: str
) -> None:
    path = damaged(lived_in, file, damage)
    told = lived_in("doctor")

    assert told.code == 0
    assert follows in said_of(path, told.out)
    assert lived_in("promote").code == 0


@pytest.mark.parametrize("damage", [directory, link])
@pytest.mark.parametrize("file", FILES)
def test_what_is_no_regular_file_is_a_problem_and_a_reason(
    lived_in: Shell, file: str, damage: Callable[[Path], object]
) -> None:
    path = damaged(lived_in, file, damage)

    checked, told = lived_in("check"), lived_in("doctor")
    assert (checked.code, told.code) == (23, 20)
    assert "problem files" in said_of(path, told.out)
    assert said_of(path, checked.out)
    assert "Traceback" not in told.err + checked.err


@pytest.mark.parametrize(
    "place", ["state", "status", "audit", "run", "memory/sky/trash", "memory/sky/drains"]
)
def test_a_file_in_the_place_of_a_directory_is_a_problem_and_a_reason(
    lived_in: Shell, place: str
) -> None:
    shutil.rmtree(lived_in.home / place, ignore_errors=True)
    (lived_in.home / place).write_text("x")

    for verb, code in (("check", 23), ("doctor", 20), ("status", 0)):
        told = lived_in(verb)
        assert told.code == code
        assert f"{place} is no directory; move away what is there" in told.out


def test_a_line_changed_in_the_middle_of_the_ledger_is_seen_by_who_reads_all_of_it(
    lived_in: Shell,
) -> None:
    path = lived_in.home / LEDGER
    path.write_bytes(path.read_bytes().replace(b'"by":"cli', b'"by":"CLI', 1))
    told = lived_in("doctor")

    assert told.code == 20
    assert "problem ledger: ledger.jsonl: line 1: entry 1 was changed" in told.out
    assert "compare audit/ with a backup" in told.out
    assert lived_in("check").code == 0, "what costs more the longer the ledger is"


def test_that_the_ledger_was_damaged_is_told_until_somebody_has_seen_to_it(
    lived_in: Shell,
) -> None:
    (lived_in.home / LEDGER).unlink()
    lived_in("forget", "--match", "0.9")
    lived_in("forget", "--match", "0.1")

    (reason,) = lived_in("check", "--json").json["reasons"]
    assert "when entry 1 was written, it was not what had been written before" in reason
    (lived_in.home / "state/ledger_head.json").unlink()
    assert lived_in("check").code == 0
    assert lived_in("doctor").code == 20, "the ledger itself says so for good"


def test_a_key_that_was_replaced_is_a_problem(lived_in: Shell) -> None:
    (lived_in.home / KEY).write_bytes(b"k" * 32)
    told = lived_in("doctor")

    assert told.code == 20
    assert "audit/key was lost or replaced: the hashes of" in told.out
    assert "put audit/key back from a backup" in told.out


def test_a_home_without_a_key_in_which_nothing_was_hashed_yet_is_well(shell: Shell) -> None:
    shell("remember", "x")
    shell("pin", shell("recent", "--json").json["results"][0]["id"])
    assert not (shell.home / KEY).exists()
    assert shell("check").code == 0


def test_how_far_the_ledger_is_read_is_told(lived_in: Shell) -> None:
    told: list[tuple[str, int, int]] = []
    home: Home = open_home(str(lived_in.home))
    home.progress = lambda *words: told.append(words)
    examine(home)

    whole = (lived_in.home / LEDGER).stat().st_size
    assert told[-1] == ("ledger", whole, whole)
    assert json.loads((lived_in.home / "state/ledger_head.json").read_bytes())["end"] == whole


def test_a_word_index_that_was_set_aside_is_a_note_until_it_is_removed(lived_in: Shell) -> None:
    path = damaged(lived_in, "state/words/sky.db", garble)
    assert lived_in("recall", "tea").code == 0
    aside = path.with_name("sky.db.unreadable")
    assert aside.exists()
    told = lived_in("doctor")
    assert (told.code, "it can be removed" in said_of(aside, told.out)) == (0, True)
    aside.unlink()
    assert "sky.db" not in lived_in("doctor").out
