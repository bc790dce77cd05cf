"""Reading on in the list of actions, whatever becomes of its files."""

import os
from pathlib import Path

import pytest

from skymem.stores import status
from skymem.stores.actions import ActionsTail
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import StatusFiles


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StatusFiles:
    monkeypatch.setattr(status, "ACTIONS_BYTES_MAX", 400)
    return StatusFiles(HomePaths(tmp_path), Files())


def write(files: StatusFiles, *numbers: int) -> None:
    for number in numbers:
        files.write_action("promote", {"ok": True, "number": number}, 1.0)


def told(tail: ActionsTail) -> list[int]:
    return [record["detail"]["number"] for record in tail.fresh()]


def test_it_begins_at_the_end_and_tells_each_once(files: StatusFiles) -> None:
    write(files, 1, 2)
    tail = ActionsTail(files.actions)
    assert told(tail) == []
    write(files, 3)
    assert told(tail) == [3]
    assert told(tail) == []
    tail.close()
    tail.close()


def test_a_list_that_is_yet_to_come_is_read_from_its_start(files: StatusFiles) -> None:
    tail = ActionsTail(files.actions)
    assert told(tail) == []
    write(files, 1, 2)
    assert told(tail) == [1, 2]


def test_rotations_between_two_looks_lose_and_repeat_nothing(files: StatusFiles) -> None:
    tail = ActionsTail(files.actions)
    for start in range(0, 90, 9):
        write(files, *range(start, start + 9))
        assert told(tail) == list(range(start, start + 9))
    assert files.actions.with_name("actions.jsonl.3").exists()
    assert len(os.listdir("/proc/self/fd")) < 100


def test_what_was_rotated_away_unseen_is_left_out_and_the_rest_told(files: StatusFiles) -> None:
    tail = ActionsTail(files.actions)
    write(files, 0)
    assert told(tail) == [0]
    write(files, *range(1, 60))
    seen = told(tail)
    assert seen[:2] == [1, 2], "the rest of the file that was open"
    assert seen[2:] == list(range(seen[2], 60))
    assert 3 < seen[2] < 55


def test_half_a_line_is_told_when_it_is_whole_and_no_line_is_passed_over(
    files: StatusFiles,
) -> None:
    write(files, 1)
    tail = ActionsTail(files.actions)
    line = b'{"seq": 2, "detail": {"number": 2}}\n'
    with files.actions.open("ab", buffering=0) as stream:
        stream.write(b"no json\n[]\n" + line[:9])
        assert told(tail) == []
        stream.write(line[9:])
    assert told(tail) == [2]


def test_a_list_cut_in_place_is_read_anew(files: StatusFiles) -> None:
    write(files, 1, 2, 3)
    tail = ActionsTail(files.actions)
    os.truncate(files.actions, 0)
    assert told(tail) == []
    write(files, 4)
    assert told(tail) == [4]


def test_numbers_that_begin_anew_are_told(files: StatusFiles) -> None:
    write(files, 1, 2, 3)
    tail = ActionsTail(files.actions)
    files.actions.unlink()
    files.last_action.unlink()
    write(files, 4)
    assert told(tail) == [4]
