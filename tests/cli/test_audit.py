"""`audit verify` and `audit log`: what was done to the record is named, and what it holds told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.errors import DamageFoundError
from skymem.stores import ledger
from tests.cli.conftest import Shell, Told

SECRET = "the word is xyzzy"

Lines = list[bytes]


@pytest.fixture
def files(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A ledger of several files, the open one last, of a home in which things were done."""
    monkeypatch.setattr(ledger, "SEGMENT_BYTES", 1200)
    for agent in ("sky", "hobbs"):
        for worth in ("0.9", "0.1"):
            shell("--agent", agent, "remember", f"{SECRET} {worth}", "--importance", worth)
        assert shell("--agent", agent, "promote").code == 0
    names = ids(shell)
    for size in (1200, 1_000_000):  # what is done last is in the open one
        monkeypatch.setattr(ledger, "SEGMENT_BYTES", size)
        shell("forget", *names)
        shell("restore", *names)
    shell("pin", names[0])
    segments = app.open_home(str(shell.home)).workplace().ledger().segments()
    assert len(segments) > 3
    return [segment.path for segment in segments]


def ids(shell: Shell) -> list[str]:
    """The memories of the agent `sky`."""
    return [one["id"] for one in shell("recent", "--json").json["results"]]


def numbers(path: Path) -> list[int]:
    return [json.loads(one)["seq"] for one in path.read_bytes().splitlines()]


def meddle(path: Path, how: Callable[[Lines], Lines]) -> None:
    path.write_bytes(b"".join(how(path.read_bytes().splitlines(keepends=True))))


def check_told(told: Told, whole: list[str], human: Told) -> None:
    """The same is told to a script and to a person, and the exit code says it."""
    assert told.code == human.code == DamageFoundError.exit_code == 20
    assert told.json["valid"] is False
    assert told.json["problems"] == whole
    assert human.out.splitlines()[:-1] == whole
    assert human.out.splitlines()[-1].startswith("what to do: ")
    assert f"{len(whole)} problem(s) found" in human.err


def test_a_whole_record_is_valid(shell: Shell, files: list[Path]) -> None:
    count = sum(len(numbers(path)) for path in files)
    told, human = shell("audit", "verify", "--json"), shell("audit", "verify")

    assert (told.code, told.err, human.code, human.err) == (0, "", 0, "")
    assert told.json == {"entries": count, "valid": True, "problems": []}
    assert human.out == f"{count} entries, each chained to the one before\n"


def test_a_home_that_did_nothing_has_a_valid_record(shell: Shell) -> None:
    told = shell("audit", "verify", "--json")
    assert (told.code, told.json) == (0, {"entries": 0, "valid": True, "problems": []})
    assert shell("audit", "log", "--json").json == {"entries": []}


def changed(lines: Lines) -> Lines:
    return [lines[0], lines[1].replace(b'"agent":"', b'"agent":"x'), *lines[2:]]


def removed(lines: Lines) -> Lines:
    return [lines[0], *lines[2:]]


def reordered(lines: Lines) -> Lines:
    return [lines[1], lines[0], *lines[2:]]


def inserted(lines: Lines) -> Lines:
    return [lines[0], *lines]


MEDDLING = [
    pytest.param(changed, "{name}: line 2: entry {second} was changed", id="changed"),
    pytest.param(
        removed, "entry {second} is missing: removed before {name}: line 2", id="removed"
    ),
    pytest.param(
        reordered, "{name}: line 2: entry {first} stands behind entry {second}: reordered",
        id="reordered",
    ),
    pytest.param(
        inserted, "{name}: line 2: entry {first} was inserted: its number is taken", id="inserted"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("how", "expected"), MEDDLING)
@pytest.mark.parametrize("which", [1, -1], ids=["a closed file", "the open one"])
def test_a_line_that_was_meddled_with_is_named_with_number_file_and_line(
    shell: Shell, files: list[Path], which: int, how: Callable[[Lines], Lines], expected: str
) -> None:
    path = files[which]
    first, second, *_ = numbers(path)
    meddle(path, how)
    problem = expected.format(name=path.name, first=first, second=second)

    check_told(shell("audit", "verify", "--json"), [problem], shell("audit", "verify"))


def test_an_end_that_was_cut_off_is_named(shell: Shell, files: list[Path]) -> None:
    *_, before, last = numbers(files[-1])
    meddle(files[-1], lambda lines: lines[:-2])
    problem = f"entries {before}–{last} are missing: the end of the ledger was cut off"

    check_told(shell("audit", "verify", "--json"), [problem], shell("audit", "verify"))


def test_a_file_that_is_gone_is_named(shell: Shell, files: list[Path]) -> None:
    gone, after = files[1:3]
    first, *_, last = numbers(gone)
    gone.unlink()
    problem = (
        f"entries {first}–{last} are missing: "
        f"a file of the ledger is gone that stood before {after.name}"
    )

    check_told(shell("audit", "verify", "--json"), [problem], shell("audit", "verify"))


# -- audit log ------------------------------------------------------------------------------------


def entries(shell: Shell, *words: str) -> list[dict[str, Any]]:
    told = shell(*words, "--json") if "log" in words else shell("audit", "log", *words, "--json")
    assert (told.code, told.err) == (0, "")
    assert told.json.keys() == {"entries"}
    found: list[dict[str, Any]] = told.json["entries"]
    return found


@pytest.mark.usefixtures("files")
def test_the_log_lists_what_was_done_newest_last(shell: Shell, files: list[Path]) -> None:
    found = entries(shell, "--limit", "1000")
    whole = [number for path in files for number in numbers(path)]

    assert [one["seq"] for one in found] == whole
    assert [one["seq"] for one in entries(shell, "--limit", "3")] == whole[-3:]
    assert all(one.keys() >= {"seq", "ts", "op", "agent", "by"} for one in found)
    assert not any(one.keys() & {"prev", "hash"} for one in found)
    assert {one["op"] for one in found} >= {"adopt", "begin", "decide", "moved", "end"}
    human = shell("audit", "log", "--limit", "1000").out
    assert human.count("\n") == len(whole)
    for text in (human, json.dumps(found)):
        assert "xyzzy" not in text


@pytest.mark.usefixtures("files")
def test_the_log_is_narrowed_to_an_agent_a_run_and_a_memory(shell: Shell) -> None:
    whole = entries(shell, "--limit", "1000")
    name, other = ids(shell)
    of_hobbs = entries(shell, "--agent", "hobbs", "audit", "log")
    run = next(one["run"] for one in reversed(whole) if one["op"] == "begin")
    about = entries(shell, "--id", name[:8])

    assert of_hobbs == [one for one in whole if one["agent"] == "hobbs"]
    assert entries(shell, "--run", run) == [one for one in whole if one.get("run") == run]
    assert {one[0] for entry in about for one in entry.get("moved", ())} == {name}
    assert other not in json.dumps(about)
    assert about[0]["op"] == "adopt"
    assert entries(shell, "--id", name, "--run", run, "--since", "1h") == [
        one for one in entries(shell, "--id", name) if one.get("run") == run
    ]
    assert entries(shell, "--since", "2100-01-01") == []
    assert entries(shell, "--id", "nobody") == entries(shell, "--run", "none") == []


def test_the_log_passes_over_what_was_meddled_with(shell: Shell, files: list[Path]) -> None:
    bad = [
        b'{"seq":1,"hash":"x"}',
        b'{"seq":1,"hash":"x","ts":1,"op":"decide"}',
        b'{"seq":1,"hash":"x","ts":1e999,"op":"test"}',
        b'{"seq":1,"hash":"x","ts":1,"op":"test","prev":[]}',
        b"[]",
    ]
    with files[-1].open("ab") as stream:
        stream.write(b"\n".join([*bad, b""]))
    whole = [number for path in files[:-1] for number in numbers(path)]

    assert [one["seq"] for one in entries(shell, "--limit", "1000")][: len(whole)] == whole
    told = shell("audit", "verify", "--json").json["problems"]
    for at in range(len(files[-1].read_bytes().splitlines()))[-len(bad) :]:
        assert any(one.startswith(f"{files[-1].name}: line {at + 1}") for one in told)
    assert shell("audit", "log").code == 0
    assert shell("audit", "verify").code == 20


def test_an_id_is_made_harmless_on_its_way_to_a_terminal(shell: Shell) -> None:
    line = {"ts": 1, "content": "x", "importance": 0.9, "id": "a\u202eb\x1b[31m\nc"}
    shell.short_term.write_text(json.dumps(line) + "\n")
    shell("promote")
    human = shell("audit", "log").out

    assert "a\\u202eb\\u001b[31m\\nc" in human
    assert not {"\x1b", "\u202e"} & set(human)


USAGE = [
    pytest.param(["audit"], 2, id="no verb"),
    pytest.param(["audit", "prove"], 2, id="no such verb"),
    pytest.param(["audit", "verify", "more"], 2, id="a word too many"),
    pytest.param(["audit", "log", "--limit", "0"], 2, id="none at all"),
    pytest.param(["audit", "log", "--limit", "many"], 2, id="no number"),
    pytest.param(["audit", "log", "--since", "lately"], 2, id="no time"),
    pytest.param(["--agent", "../x", "audit", "log"], 30, id="no name"),
]


@pytest.mark.parametrize(("words", "code"), USAGE)
def test_wrong_words_are_told_and_nothing_is_printed_for_a_script(
    shell: Shell, words: list[str], code: int
) -> None:
    told = shell(*words)
    assert told.code == code
    assert told.err or "Usage" in told.out


def test_without_a_home_there_is_nothing_to_verify(shell: Shell, tmp_path: Path) -> None:
    for verb in ("verify", "log"):
        assert shell.bare("--home", str(tmp_path / "none"), "audit", verb).code == 10
