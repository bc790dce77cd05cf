"""Secrets at the command line: redacted or refused, counted, looked for, and never told (X11)."""

import json

from tests.cli.conftest import Shell
from tests.policy.secret_shapes import SECRETS


def test_a_home_that_refuses_secrets_says_which_kind_and_writes_nothing(shell: Shell) -> None:
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


def test_doctor_finds_each_secret_that_is_there_and_tells_none(shell: Shell) -> None:
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
    trash = b"".join(one.read_bytes() for one in (shell.agent_directory / "trash").iterdir())
    assert secret.encode() not in trash


def test_what_was_taken_out_is_counted_in_the_status(shell: Shell) -> None:
    told = shell("remember", f"push with {SECRETS[4][2]()}", "--importance", "0.9")
    assert "1 gitlab-token" in told.err
    line = {"ts": 1, "type": "short", "content": SECRETS[4][2](), "importance": 0.9}
    with shell.short_term.open("ab") as stream:
        stream.write(json.dumps(line).encode() + b"\n")
    assert shell("promote", "--json").json["redacted"] == {"gitlab-token": 1}
    (agent,) = shell("status", "--json").json["agents"]
    assert agent["redacted"] == {"gitlab-token": 2}
    assert "sky: taken out: 2 gitlab-token" in shell("status").out
