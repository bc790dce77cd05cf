"""A home that a newer release keeps is left alone by every door, with one sentence why."""

import json
import os
from pathlib import Path

import pytest

import skymem
from skymem import names
from skymem.adapters.states import States
from skymem.app import open_home
from skymem.errors import HomeTooNewError
from skymem.exchange.container import Piece, packed
from skymem.serve.keeper import Keeper
from skymem.stores import home_format
from tests.cli.conftest import Shell

NEWER = home_format.CURRENT + 1
WORDS = [
    "status", "status --json", "check", "doctor", "doctor --secrets", "fsck", "upgrade",
    "recall x", "recent", "context", "agents list", "show 0", "explain 0", "audit verify",
    "remember x", "pin 0", "forget 0", "erase 0", "restore 0", "compact", "trash list",
    "run", "run --once", "serve", "mcp", "promote", "prune", "index",
    "jobs", "pause index", "alarms", "note list", "scratchpad write x", "pref list", "train",
    "docs list", "config check", "config show", "export {out}", "backup {out}", "import {line}",
    "hook install --settings {out}", "init {home}",
]  # fmt: skip


@pytest.fixture
def newer(shell: Shell) -> Shell:
    """A home that has lived, and was then brought over by a release to come."""
    assert shell("remember", "kept by a release to come", "--importance", "0.9").code == 0
    assert shell("promote").code == 0
    said = json.dumps({"format": NEWER, "release": "97.3"})
    (shell.home / "skymem.json").write_text(said + "\n")
    return shell


def is_the_sentence(text: str, home: Path) -> bool:
    """Whether it names the home, both formats and both releases, and a way out."""
    parts = (
        str(home),
        f"format {NEWER}",
        "skymem 97.3",
        f"up to {home_format.CURRENT}",
        "use that",
    )
    return all(part in text for part in parts) and text.count("\n") <= 1


@pytest.mark.parametrize("words", WORDS)
def test_a_verb(newer: Shell, tmp_path: Path, words: str) -> None:
    line, out = tmp_path / "line.jsonl", tmp_path / "out"
    line.write_text('{"content": "from elsewhere"}\n')
    before = newer.snapshot()
    told = newer(*(word.format(out=out, line=line, home=newer.home) for word in words.split()))

    assert told.code == 78, told
    assert told.out == ""
    assert is_the_sentence(told.err, newer.home), told.err
    assert newer.snapshot() == before
    assert not out.exists()


def test_a_coding_agents_hook_lets_it_go_on_and_says_so(newer: Shell) -> None:
    newer.monkeypatch.setenv("SKYMEM_HOOK_SECONDS", "60")
    before = newer.snapshot()
    told = newer.process("--agent", "sky", "hook", "prompt", stdin=b'{"prompt": "what is kept?"}')

    assert told.code == 0, told
    assert is_the_sentence(told.json["systemMessage"], newer.home)
    assert newer.snapshot() == before


def test_the_python_api(newer: Shell) -> None:
    with pytest.raises(HomeTooNewError) as refused:
        skymem.open_memory(home=str(newer.home))
    assert is_the_sentence(str(refused.value), newer.home)
    newer.monkeypatch.setenv("SKYMEM_HOME", str(newer.home))
    for call in (names.run_once, lambda: names.remember_short("x")):
        with pytest.raises(HomeTooNewError):
            call()
    with pytest.raises(HomeTooNewError):
        States.opened("sky", str(newer.home))


def test_an_api_that_was_there_before_says_so_at_the_next_request(shell: Shell) -> None:
    keeper = Keeper(open_home(str(shell.home)))
    keeper.renewed("api:recall")
    (shell.home / "skymem.json").write_text(json.dumps({"format": NEWER, "release": "97.3"}))

    for _ in range(2):
        with pytest.raises(HomeTooNewError):
            keeper.renewed("api:recall")


@pytest.mark.parametrize("verb", ["restore-backup", "import"])
def test_a_container_of_a_newer_home_is_not_taken_apart(
    shell: Shell, tmp_path: Path, verb: str
) -> None:
    kind, name = {
        "restore-backup": ("skymem backup", "retention_rules.yaml"),
        "import": ("skymem export", "agents/sky/long_term.jsonl"),
    }[verb]
    about = {"kind": kind, "version": 1, "format": NEWER, "release": "97.3"}
    piece = Piece(name, 15, 0o600, lambda: [b'{"content": ""}'])
    file = tmp_path / "newer.tar"
    file.write_bytes(b"".join(packed([piece], about, 0.0)))
    more = ["--home", str(tmp_path / "new")] if verb == "restore-backup" else []
    before = shell.snapshot()
    told = shell(verb, str(file), *more)

    assert told.code == 78, told
    assert is_the_sentence(told.err, file)
    assert shell.snapshot() == before
    assert not (tmp_path / "new").exists()


SENSELESS = [
    b"",
    b"1",
    b"{}",
    b'{"format": true, "release": "1"}',
    b'{"format": -1, "release": ""}',
    b'{"format": 1.0, "release": "1"}',
    b'{"format": 1}',
    b"[" * 4000,
    b"\xff",
]


@pytest.mark.parametrize("said", SENSELESS)
def test_a_file_that_makes_no_sense_stops_jobs_and_nobody_else(shell: Shell, said: bytes) -> None:
    (shell.home / "skymem.json").write_bytes(said)
    assert shell("remember", "told all the same", "--importance", "0.9").code == 0
    assert shell("recall", "told", "--mode", "deterministic").code == 0
    assert any("does not say in which format" in text for text in shell.alarms())
    assert shell("promote").code == 78
    assert shell("run").code == 78
    assert shell("upgrade").code == 78
    assert shell("backup", str(shell.home.parent / "kept.tar")).code == 0
    told = shell("doctor")
    assert told.code == 20
    assert "does not say in which format" in told.out

    (shell.home / "skymem.json").unlink()
    assert shell("upgrade").code == 0
    assert shell("promote", "--json").json["promoted"] == 1


def test_a_pipe_in_its_place_is_not_waited_for(shell: Shell) -> None:
    (shell.home / "skymem.json").unlink()
    os.mkfifo(shell.home / "skymem.json")

    assert shell("promote").code == 78
    assert shell("recall", "x", "--mode", "deterministic").code == 0


def test_init_leaves_a_home_that_holds_something_in_its_format(shell: Shell) -> None:
    assert (
        shell("doctor", "--json").json["checks"][1]["message"].startswith("the home is in format 1")
    )
    (shell.home / "skymem.json").unlink()

    assert shell("init", str(shell.home)).code == 0
    assert not (shell.home / "skymem.json").exists()
    assert shell("status", "--json").json["format"] == 0


def test_the_daemon_brings_an_old_home_over_as_it_starts(shell: Shell) -> None:
    (shell.home / "skymem.json").unlink()
    (shell.home / "schedule.yaml").write_text("every:\n  - {name: heartbeat, seconds: 60}\n")
    assert shell("run", "--once", "--dry-run").code == 0
    assert not (shell.home / "skymem.json").exists()

    assert shell("run", "--once").code == 0
    assert shell("status", "--json").json["format"] == home_format.CURRENT
