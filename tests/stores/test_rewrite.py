"""The one rewrite of long-term and archives: whole or not at all; what a hand adds is not lost."""

import os
from pathlib import Path

import pytest

from skymem.errors import DiskError, NotAllowedError
from skymem.stores import rewrite as module
from skymem.stores.edits import Edit
from skymem.stores.rewrite import TierChangedError, rewrite
from tests.conftest import Desk

ARCHIVE = "short_term_archive_20250101T000000Z.jsonl"


@pytest.fixture
def path(desk: Desk) -> Path:
    desk.tiers.long_term.write_bytes(b"a\nb\nc\n")
    return desk.tiers.long_term


def edit(desk: Desk, *edits: Edit, name: str = "long_term.jsonl") -> None:
    rewrite(desk.tiers, desk.files, name, edits)


def test_lines_leave_and_come_back_where_they_were(desk: Desk, path: Path) -> None:
    path.chmod(0o640)
    edit(desk, Edit(2, 4))
    assert path.read_bytes() == b"a\nc\n"
    edit(desk, Edit(2, 2, b"b\n"))
    assert path.read_bytes() == b"a\nb\nc\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_last_line_without_its_newline_is_ended_before_what_comes(desk: Desk, path: Path) -> None:
    path.write_bytes(b"a\nb")
    edit(desk, Edit(3, 3, b"c\n"))
    assert path.read_bytes() == b"a\nb\nc\n"


def test_an_archive_goes_with_its_last_line_and_long_term_stays_empty(
    desk: Desk, path: Path
) -> None:
    archive = desk.tiers.directory / ARCHIVE
    archive.write_bytes(b"a\n\n")
    edit(desk, Edit(0, 2), name=ARCHIVE)
    edit(desk, Edit(0, 6))

    assert not archive.exists()
    assert path.read_bytes() == b""


def test_an_archive_that_went_comes_again_with_what_is_put_back(desk: Desk) -> None:
    edit(desk, Edit(0, 0, b"a\n"), name=ARCHIVE)
    assert (desk.tiers.directory / ARCHIVE).read_bytes() == b"a\n"
    with pytest.raises(TierChangedError):
        edit(desk, Edit(0, 2), name="short_term_archive_1.jsonl")


def test_what_a_hand_appends_meanwhile_is_taken_over(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def appended_just_before(late: Path, fd: int, size: int) -> None:
        with path.open("ab") as stream:
            stream.write(b"late\n")
        check(late, fd, size)

    check = module._check_same
    monkeypatch.setattr(module, "_check_same", appended_just_before)
    edit(desk, Edit(2, 4))
    assert path.read_bytes() == b"a\nc\nlate\n"


@pytest.mark.parametrize("how", ["replaced", "cut"])
def test_a_file_that_a_hand_changed_meanwhile_stays_as_they_left_it(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def changed(late: Path, fd: int, size: int) -> None:
        if how == "replaced":
            other = path.with_name("other")
            other.write_bytes(b"a\nB\nc\n")
            other.replace(path)
        else:
            os.truncate(path, 2)
        check(late, fd, size)

    check = module._check_same
    monkeypatch.setattr(module, "_check_same", changed)
    with pytest.raises(TierChangedError):
        edit(desk, Edit(2, 4))
    assert path.read_bytes() in (b"a\nB\nc\n", b"a\n")
    assert not list(path.parent.glob(".*.new"))


def test_a_link_and_a_place_beyond_the_end_are_refused(desk: Desk, path: Path) -> None:
    with pytest.raises(TierChangedError):
        edit(desk, Edit(4, 9))
    path.rename(path.with_name("real"))
    path.symlink_to("real")
    with pytest.raises((NotAllowedError, DiskError)):
        edit(desk, Edit(2, 4))
