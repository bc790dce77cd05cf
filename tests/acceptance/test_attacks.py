"""Attacks by what is remembered: hostile text in every field, secrets, links, names (row X11, H)."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem import Memory, app
from skymem.errors import ConfigurationError, SkymemError
from tests.cli.conftest import Shell, boundary_left_clean, shell  # noqa: F401  (fixtures)
from tests.policy.secret_shapes import SECRETS

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
def haunted(shell: Shell) -> Shell:  # noqa: F811
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
    "agents list", "note list", "trash list", "audit log", "audit verify", "fsck", "config show",
    "config check", "promote --dry-run", "rotate --dry-run", "prune --dry-run",
    "compress --dry-run", "merge --dry-run", "forget --match words --dry-run", "canaries",
    "explain {id}", "show {id}", "explain {evil}", "show {evil}", "recall {evil}", "forget {evil}",
    "restore {evil}", "undo {evil}", "correct {evil} {evil}", "pin {evil}", "config explain {evil}",
    "trigger {evil}", "pause {evil}", "remember x --kind {evil} --dry-run", "recall x --kind {evil}",
    "remember x --origin {evil}", "remember x --ttl-days {evil}", "archive search ({evil}",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_prints_what_a_terminal_obeys(haunted: Shell, verb: str) -> None:
    name = next(ids(haunted), "none")
    arguments = {"{id}": name, "{evil}": EVIL.replace("\x00", "")}
    words = [arguments.get(word, word.replace("{evil}", "\x1b[2J")) for word in verb.split()]
    told = haunted(*words)
    found = OBEYED & set(told.out + told.err)
    assert not found, f"{verb}: {found}"


def test_no_log_or_status_file_holds_memory_text(haunted: Shell) -> None:
    haunted("memory_rotate_check") if False else haunted("promote")
    for directory in ("status", "audit", "run"):
        for path in (haunted.home / directory).rglob("*"):
            if path.is_file() and not path.name.endswith(".lock") and path.name != "key":
                assert b"owned" not in path.read_bytes() or path.parent.name == "audit"


# -- secrets --------------------------------------------------------------------------------------


def test_no_secret_of_any_shape_comes_past_a_door(tmp_path: Path) -> None:
    app.init_home(tmp_path / "home")
    with Memory(str(tmp_path / "home"), agent="sky") as memory:
        for name, _, secret, text in SECRETS:
            memory.remember(
                text.format(secret()), importance=0.9, tags=[name], metadata={"k": name}
            )
            memory.remember("in a field", metadata={"value": secret(), "password": secret()})
    everything = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    for name, kind, secret, _ in SECRETS:
        assert json.dumps(secret()).encode()[1:-1] not in everything, name
        assert f"[redacted:{kind}]".encode() in everything


def test_a_home_that_refuses_secrets_says_which_kind_and_writes_nothing(shell: Shell) -> None:  # noqa: F811
    (shell.home / "retention_rules.yaml").write_text("secrets: {on: refuse}\n")
    secret = SECRETS[4][2]()
    told = shell("remember", f"push with {secret}")
    assert told.code == 2
    assert "gitlab-token" in told.err
    assert secret not in told.err + told.out
    lines = json.dumps({"content": f"use {secret}"}).encode() + b'\n{"content": "fine"}\n'
    told = shell("remember", "--stdin", stdin=lines)
    assert (told.code, "line 1" in told.err, secret in told.err) == (2, True, False)
    assert not shell.short_term.exists() or shell.short_term.read_bytes() == b""


def test_doctor_finds_each_secret_that_is_there_and_tells_none(shell: Shell) -> None:  # noqa: F811
    secret = SECRETS[4][2]()
    line = json.dumps({"ts": 1, "type": "short", "content": f"use {secret}"}).encode()
    shell.short_term.write_bytes(line + b"\n")
    (shell.agent_directory / "long_term.jsonl").write_bytes(
        line.replace(b'"ts": 1', b'"ts": 2') + b"\n"
    )
    (shell.agent_directory / "quarantine").mkdir(exist_ok=True)
    (shell.agent_directory / "quarantine/x.raw").write_bytes(b"{torn " + secret.encode())
    told = shell("doctor", "--secrets", "--json")
    assert told.code == 20
    assert told.json["kinds"] == {"gitlab-token": 3}
    files = {one["file"].split("/")[-1]: one for one in told.json["places"]}
    assert files.keys() == {"short_term.jsonl", "long_term.jsonl", "x.raw"}
    assert files["x.raw"]["id"] is None
    plain = shell("doctor", "--secrets")
    assert secret not in told.out + plain.out + plain.err
    assert shell("show", files["long_term.jsonl"]["id"]).out.count("[redacted:gitlab-token]") == 1
    shell("forget", files["long_term.jsonl"]["id"])
    shell("promote")
    assert [
        one["file"].split("/")[-1] for one in shell("doctor", "--secrets", "--json").json["places"]
    ]
    trash = b"".join(one.read_bytes() for one in (shell.agent_directory / "trash").iterdir())
    assert secret.encode() not in trash


def test_what_was_taken_out_is_counted_in_the_status(shell: Shell) -> None:  # noqa: F811
    told = shell("remember", f"push with {SECRETS[4][2]()}", "--importance", "0.9")
    assert "1 gitlab-token" in told.err
    shell.short_term.open("ab").write(
        json.dumps(
            {"ts": 1, "type": "short", "content": SECRETS[4][2](), "importance": 0.9}
        ).encode()
        + b"\n"
    )
    assert shell("promote", "--json").json["redacted"] == {"gitlab-token": 1}
    (agent,) = shell("status", "--json").json["agents"]
    assert agent["redacted"] == {"gitlab-token": 2}
    assert "sky: taken out: 2 gitlab-token" in shell("status").out


# -- names, links, sockets, YAML ------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../sky", "/etc", "a/b", ".", "", "-rf", "a\nb", "A", "ｓｋｙ", "x" * 65]
)
def test_no_name_leads_out_of_the_home(tmp_path: Path, name: str) -> None:
    app.init_home(tmp_path / "home")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SkymemError):
        Memory(str(tmp_path / "home"), agent=name).remember("x")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("file", ["short_term.jsonl", "long_term.jsonl"])
@pytest.mark.parametrize("kind", ["link", "socket", "pipe"])
def test_what_is_no_file_is_neither_read_nor_written(tmp_path: Path, file: str, kind: str) -> None:
    app.init_home(tmp_path / "home")
    outside = tmp_path / "outside"
    outside.write_bytes(b'{"ts": 1, "type": "short", "content": "theirs", "importance": 0.9}\n')
    place = tmp_path / "home/memory/sky" / file
    place.unlink(missing_ok=True)
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        os.chdir(place.parent)  # a socket's name must be short
        socket.socket(socket.AF_UNIX).bind(file)
    home = app.open_home(str(tmp_path / "home"))
    detail, _ = home.run_job("promote")
    assert not detail["ok"]
    assert b"theirs" in outside.read_bytes()
    assert not any(
        b"theirs" in one.read_bytes()
        for one in (tmp_path / "home").rglob("*")
        if one.is_file() and not one.is_symlink()
    )


@pytest.mark.parametrize(
    "text",
    [
        "promote_threshold: !!python/object/apply:os.system ['touch owned']",
        "a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b]",
        "promote_threshold: 0.1\npromote_threshold: 0.9",
        "agents: {'../../etc': {promote_threshold: 0.1}}",
        "secrets: {allow: ['(']}",
        "\x00",
        "- " * 5000,
    ],
    ids=["object", "aliases", "twice", "a way out", "no pattern", "NUL", "deep"],
)
def test_hostile_rules_are_refused_whole(tmp_path: Path, text: str) -> None:
    app.init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(text)
    os.chdir(tmp_path)
    with pytest.raises(ConfigurationError):
        app.open_home(str(tmp_path / "home"))
    assert not (tmp_path / "owned").exists()
