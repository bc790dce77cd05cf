"""Answers to a trigger, as a command of another release may find them."""

from pathlib import Path

import pytest

from skymem.daemon.triggers import read_answer


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('{"state": "done", "exit_code": 0, "detail": {}, "reason": ""}', "done"),
        ('{"state": "done", "of_a_later_release": 5}', "done"),
        ('{"state": "done", "exit_code": "0"}', "died"),
        ('{"state": "done", "detail": []}', "died"),
        ('{"state": 5}', "died"),
        ("{}", "died"),
    ],
)
def test_an_answer_of_another_release_is_read_as_far_as_it_goes(
    tmp_path: Path, text: str, state: str
) -> None:
    path = tmp_path / "1.answer"
    assert read_answer(path) is None
    path.write_text(text)
    found = read_answer(path)

    assert found is not None
    assert found.state == state
