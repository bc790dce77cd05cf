"""Promise 2: a damaged line never stops the others (hazards A), shown on a job's real files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.plan import Damage, Entry
from skymem.stores import lines
from skymem.stores.lines import count_lines, last_newline_end, raw_lines, read_entries
from tests.conftest import Desk, line

ROOT = Path(__file__).parents[2]
BOM = b"\xef\xbb\xbf"
GOOD = line("good", 0.9)


def bad(raw: bytes) -> bytes:
    return raw + b"\n"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b'{"id":"x","te', "not JSON", id="A6 torn in the middle"),
        pytest.param(
            b'{"ts":1,"content":"a"}{"ts":2,"con', "not JSON", id="A4 glued to a torn one"
        ),
        pytest.param(b'{"ts":1,"content":"a"}{"ts":2}', "not JSON", id="A4 one of two is none"),
        pytest.param(b'{"ts":1,"content":"a","importance":NaN}', "NaN", id="A10 NaN"),
        pytest.param(b'{"ts":1,"content":"a","score":1e400}', "too large", id="A10 1e400"),
        pytest.param(
            b'{"ts":1,"content":"a","n":' + b"9" * 5000 + b"}", "too long", id="5k digits"
        ),
        pytest.param(b'{"ts":1,"content":"a","x":' + b"[" * 9999 + b"]" * 9999 + b"}", "deep"),
        pytest.param(b'{"ts":1,"content":"a","content":"b"}', "twice", id="A13 duplicate keys"),
        pytest.param(b"5", "a number", id="A13 scalar"),
        pytest.param(b"[1,2]", "a list", id="A13 list"),
        pytest.param('{"content":"a"}'.encode("utf-16"), "not UTF-8", id="A13 UTF-16"),
        pytest.param(b'{"ts":1,"content":"\xff"}', "not UTF-8", id="bad UTF-8"),
        pytest.param(b"\x00" * 5000, "not JSON", id="A12 NULs"),
        pytest.param(BOM + b'{"ts":1,"content":"a"}', "byte order mark", id="A13 BOM inside"),
        pytest.param(b'{"ts":1}', 'field "content" is missing', id="M3 no content"),
        pytest.param(b'{"ts":1,"content":"a","importance":7}', "7 is not in 0 to 1", id="M3 range"),
        pytest.param(b"\x0b{}\x0c", "not JSON", id="other spaces"),
    ],
)
def test_damage_goes_to_quarantine_byte_for_byte_and_the_rest_goes_on(
    desk: Desk, raw: bytes, reason: str
) -> None:
    kept = line("kept", 0.1)
    desk.echo(kept, bad(raw), GOOD)
    detail = desk.run()
    assert detail["ok"]
    assert detail["quarantined"] == 1
    assert desk.quarantined() == [bad(raw)]
    assert reason in desk.reasons()[0]
    assert desk.contents("long") == ["good"]
    assert desk.short_term.read_bytes() == kept


@pytest.mark.parametrize(
    ("raw", "contents"),
    [
        pytest.param(b'{"ts":1,"content":"a"}{"ts":2,"content":"b"}\n', ["a", "b"], id="A4 glued"),
        pytest.param(
            b'{"ts":1,"content":"a"} \t{"ts":2,"content":"b"}\r\n', ["a", "b"], id="A4 sp"
        ),
        pytest.param(b'{"ts":1,"content":"a"}\r\n', ["a"], id="A13 CRLF"),
        pytest.param(b"\n\r\n  \t\n", [], id="A13 blank lines"),
        pytest.param(b'  {"ts":1,"content":"a"}  \n', ["a"], id="A13 spaces"),
        pytest.param(b'{"ts":1,"content":"\\ud800"}\n', ["\ud800"], id="A9 lone surrogate"),
        pytest.param(
            '{"ts":1,"content":"\u2028\u2029\x85\x7f"}\n'.encode(),
            ["\u2028\u2029\x85\x7f"],
            id="A7 separators of Unicode",
        ),
        pytest.param(
            b'{"ts":1,"content":"\\u000b\\f\\u001c"}\n', ["\x0b\x0c\x1c"], id="A7 escaped"
        ),
        pytest.param(
            b'{"ts":1,"content":"a","n":12345678901234567890123}\n', ["a"], id="big number"
        ),
    ],
)
def test_what_is_odd_but_whole_is_read_kept_and_promoted(
    desk: Desk, raw: bytes, contents: list[str]
) -> None:
    desk.echo(GOOD, raw)
    assert desk.run()["quarantined"] == 0
    assert desk.short_term.read_bytes() == raw
    desk.limit(5000, threshold=0.0)
    assert desk.run()["promoted"] == len(contents)
    assert desk.contents("long") == ["good", *contents]
    assert not desk.contents("short")


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_line(desk: Desk) -> None:
    desk.echo(BOM + line("first", 0.1), GOOD)
    assert desk.run()["quarantined"] == 0
    assert desk.short_term.read_bytes() == BOM + line("first", 0.1)
    desk.limit(5000, threshold=0.0)
    desk.run()
    assert desk.contents("long") == ["good", "first"]
    assert BOM not in desk.tiers.long_term.read_bytes()


def test_a_good_entry_after_a_torn_one_is_readable(desk: Desk) -> None:
    """A1: the loss is limited to the torn line."""
    desk.echo(b'{"id":"x","te')
    desk.shelf().append([GOOD])
    desk.run()
    assert desk.contents("long") == ["good"]
    assert desk.quarantined() == [b'{"id":"x","te\n']


def test_a_last_line_without_its_newline_is_kept_when_another_follows(desk: Desk) -> None:
    """A3: nothing is counted as damage."""
    desk.echo(line("first", 0.9).strip())
    desk.shelf().append([GOOD])
    assert desk.run()["quarantined"] == 0
    assert desk.contents("long") == ["first", "good"]


def test_an_unfinished_last_line_is_left_alone_until_its_writer_is_gone(desk: Desk) -> None:
    """A20: it may be in flight; after `torn_after` of silence it is damage."""
    torn = b'{"ts":1,"content":"tor'
    desk.echo(GOOD, torn)
    os.utime(desk.short_term, (desk.clock, desk.clock))
    assert desk.run("rotate")["quarantined"] == 0
    assert desk.short_term.read_bytes() == GOOD + torn
    desk.clock += 297
    assert desk.run("rotate")["quarantined"] == 0
    desk.clock += 3
    assert desk.run("rotate")["quarantined"] == 1
    assert desk.quarantined() == [torn]
    assert desk.short_term.read_bytes() == GOOD


def test_a_whole_last_line_whose_writer_forgot_the_newline_is_a_memory(desk: Desk) -> None:
    desk.echo(GOOD.strip())
    os.utime(desk.short_term, (desk.clock - 1000, desk.clock - 1000))
    assert desk.run()["promoted"] == 1
    assert desk.contents("long") == ["good"]
    assert desk.tiers.long_term.read_bytes().endswith(b"}\n")


CHILD = """
import resource, sys
from pathlib import Path
from tests.conftest import Desk
from skymem.stores.home import HomePaths
desk = Desk(HomePaths(Path(sys.argv[1])))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
detail = desk.run()
print(detail["quarantined"], detail["promoted"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def child(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_an_endless_line_is_quarantined_without_being_held_in_memory(desk: Desk) -> None:
    """A12: 64 MB without a newline."""
    size = 64 * 1024 * 1024
    desk.echo(line("first", 0.9))
    with desk.short_term.open("r+b") as stream:
        stream.truncate(size)
    desk.echo(b"\n", GOOD)
    counts, grown = child(CHILD, str(desk.paths.root))[:2]
    assert counts == "1 2"
    assert int(grown) * 1024 < size / 2
    (entry,) = desk.shelf().quarantine.entries()
    assert entry["bytes"] == size - len(line("first", 0.9)) + 1
    assert entry["reason"] == "longer than 1048576 bytes"
    assert desk.contents("long") == ["first", "good"]


APPENDER = """
import sys
from pathlib import Path
from tests.conftest import Desk, line
from skymem.stores.home import HomePaths
desk = Desk(HomePaths(Path(sys.argv[1])))
for number in range(60):
    size = 16_000 + (number * 7919) % 48_000
    desk.shelf().append([line(f"{sys.argv[2]}-{number}", 0.1, pad="x" * size)])
"""


def test_long_lines_of_many_processes_stay_whole(desk: Desk) -> None:
    """A14: one write each, under the lock."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(desk.paths.root), f"w{number}"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in range(4)
    ]
    assert [each.wait() for each in children] == [0] * 4
    assert sorted(desk.contents("short")) == sorted(
        f"w{n}-{m}" for n in range(4) for m in range(60)
    )


FULL = """
import resource, sys
from pathlib import Path
from tests.conftest import Desk, line
from skymem.errors import DiskError
from skymem.stores.home import HomePaths
desk = Desk(HomePaths(Path(sys.argv[1])))
desk.shelf().append([line("before", 0.1)])
size = desk.short_term.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
try:
    desk.shelf().append([line("too much", 0.1)])
except DiskError as error:
    print(error)
"""


def test_a_write_that_falls_short_is_taken_back_and_told(desk: Desk) -> None:
    """A15: the retry then doubles nothing."""
    assert "short_term.jsonl: No space left on device" in child(FULL, str(desk.paths.root))[0]
    assert desk.short_term.read_bytes() == line("before", 0.1)
    desk.shelf().append([line("too much", 0.1)])
    assert desk.contents("short") == ["before", "too much"]


texts = st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b""))


@given(st.lists(texts, max_size=30), st.integers(1, 16), st.integers(0, 8))
def test_lines_are_the_same_whatever_the_size_of_a_block(
    pieces: list[bytes], chunk: int, bytes_max: int
) -> None:
    data = b"".join(piece + b"\n" for piece in pieces) + b"rest"
    fd = os.memfd_create("lines")
    original, lines.CHUNK_BYTES = lines.CHUNK_BYTES, chunk  # type: ignore[misc]  # a constant
    try:
        os.write(fd, data)
        stop = last_newline_end(fd, len(data))
        assert stop == len(data) - len(b"rest")
        found = list(raw_lines(fd, 0, stop, bytes_max))
    finally:
        lines.CHUNK_BYTES = original  # type: ignore[misc]
        os.close(fd)
    assert [raw for _, raw, _ in found] == [p if len(p) <= bytes_max else None for p in pieces]
    assert [data[start:end] for start, _, end in found] == [p + b"\n" for p in pieces]


blank = st.text(" \t\r\x0b\x0c", max_size=5).map(str.encode)


@given(st.lists(st.one_of(texts, blank), max_size=30), st.integers(1, 16))
def test_blank_lines_are_not_counted(pieces: list[bytes], chunk: int) -> None:
    data = b"".join(piece + b"\n" for piece in pieces) + b"rest"
    fd = os.memfd_create("lines")
    original, lines.CHUNK_BYTES = lines.CHUNK_BYTES, chunk  # type: ignore[misc]  # a constant
    try:
        os.write(fd, b"before\n" + data)
        found = count_lines(fd, len(b"before\n"), len(b"before\n" + data))
    finally:
        lines.CHUNK_BYTES = original  # type: ignore[misc]
        os.close(fd)
    assert found == sum(bool(piece.strip()) for piece in pieces)


def is_blank(piece: bytes) -> bool:
    return not piece.removeprefix(BOM).strip(b" \t\r\n\x0b\x0c")


@given(st.lists(st.one_of(texts, st.sampled_from([GOOD.strip(), b"", b" ", b"{}"])), max_size=20))
def test_every_byte_is_an_entry_damage_or_blank(pieces: list[bytes]) -> None:
    data = b"".join(piece + b"\n" for piece in pieces)
    fd = os.memfd_create("lines")
    try:
        os.write(fd, data)
        found = list(read_entries(fd, 0, len(data), 1000))
    finally:
        os.close(fd)
    position = 0
    for item in found:
        assert is_blank(data[position : item.start])
        assert isinstance(item, Damage) or json.loads(data[item.start : item.end])
        position = item.end
    assert is_blank(data[position:])
    assert sum(isinstance(item, Entry) for item in found) >= pieces.count(GOOD.strip())
