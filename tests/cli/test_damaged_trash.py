"""A line of trash that can't be read: who lists, restores or undoes is told, and how to go on."""

from pathlib import Path

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def trashed(shell: Shell) -> Path:
    """The file of a run that moved two memories to trash; the second line is broken."""
    for number in (1, 2):
        shell("remember", f"draft {number}")
    shell("forget", "--match", "draft")
    (path,) = shell.home.glob("memory/sky/trash/*.jsonl")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.replace(b'"bytes":', b'"bytes:'))
    return path


def test_the_list_names_file_and_line(shell: Shell, trashed: Path) -> None:
    told, document = shell("trash", "list"), shell("trash", "list", "--json")
    file = f"memory/sky/trash/{trashed.name}"

    assert (told.code, document.code) == (0, 0)
    for one in (told, document):
        assert f"{file}: line(s) 2 can't be read" in one.err
        assert "mend or remove them with an editor" in one.err
    assert len(document.json["trash"]) == 1
    assert document.json["unreadable"] == {file: [2]}
    assert f"problem lines: {file}: line(s) 2" in shell("doctor").out


def test_undo_says_what_it_could_not_read(shell: Shell, trashed: Path) -> None:
    dry, told = shell("undo", "--dry-run"), shell("undo")

    for one in (dry, told):
        assert "1 back where they were" in one.out
        assert "1 unreadable in trash" in one.out
        assert "(1 line(s) of its trash can't be read: skymem trash list)" in one.out
        assert "no longer in trash" not in one.out


def test_undo_of_what_can_not_be_read_at_all_says_so_and_works_once_it_is_mended(
    shell: Shell, trashed: Path
) -> None:
    lines = trashed.read_bytes()
    trashed.write_bytes(b"{garbage\n" * 2)
    found = shell("undo", "--json").json

    assert (found["acted"], found["left"]) == (0, {"unreadable in trash": 2})
    assert found["why"] == "2 line(s) of its trash can't be read: skymem trash list"
    trashed.write_bytes(lines.replace(b'"bytes:', b'"bytes":'))
    assert len(shell("undo", "--json").json["restored"]) == 2


def test_restore_says_where_a_memory_may_be(shell: Shell, trashed: Path) -> None:
    told = shell("restore", "nosuch")
    assert told.code == 24
    assert "it may be in 1 line(s) there that can't be read: skymem trash list" in told.err
    trashed.unlink()
    assert "can't be read" not in shell("restore", "nosuch").err
