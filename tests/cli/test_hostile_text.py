"""No verb, status or log passes on what a terminal would obey, wherever it stands (row X11)."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Shell

EVIL = "\x1b]0;owned\x07\x1b[2Jx\r\ny\u202e\u2028\x9b31m\u200f\ud800\u2066z\x00"
OBEYED = set("\x1b\x07\x9b\r\x00\x08\x7f\u202e\u2028\u2029\u200f\u2066\u2069\u200b\u00ad\ufeff")
FIELDS = (
    "kind", "origin", "sensitivity", "scope", "user_id", "session", "tenant", "id", "stability",
    "record_type", "source_id", "status", EVIL,
)  # fmt: skip


def hostile(content: str, importance: float, number: int) -> bytes:
    """A line with hostile text wherever text may stand, as an `echo` could have written it."""
    fields = dict.fromkeys(FIELDS, f"{EVIL}{number}")
    lists = {name: [EVIL] for name in ("tags", "supersedes", "evidence", "evidence_ids")}
    more = {"payload": {EVIL: EVIL}, "metadata": {EVIL: EVIL, "type": EVIL, "workflow": EVIL}}
    whole = {"ts": 1_700_000_000 + number, "type": "short", "content": content, **fields, **lists}
    return json.dumps({**whole, **more, "importance": importance}).encode() + b"\n"


@pytest.fixture
def haunted(shell: Shell) -> Shell:
    """A home with hostile text in every field of every tier, in names, in files of ours."""
    lines = [hostile(f"{EVIL} words {n}", n / 10, n) for n in range(1, 10)]
    shell.short_term.write_bytes(b"".join(lines) + b'{"content": 1, "\x1b[2J": ' + b"\n")
    (shell.home / "memory/\x1b[2Jagent").mkdir()
    shell("promote")
    (shell.home / "retention_rules.yaml").write_text("short_term_max_lines: 3\n")
    shell("rotate")
    with shell.short_term.open("ab") as stream:
        stream.write(hostile(f"{EVIL} late", 0.1, 77))
    return shell


def ids(home: Shell) -> Iterator[str]:
    for path in sorted(home.agent_directory.glob("*.jsonl")):
        for raw in path.read_bytes().splitlines():
            yield str(json.loads(raw)["id"])


VERBS = (
    "status", "doctor", "doctor --secrets", "jobs", "recent", "recall words",
    "recall words --mode deterministic --explain", "context words", "archive search words",
    "agents list", "report", "report --json", "note list", "trash list", "audit log",
    "audit verify", "fsck", "config show",
    "config check", "promote --dry-run", "rotate --dry-run", "prune --dry-run",
    "compress --dry-run", "merge --dry-run", "forget --match words --dry-run", "canaries",
    "explain {id}", "show {id}", "explain {evil}", "show {evil}", "recall {evil}", "forget {evil}",
    "restore {evil}", "undo {evil}", "correct {evil} {evil}", "pin {evil}", "config explain {evil}",
    "trigger {evil}", "pause {evil}", "remember x --kind {evil} --dry-run",
    "recall x --kind {evil}",
    "remember x --origin {evil}", "remember x --ttl-days {evil}", "archive search ({evil}",
)  # fmt: skip


def test_no_verb_prints_what_a_terminal_obeys(haunted: Shell) -> None:
    name = next(ids(haunted))
    typed = {"{id}": name, "{evil}": EVIL.replace("\x00", "").replace("\ud800", "")}
    obeyed = {}
    for verb in VERBS:
        words = [typed.get(word, word.replace("{evil}", "\x1b[2J")) for word in verb.split()]
        told = haunted(*words)
        if found := OBEYED & set(told.out + told.err):
            obeyed[verb] = found
    assert not obeyed


def test_no_log_or_status_file_holds_memory_text(haunted: Shell) -> None:
    for directory in ("status", "run"):
        for path in (haunted.home / directory).rglob("*"):
            if path.is_file():
                assert b"owned" not in path.read_bytes(), path
