"""A recall reads the lines that answer; of all others the indexes tell what they weigh (R2, R5).

Counted are the bytes this process reads, not time.
"""

import os
from typing import Any

import pytest

from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings
from tests.stores.test_catalog import bytes_read

LINES, LIMIT = 40, 3
LINE_BYTES = 60_000
MODES = ["deterministic", "semantic", "hybrid", "fusion"]


def write_long(desk: Desk, **last: Any) -> Meanings:
    """Long-term of lines that all have the words asked for; the engine finds the later nearer."""
    padding = "x" * LINE_BYTES
    with desk.tiers.long_term.open("ab") as stream:
        for n in range(LINES):
            more = last if n == LINES - 1 else {}
            stream.write(line(f"tea {padding}{n}", id=f"i{n:02}", ts=START - LINES + n, **more))
    return Meanings({f"i{n:02}": n / LINES for n in range(LINES)})


@pytest.mark.parametrize("mode", MODES)
def test_no_line_is_read_but_those_that_answer(desk: Desk, ask: Ask, mode: str) -> None:
    engine = write_long(desk)
    ask("tea", engine=engine, limit=LIMIT, mode=mode)  # the indexes take it in
    before = bytes_read()
    found = ask("tea", engine=engine, limit=LIMIT, mode=mode)

    assert bytes_read() - before < (LIMIT + 2) * LINE_BYTES
    assert [one.id for one in found] == ["i39", "i38", "i37"]
    assert found.mode == mode


@pytest.mark.parametrize("mode", MODES)
def test_what_its_line_does_not_say_any_more_gives_its_place_to_the_next(
    desk: Desk, ask: Ask, mode: str
) -> None:
    engine = write_long(desk)
    ask("tea", engine=engine, limit=LIMIT, mode=mode)
    path = desk.tiers.long_term
    before = path.stat()
    raw = path.read_bytes()
    with path.open("r+b") as stream:  # in place, and nothing but the bytes themselves tells it
        stream.seek(raw.rindex(b"tea"))
        stream.write(b"pea")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    found = ask("tea", engine=engine, limit=LIMIT, mode=mode)
    assert [one.id for one in found] == ["i38", "i37", "i36"]
    assert found.mode == mode


@pytest.mark.parametrize("mode", MODES)
def test_what_is_over_but_pinned_is_told_by_its_line(desk: Desk, ask: Ask, mode: str) -> None:
    engine = write_long(desk, expires_at=START - 0.5, pinned=True)
    found = ask("tea", engine=engine, limit=LIMIT, mode=mode)
    assert [one.id for one in found] == ["i39", "i38", "i37"]
