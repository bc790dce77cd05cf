"""`--dry-run` of every verb that has one: afterwards each file is as it was, derived ones too."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from skymem.cli.main import app
from skymem.policy.prediction import Model
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.importance_models import keep_model
from tests.cli.conftest import Shell

FLOW = ["--flow", "lived", "--query", "q", "--outcome", "o", "--call", '{{"tool_id": "t"}}']
WORDS = {
    "init": ["{home}"],
    "run": ["--once"],
    "promote": [],
    "rotate": [],
    "compress": [],
    "merge": [],
    "prune": [],
    "share": [],
    "agents violations": ["--acknowledge"],
    "compact": [],
    "train": [],
    "importance": ["--rollback"],
    "index": ["--force"],
    "trigger": ["memory_rotate_check"],
    "apply": ["{plan}"],
    "pause": ["index"],
    "resume": ["index"],
    "remember": ["x"],
    "forget": ["--match", "thing"],
    "restore": ["{trashed}"],
    "undo": [],
    "pin": ["{id}"],
    "unpin": ["{id}"],
    "correct": ["{id}", "what is right"],
    "note write": ["soul", "Think first", "--user", "ann"],
    "note merge": ["{note}", "{other}"],
    "note prune-expired": [],
    "scratchpad write": ["x"],
    "scratchpad promote": [],
    "scratchpad report-saved": [],
    "scratchpad end": [],
    "pref set": ["verbosity", "terse"],
    "pref rule": ["r", "--when", '{{"a": 1}}', "--effect", '{{"b": 2}}'],
    "pref onboard": ["{sheet}"],
    "pref unset": ["verbosity"],
    "playbook add": FLOW,
    "playbook complete": FLOW,
    "playbook continued": ["--session", "lived"],
    "playbook corrected": ["--session", "lived"],
    "playbook find": ["anything", "--flow", "lived"],
    "docs add": ["{page}"],
    "docs remove": ["{taken}"],
    "docs agent-md": ["upload", "{page}"],
    "erase": ["--match", "thing"],
    "import": ["{page}"],
    "backup": ["{new}.tar"],
    "restore-backup": ["{tar}", "--home", "{new}"],
    "serve": [],
    "upgrade": [],
    "hook install": ["--settings", "{new}.json"],
    "hook remove": ["--settings", "{new}.json"],
    "hook plugin": ["{new}"],
}
FIRST = {"docs remove": ["docs", "add", "{taken}"], "restore-backup": ["backup", "{tar}"]}
"""What makes something that a verb can be rehearsed on."""

LINES = b"".join(
    b'{"ts": %d, "content": "thing %d", "importance": 0.%d, "kind": "fact"}\n' % (10**9 + n, n, n)
    for n in range(1, 10)
)


def _verbs(group: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    for name, command in group.commands.items():
        path = (*before, name)
        if hasattr(command, "commands"):
            yield from _verbs(command, path)
        elif any(parameter.name == "dry_run" for parameter in command.params):
            yield " ".join(path)


def test_no_verb_is_left_out() -> None:
    assert {*_verbs(typer.main.get_command(app))} == {*WORDS}


def _listing(home: Path) -> dict[str, tuple[int, ...]]:
    found = {str(path): path.lstat() for path in [home, *home.rglob("*")]}
    return {
        name: (one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns) for name, one in found.items()
    }


@pytest.fixture
def names(shell: Shell, tmp_path: Path) -> dict[str, str]:
    """A home that has lived, with something new in it; what its parts are called."""
    shell("scratchpad", "write", "Remember that this is to stay.")
    made = [shell("note", "write", "log", f"note {n}").out.strip() for n in range(2)]
    shell("note", "write", "soul", "Act first", "--user", "ann")
    flow = [word.format() for word in FLOW]
    shell("playbook", "add", *flow)
    shell("playbook", "complete", *flow, "--session", "lived")
    shell("pref", "set", "verbosity", "full")
    gone = shell("remember", "to be forgotten", "--importance", "0.9").out.strip()
    kept = shell("remember", "to be kept", "--importance", "0.9").out.strip()
    with shell.short_term.open("ab") as stream:
        stream.write(LINES + b"no json\n")
    shell("promote")
    assert shell("forget", gone).code == 0
    with shell.short_term.open("ab") as stream:
        stream.write(b'{"content": "new thing", "importance": 0.95}\nno json either\n')
    model = Model("sky", 10.0**9, "its history", 0, 0.5, {})
    keep_model(HomePaths(shell.home), Files(), model)
    plan = str(tmp_path / "plan.json")
    assert shell("promote", "--plan", plan).code == 0
    sheet = tmp_path / "answers.yaml"
    sheet.write_text("preferences: {verbosity: terse}\n")
    page, taken = tmp_path / "page.md", tmp_path / "taken.md"
    for file in (page, taken):
        file.write_text(f"# {file.stem}\n\nInvoices are due after 30 days.\n")
    there = {
        "page": str(page),
        "taken": str(taken),
        "tar": str(tmp_path / "kept.tar"),
        "new": str(tmp_path / "new"),
        "sheet": str(sheet),
        "note": made[0],
        "other": made[1],
        "trashed": gone,
        "id": kept,
        "plan": plan,
    }
    return {**there, "home": str(shell.home)}


@pytest.mark.parametrize("verb", WORDS)
def test_in_a_home_that_has_lived(shell: Shell, names: dict[str, str], verb: str) -> None:
    words = [*verb.split(), *(word.format(**names) for word in WORDS[verb]), "--dry-run"]
    if verb in FIRST:
        assert shell(*(word.format(**names) for word in FIRST[verb])).code == 0
    before = _listing(shell.home.parent)
    told = shell(*words)

    assert told.code == 0, told.err
    assert _listing(shell.home.parent) == before


@pytest.mark.parametrize("verb", WORDS)
def test_in_a_home_where_nothing_has_run(shell: Shell, verb: str) -> None:
    shell.short_term.write_bytes(LINES)
    parts = ("id", "note", "other", "trashed", "plan", "sheet", "page", "taken", "tar")
    names = {**dict.fromkeys(parts, "nothing"), "new": str(shell.home.parent / "new")}
    words = [word.format(home=shell.home, **names) for word in WORDS[verb]]
    before = _listing(shell.home)
    told = shell(*verb.split(), *words, "--dry-run")

    assert told.code in (0, 2, 24), "there may be nothing to do it to"
    assert "Traceback" not in told.err
    assert _listing(shell.home) == before


def test_in_a_home_without_an_agent(shell: Shell) -> None:
    shell.agent_directory.rmdir()
    before = _listing(shell.home)
    for words in (["run"], ["run", "--once"], ["remember", "x"], ["promote"], ["init"]):
        assert shell(*words, "--dry-run").code == 0
    assert _listing(shell.home) == before


def test_undo_makes_no_key(shell: Shell, names: dict[str, str]) -> None:
    key = shell.home / "audit/key"
    key.unlink()
    entries = shell("audit", "log", "--json").json["entries"]
    run = next(one["run"] for one in entries if one["op"] == "begin")
    before = _listing(shell.home)

    assert shell("undo", run, "--dry-run").code == 0
    assert _listing(shell.home) == before
    assert names


def test_a_rehearsal_goes_by_what_the_catalog_knows_and_by_what_it_does_not_yet(
    shell: Shell, names: dict[str, str]
) -> None:
    def told() -> dict[str, Any]:
        found: dict[str, Any] = shell("promote", "--dry-run", "--json").json
        return {key: found[key] for key in ("promoted", "remaining", "skipped", "degraded")}

    catalog = shell.home / "state/catalog.db"
    usual = told()
    assert usual["promoted"] == 1
    with sqlite3.connect(catalog) as other:  # a process that has it open: there is a -wal
        other.execute("BEGIN")
        other.execute("SELECT * FROM files").fetchall()
        assert catalog.with_name("catalog.db-wal").exists()
        assert told() == usual
    other.close()
    catalog.write_bytes(b"no database")
    before = _listing(shell.home)
    assert told() == usual
    assert _listing(shell.home) == before
    assert names
