"""What other programs keep comes in by the door, once, and never half in silence (X12, X11)."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.app import Home, init_home, open_home
from skymem.erasure import erase_memories
from skymem.errors import DiskError, InterruptedRunError, NotAllowedError, UsageError
from skymem.exchange import intake, sources
from skymem.exchange.giving import give
from skymem.exchange.importing import import_from
from skymem.model.caution import SecretRules
from tests.conftest import START, line

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"

ENTITIES = [
    {"type": "entity", "name": "Bob", "entityType": "person", "observations": ["tea", "Rome"]},
    {"type": "entity", "name": "empty", "entityType": "place", "observations": []},
    {"type": "relation", "from": "Bob", "to": "Rome", "relationType": "lives_in"},
]
MEM0 = {
    "results": [
        {"id": "m1", "memory": "Likes tea", "user_id": "bob", "created_at": "2024-07-20T01:30:36Z"},
        {"id": "m2", "memory": "Lives in Rome", "categories": ["home"], "metadata": {"a": 1}},
    ]
}
SPOKEN = [
    {"type": "summary", "summary": "x", "leafUuid": "1"},
    {"type": "user", "message": {"role": "user", "content": "call me Bob"}, "uuid": "u1",
     "timestamp": "2025-06-01T10:00:00Z", "sessionId": "s1"},
    {"type": "assistant", "uuid": "u2", "sessionId": "s1", "message": {"role": "assistant",
     "content": [{"type": "text", "text": "Sure"}, {"type": "tool_use", "name": "x"}]}},
    {"timestamp": "2025-06-01T10:00:00Z", "type": "response_item", "payload": {"type": "message",
     "role": "user", "content": [{"type": "input_text", "text": "from another tool"}]}},
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    init_home(tmp_path / "home")
    return open_home(str(tmp_path / "home"))


def lines(*found: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in found)


def came(home: Home) -> list[dict[str, Any]]:
    path = home.shelf("sky").paths.short_term
    data = path.read_bytes() if path.exists() else b""
    return [json.loads(raw) for raw in data.split(b"\n") if raw]


def bring(home: Home, path: Path, form: str | None = None, **more: Any) -> dict[str, Any]:
    return import_from(home, path, form, "sky", START, **more)


@pytest.mark.parametrize(
    ("name", "data", "form", "texts"),
    [
        ("a.jsonl", line("one") + b'{"timestamp": "2025-11-08T12:34:56Z", "content": "two"}\n',
         "jsonl", ["one", "two"]),
        ("a.jsonl", lines(*ENTITIES), "mcp",
         ["Bob: tea", "Bob: Rome", "empty (place)", "Bob lives_in Rome"]),
        ("a.json", json.dumps({"entities": ENTITIES[:2], "relations": ENTITIES[2:]}).encode(),
         "mcp", ["Bob: tea", "Bob: Rome", "empty (place)", "Bob lives_in Rome"]),
        ("a.json", json.dumps(MEM0, indent=1).encode(), "mem0", ["Likes tea", "Lives in Rome"]),
        ("a.json", json.dumps(MEM0).encode(), "mem0", ["Likes tea", "Lives in Rome"]),
        ("a.json", json.dumps(MEM0["results"]).encode(), "mem0", ["Likes tea", "Lives in Rome"]),
        ("a.jsonl", lines(*SPOKEN), "transcript", ["call me Bob", "Sure", "from another tool"]),
        ("a.md", b"---\ntitle: T\ntags: [x]\ndate: 2025-01-02\n---\nBody.\n", "markdown",
         ["T\nBody."]),
    ],
)  # fmt: skip
def test_each_format_is_told_by_what_is_there_and_comes_in_once(
    tmp_path: Path, name: str, data: bytes, form: str, texts: list[str]
) -> None:
    init_home(tmp_path / "home")
    home = open_home(str(tmp_path / "home"))
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + data if name == "a.md" else data)
    rehearsed = bring(home, tmp_path / name, dry_run=True)
    assert came(home) == []
    told = bring(home, tmp_path / name)
    again = bring(home, tmp_path / name)

    assert (told["format"], told["imported"]) == (form, len(texts))
    assert rehearsed == told
    assert [one["content"] for one in came(home)] == texts
    assert again["imported"] == 0
    assert again["skipped"] == {**told["skipped"], "known": len(texts)}


def test_a_line_is_believed_no_more_than_an_import_and_than_it_says(
    home: Home, tmp_path: Path
) -> None:
    said: dict[str, Any] = {
        "id": "x1",
        "pinned": True,
        "supersedes": ["y"],
        "redacted_from": "z",
        "note": [1.50],
    }
    (tmp_path / "a.jsonl").write_bytes(
        line("a", 0.9, origin="user", trust=1, **said)
        + line("b", 0.9, origin="user", trust=0.1)
        + b'{"timestamp": "2025-11-08T12:34:56Z", "content": "c", "committed": true, '
        b'"metadata": {"trust": 1, "origin": "user", "pinned": true, "mine": 1}}\n'
    )
    bring(home, tmp_path / "a.jsonl")
    first, second, third = came(home)

    allowed = home.rules.trust.imported
    assert (first["origin"], first["trust"], first["source_id"]) == ("import", allowed, "x1")
    assert not {"id", "pinned", "supersedes", "redacted_from"} & set(first)
    assert (first["source_supersedes"], first["note"]) == (["y"], [1.5])
    assert second["trust"] == 0.1
    inner = third["metadata"]
    assert (inner["origin"], inner["trust"], inner["mine"]) == ("import", allowed, 1)
    assert "committed" not in third
    assert "pinned" not in inner


def test_secrets_are_taken_out_at_the_door_and_of_what_is_kept(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(f"key {TOKEN}") + f"not json {TOKEN}\n".encode())
    told = bring(home, tmp_path / "a.jsonl")

    assert sum(told["redacted"].values()) == 1
    below = [one.read_bytes() for one in home.paths.root.rglob("*") if one.is_file()]
    assert not any(TOKEN.encode() in data for data in below)
    assert bring(home, tmp_path / "a.jsonl")["imported"] == 0


def test_what_was_erased_does_not_come_back_from_elsewhere(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*ENTITIES))
    bring(home, tmp_path / "a.jsonl")
    erase_memories(home, "sky", match="Bob: tea")
    told = bring(home, tmp_path / "a.jsonl")

    assert (told["imported"], told["skipped"]) == (0, {"erased": 1, "known": 3})


def test_what_cannot_be_read_is_kept_counted_and_explained(home: Home, tmp_path: Path) -> None:
    deep = b"[" * 5000 + b"]" * 5000
    bad = [
        b"not json",
        b'{"content": "n\0ul"}',
        b'{"content": "latin \xe9"}',
        b'{"content": "deep", "x": ' + deep + b"}",
        b'{"content": "twice", "content": "twice"}',
        b'{"content": 7}',
        b'{"content": "x", "importance": NaN}',
        b'{"content": "x", "ts": 1e30}',
        b"[]",
    ]
    (tmp_path / "a.jsonl").write_bytes(line("good") + b"\n".join(bad) + b"\n" + line("also good"))
    told = bring(home, tmp_path / "a.jsonl")

    assert told["imported"] == 2
    assert told["skipped"] == {"unreadable": len(bad)}
    assert [one.split(": ")[0] for one in told["unreadable"]] == [
        f"a.jsonl:{n}" for n in range(2, len(bad) + 2)
    ]
    kept = home.shelf("sky").paths.directory / told["kept"]
    assert kept.read_bytes() == b"".join(bad)
    index = kept.with_suffix(".jsonl").read_bytes().splitlines()
    assert len([json.loads(raw)["reason"] for raw in index]) == len(bad)
    before = sorted(kept.parent.iterdir())
    bring(home, tmp_path / "a.jsonl")
    assert sorted(kept.parent.iterdir()) == before


def test_a_line_that_is_too_long_is_never_held(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LINE_BYTES_MAX", 2000)
    (tmp_path / "a.jsonl").write_bytes(line("x" * 3000) + line("fine") + b"y" * 5000)
    told = bring(home, tmp_path / "a.jsonl")

    assert (told["imported"], told["skipped"]) == (1, {"unreadable": 2})


def test_what_stands_in_front_matter_is_data(home: Home, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("of somebody else")
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )
    written: dict[str, str | bytes] = {
        "a.md": "---\npath: ../secret.md\nid: ../../x\ntrust: 1\norigin: user\n---\nbody a\n",
        "bomb.md": f"---\n{bomb}---\nbody\n",
        "tag.md": "---\nx: !!python/object/apply:os.system ['touch pwned']\n---\nbody\n",
        "long.md": f"---\nx: {'y' * 70_000}\n---\nbody\n",
        "latin.md": b"caf\xe9",
        "nul.md": "a\0b",
        "empty.md": "---\ntitle:\n---\n",
        "sub/b.md": "---\nno front matter\n\njust a rule",
    }
    for name, text in written.items():
        (notes / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (notes / "link.md").symlink_to(tmp_path / "secret.md")
    (notes / "loop").symlink_to(notes)
    os.mkfifo(notes / "pipe.md")
    told = bring(home, notes)

    assert [one["content"] for one in came(home)] == [
        "body a",
        "---\nno front matter\n\njust a rule",
    ]
    assert came(home)[0]["trust"] == home.rules.trust.imported
    assert told["skipped"] == {"unreadable": 6}
    assert not (tmp_path / "pwned").exists()


def test_more_files_than_can_be_meant_are_refused_before_any_is_read(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "FILES_MAX", 50)
    (tmp_path / "many").mkdir()
    for number in range(51):
        (tmp_path / "many" / f"{number}.md").write_text("x")
    with pytest.raises(UsageError, match="more than 50 files"):
        bring(home, tmp_path / "many")
    shutil.rmtree(tmp_path / "many")
    (tmp_path / "many" / Path(*["d"] * 40)).mkdir(parents=True)
    with pytest.raises(UsageError, match="deeper"):
        bring(home, tmp_path / "many")

    assert came(home) == []


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda path: path.write_bytes(gzip.compress(bytes(1000))), "compressed"),
        (lambda path: path.write_bytes(b"PK\3\4rest"), "compressed"),
        (lambda path: path.write_bytes(b""), "no format that is known"),
        (lambda path: path.write_bytes(bytes(100_000)), "no format that is known"),
        (lambda path: path.write_bytes(b"[" * 100_000), "no format that is known"),
        (lambda path: path.write_bytes(lines({"a": 1})), "no format that is known"),
        (lambda path: path.write_bytes(line("a") + lines(ENTITIES[0])), "could be jsonl or mcp"),
        (lambda path: None, "not there"),
        (lambda path: path.mkdir(), "holds no .md or .jsonl"),
    ],
)
def test_what_cannot_be_told_is_refused_in_a_clear_word(
    home: Home, tmp_path: Path, make: Callable[[Path], object], match: str
) -> None:
    make(tmp_path / "what")
    with pytest.raises(UsageError, match=match):
        bring(home, tmp_path / "what")
    with pytest.raises(UsageError, match="no format 'other'"):
        bring(home, home.paths.rules, "other")


def test_no_pipe_is_waited_for_and_no_own_file_taken(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DiskError, match="no regular file"):
        bring(home, tmp_path / "pipe")
    home.remember("sky", [line("a")])
    with pytest.raises(UsageError, match="own"):
        bring(home, home.shelf("sky").paths.short_term)
    (tmp_path / "a.jsonl").write_bytes(line("a"))
    with pytest.raises(NotAllowedError):
        bring(home.bind("hobbs"), tmp_path / "a.jsonl")


def test_one_that_is_stopped_says_how_far_it_came_and_goes_on(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "BATCH_LINES", 4)
    (tmp_path / "a.jsonl").write_bytes(b"".join(line(f"line {n}") for n in range(10)))
    home.stop = lambda: "SIGTERM" if len(came(home)) >= 4 else ""
    with pytest.raises(InterruptedRunError, match="4 were imported"):
        bring(home, tmp_path / "a.jsonl")
    home.stop = lambda: ""
    told = bring(home, tmp_path / "a.jsonl")

    assert (told["imported"], told["skipped"]) == (6, {"known": 4})
    assert [one["content"] for one in came(home)] == [f"line {n}" for n in range(10)]


@pytest.mark.parametrize("form", ["mcp", "mem0", "jsonl", "markdown"])
def test_what_goes_out_in_another_format_comes_in_again(
    home: Home, tmp_path: Path, form: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(*ENTITIES))
    bring(home, tmp_path / "a.jsonl")
    told = give(home, ["sky"], tmp_path / "out", START, form=form)
    init_home(tmp_path / "other")
    other = open_home(str(tmp_path / "other"))
    bring(other, tmp_path / "out")

    assert told["memories"] == 4
    texts = sorted(one["content"] for one in came(home))
    assert sorted(one["content"] for one in came(other)) == texts
    if form == "mcp":
        assert (tmp_path / "out").read_bytes() == lines(*ENTITIES)


def test_a_home_that_refuses_secrets_says_so(home: Home, tmp_path: Path) -> None:

    home.rules = home.rules._replace(secrets=SecretRules(on="refuse"))
    (tmp_path / "a.jsonl").write_bytes(line(f"key {TOKEN}") + line("fine"))
    told = bring(home, tmp_path / "a.jsonl")

    assert (told["imported"], told["skipped"]) == (1, {"secret": 1})
