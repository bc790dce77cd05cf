"""Taken in again: the unchanged is not opened, only what changed is anew, what is gone goes."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import skymem
from skymem.agent import AgentMemory
from skymem.app import init_home
from skymem.cli.main import app
from skymem.errors import DiskError, SkymemError, UsageError
from skymem.stores.files import Files
from skymem.upkeep import forget_memories, pin_memory, restore_memories, undo_run
from tests.faults.faulty import DyingFiles, PowerCut

OWNER = "docs-sky"
LONG_AGO = 1_700_000_000
PARAGRAPH = "{} is a word, and around it stands a sentence that is long enough for a chunk.\n\n"

opened: list[str] = []
"""What this process opened, while `watch` is set."""
watch = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if watch and event == "open":
        opened.append(str(arguments[0]))


sys.addaudithook(_hook)


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    init_home(tmp_path / "home")
    return skymem.open_memory("sky", home=str(tmp_path / "home"))


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    made = tmp_path / "sources"
    made.mkdir()
    write(made / "a.md", "# One\n\nfirst\n\n# Two\n\nsecond\n\n# Three\n\nthird\n")
    write(made / "b.txt", "only this\n")
    return made


def write(path: Path, text: str) -> None:
    path.write_text(text)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a test were made just now: here that is long enough ago."""
    monkeypatch.setattr("skymem.working.ingesting.SETTLED_SECONDS", -1.0)


@pytest.fixture
def watched() -> Iterator[list[str]]:
    global watch  # noqa: PLW0603  (an audit hook can't be taken away again)
    opened.clear()
    watch = True
    yield opened
    watch = False


def lines(memory: AgentMemory) -> dict[str, dict[str, Any]]:
    path = memory._home.paths.agent(OWNER).long_term
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({one["id"] for one in found}) == len(found)
    return {one["id"]: one for one in found}


def texts(memory: AgentMemory) -> set[str]:
    return {one["content"] for one in lines(memory).values()}


def test_an_unchanged_file_is_not_opened(
    memory: AgentMemory, sources: Path, watched: list[str]
) -> None:
    memory.documents.add(sources)
    assert str(sources / "a.md") in watched  # the hook sees what is opened
    watched.clear()
    before = lines(memory)
    done = memory.documents.add(sources)

    assert (done.unchanged, done.chunks, done.runs) == (2, 0, [])
    assert [path for path in watched if path.startswith(str(sources / ""))] == []
    assert lines(memory) == before


def test_a_file_that_was_touched_just_now_is_read_once_more(
    memory: AgentMemory, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.working.ingesting.SETTLED_SECONDS", 3600.0)
    memory.documents.add(sources)
    old = os.stat(sources / "b.txt")
    (sources / "b.txt").write_bytes(b"only that\n")
    os.utime(sources / "b.txt", ns=(old.st_atime_ns, old.st_mtime_ns))
    memory.documents.add(sources)

    assert "b.txt\n\nonly that" in texts(memory)


def test_only_what_changed_is_anew(memory: AgentMemory, sources: Path) -> None:
    memory.documents.add(sources)
    before = lines(memory)
    write(sources / "a.md", "# One\n\nfirst\n\n# Two\n\nsecond, changed\n\n# Three\n\nthird\n")
    os.utime(sources / "a.md", (LONG_AGO, LONG_AGO))
    done = memory.documents.add(sources)

    assert done.changed == [str(sources / "a.md")]
    assert (done.chunks, done.trashed, done.unchanged) == (1, 1, 1)
    after = lines(memory)
    assert {one["content"] for name, one in after.items() if name not in before} == {
        "Two\n\nsecond, changed"
    }
    assert sum(name in before for name in after) == len(before) - 1
    run_id = done.runs[0]
    trash = memory._home.paths.agent(OWNER).trash / f"{run_id}.jsonl"
    assert json.loads(trash.read_text())["reason"][0] == "document"


def test_a_new_time_alone_changes_nothing(memory: AgentMemory, sources: Path) -> None:
    memory.documents.add(sources)
    before = lines(memory)
    os.utime(sources / "a.md", (LONG_AGO, LONG_AGO))
    done = memory.documents.add(sources)

    assert (done.unchanged, done.changed, done.runs) == (2, [], [])
    assert lines(memory) == before


def test_what_is_gone_goes_to_trash_and_comes_back(memory: AgentMemory, sources: Path) -> None:
    memory.documents.add(sources)
    whole = lines(memory)
    (sources / "b.txt").unlink()
    done = memory.documents.add(sources)
    assert (done.removed, done.trashed) == ([str(sources / "b.txt")], 1)

    (name,) = whole.keys() - lines(memory).keys()
    restore_memories(memory._home, OWNER, [name])
    assert lines(memory) == whole
    again = memory.documents.add(sources)  # a person wants it: that holds for `restore_grace`
    assert (again.removed, dict(again.kept)) == ([], {"restored": 1})
    assert lines(memory) == whole
    write(sources / "b.txt", "only this\n")
    assert memory.documents.add(sources).chunks == 0
    (sources / "b.txt").unlink()
    assert memory.documents.remove(sources / "b.txt").trashed == 1  # now another thing is wanted


def test_a_directory_that_is_empty_all_at_once_removes_nothing(
    memory: AgentMemory, sources: Path
) -> None:
    memory.documents.add(sources)
    for path in sources.iterdir():
        path.unlink()

    with pytest.raises(UsageError, match="skymem docs remove"):
        memory.documents.add(sources)
    assert len(lines(memory)) == 4
    assert len(memory.documents.remove(sources).removed) == 2
    assert memory.documents.list() == []


def test_a_file_that_can_be_read_no_more_keeps_what_it_said(
    memory: AgentMemory, sources: Path
) -> None:
    memory.documents.add(sources)
    (sources / "a.md").write_bytes(b"\x00\x01\x02\x03" * 9)
    done = memory.documents.add(sources)

    assert done.failed == {str(sources / "a.md"): "is no text"}
    assert len(lines(memory)) == 4


def test_what_a_person_forgot_or_pinned_stays_so(memory: AgentMemory, sources: Path) -> None:
    memory.documents.add(sources)
    by_text = {one["content"]: name for name, one in lines(memory).items()}
    forget_memories(memory._home, OWNER, [by_text["One\n\nfirst"]])
    pin_memory(memory._home, OWNER, by_text["Two\n\nsecond"])
    write(sources / "a.md", "# One\n\nfirst\n\n# Three\n\nthird\n")
    done = memory.documents.add(sources)

    assert dict(done.kept) == {"forgotten": 1, "pinned": 1}
    assert texts(memory) == {"Two\n\nsecond", "Three\n\nthird", "b.txt\n\nonly this"}


def test_a_lost_record_of_versions_costs_reading_and_nothing_else(
    memory: AgentMemory, sources: Path
) -> None:
    memory.documents.add(sources)
    before = lines(memory)
    record = memory._home.paths.state / "documents" / f"{OWNER}.json"
    for damage in (b"", b"[]", b'{"form": 1, "cutting": [1200, 150], "documents": {"x": 1}}'):
        record.write_bytes(damage)
        assert memory.documents.add(sources).unchanged == 2
        assert lines(memory) == before
    assert len(json.loads(record.read_text())["documents"]) == 2


def test_another_way_of_cutting_cuts_all_anew(memory: AgentMemory, sources: Path) -> None:
    write(sources / "b.txt", "".join(PARAGRAPH.format(number) for number in range(20)))
    memory.documents.add(sources)
    rules = memory._home.paths.rules
    rules.write_text(rules.read_text() + "documents: {chunk_chars: 300, overlap_chars: 0}\n")
    again = skymem.open_memory("sky", home=str(memory._home.paths.root))
    done = again.documents.add(sources)

    assert done.changed == [str(sources / "b.txt")]
    assert all(len(text) <= 300 for text in texts(again))


def test_undo_takes_a_whole_run_back(memory: AgentMemory, sources: Path) -> None:
    done = memory.documents.add(sources)
    undo_run(memory._home, done.runs[0], [OWNER])
    assert memory.documents.list() == []

    assert memory.documents.add(sources).chunks == 4  # as it was asked for again
    assert len(lines(memory)) == 4


def test_what_was_erased_does_not_come_back_with_its_document(
    memory: AgentMemory, sources: Path
) -> None:
    memory.documents.add(sources)
    (name,) = [one for one, line in lines(memory).items() if "second" in line["content"]]
    home = str(memory._home.paths.root)
    words = ["--home", home, "--agent", OWNER, "erase", name]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    for change in ("", "\n# Four\n\nfourth\n"):
        with (sources / "a.md").open("a") as stream:
            stream.write(change)
        memory.documents.add(sources)
        assert "Two\n\nsecond" not in texts(memory)
    assert "Four\n\nfourth" in texts(memory)


def test_secrets_are_redacted_or_their_document_refused(memory: AgentMemory, sources: Path) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPQE"
    write(sources / "a.md", f"# Keys\n\nThe key is {secret}, keep it.\n")
    done = memory.documents.add(sources)
    assert secret not in str(lines(memory))
    assert any("The key is [redacted:" in text for text in texts(memory))
    assert "redacted" in done.notes[str(sources / "a.md")]
    assert memory.documents.add(sources).unchanged == 2

    rules = memory._home.paths.rules
    rules.write_text(rules.read_text() + "secrets: {on: refuse}\n")
    again = skymem.open_memory("sky", home=str(memory._home.paths.root))
    write(sources / "c.md", f"# Other\n\n{secret}\n")
    assert list(again.documents.add(sources).failed) == [str(sources / "c.md")]


def test_a_kill_at_any_step_is_finished_by_the_next_run(tmp_path: Path, sources: Path) -> None:
    init_home(tmp_path / "home")
    memory = skymem.open_memory("sky", home=str(tmp_path / "home"))
    home = memory.documents._home  # whose disk is the documents'
    versions = ("second", "second, changed")
    memory.documents.add(sources)
    fired = 0
    for at in range(1, 60):
        text = versions[at % 2]
        write(sources / "a.md", f"# One\n\nfirst {at}\n\n# Two\n\n{text}\n\n# Three\n\nthird\n")
        home.files = DyingFiles(at, torn=bool(at % 3))
        try:
            memory.documents.add(sources)
        except (PowerCut, DiskError, SkymemError):
            fired += home.files.fired
        home.files = Files()
        memory.documents.add(sources)
        wanted = {f"One\n\nfirst {at}", f"Two\n\n{text}", "Three\n\nthird", "b.txt\n\nonly this"}
        assert texts(memory) == wanted, at
    assert fired > 15
    told = CliRunner().invoke(app, ["--home", str(home.paths.root), "fsck"])
    assert told.exit_code == 0, told.output
