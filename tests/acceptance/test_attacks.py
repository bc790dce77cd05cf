"""Attacks by what is remembered and what is in the way: secrets, names, links, YAML (X11, H)."""

import json
import os
import socket
from pathlib import Path

import pytest

from skymem import app, open_memory
from skymem.errors import ConfigurationError, SkymemError
from tests.policy.secret_shapes import SECRETS


def test_no_secret_of_any_shape_comes_past_a_door(tmp_path: Path) -> None:
    app.init_home(tmp_path / "home")
    memory = open_memory("sky", home=str(tmp_path / "home"))
    for _, _, secret, text in SECRETS:
        memory.remember(text.format(secret()), importance=0.9, tags=[text.format(secret())])
        memory.remember("in a field", metadata={"password": secret()})
    everything = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    for name, kind, secret, _ in SECRETS:
        assert json.dumps(secret()).encode()[1:-1] not in everything, name
        assert f"[redacted:{kind}]".encode() in everything


# -- names, links, sockets, YAML ------------------------------------------------------------------


NAMES = ("../sky", "/etc", "a/b", ".", "", "-rf", "a\nb", "A", "ｓｋｙ", "x" * 65)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_home(tmp_path: Path, name: str) -> None:
    app.init_home(tmp_path / "home")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SkymemError):
        open_memory(name, home=str(tmp_path / "home")).remember("x")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("file", ["short_term.jsonl", "long_term.jsonl"])
@pytest.mark.parametrize("kind", ["link", "socket", "pipe"])
def test_what_is_no_file_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, kind: str
) -> None:
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
        monkeypatch.chdir(place.parent)  # a socket's name must be short
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(file)
    if file != "short_term.jsonl":
        line = outside.read_bytes().replace(b"theirs", b"ours")
        (place.parent / "short_term.jsonl").write_bytes(line)
    home = app.open_home(str(tmp_path / "home"))
    detail, _ = home.run_job("promote")
    assert not detail["ok"]
    assert outside.read_bytes().count(b"\n") == 1
    ours = [one for one in (tmp_path / "home").rglob("*") if not one.is_symlink() and one.is_file()]
    assert not any(b"theirs" in one.read_bytes() for one in ours)


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
def test_hostile_rules_are_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    app.init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError):
        app.open_home(str(tmp_path / "home"))
    assert not (tmp_path / "owned").exists()
