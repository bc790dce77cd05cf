"""The log in the journal and elsewhere: two spellings of the same lines (hazard F7)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skymem.daemon.journal import LINE_BYTES_MAX, Journal, is_the_journal

START = 1_700_000_000.0


def journal(**more: Any) -> Journal:
    return Journal(lambda: START, **more)


def test_a_line_for_the_journal_is_json_with_a_priority_and_no_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = journal(level="debug", journald=True)
    log.debug("command", argv="skymem trigger a")
    log.info("run ended", name="promote", ok=True, exit_code=0, duration_s=1.23456, acted=None)
    log.warning("the clock jumped", seconds=-3600.0)
    log.error("run ended", name="promote", ok=False, error=ValueError("disk"))
    lines = capsys.readouterr().err.splitlines()
    assert [one[:3] for one in lines] == ["<7>", "<6>", "<4>", "<3>"]
    found = [json.loads(one[3:]) for one in lines]
    assert found[1] == {
        "level": "info",
        "event": "run ended",
        "name": "promote",
        "ok": True,
        "exit_code": 0,
        "duration_s": 1.235,
    }
    assert [list(one)[:2] for one in found] == [["level", "event"]] * 4
    assert found[3]["error"] == "disk"


def test_elsewhere_it_is_logfmt_with_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    journal().info("run ended", name="promote", ok=True, duration_s=1.5)
    assert capsys.readouterr().err == (
        'timestamp=2023-11-14T22:13:20Z level=info event="run ended" '
        "name=promote ok=true duration_s=1.500\n"
    )


def test_both_spellings_have_the_same_keys_and_texts(capsys: pytest.CaptureFixture[str]) -> None:
    for under in (True, False):
        journal(journald=under).error("failed", name="ü\x1b[2J\n", n=3, error="no \U000e0001 room")
    first, second = capsys.readouterr().err.splitlines()
    spoken = json.loads(first[3:])
    pairs = re.findall(r'(\w+)=(?:"([^"]*)"|(\S*))', second)
    logfmt = {key: quoted.replace("\\\\", "\\") or plain for key, quoted, plain in pairs}
    assert logfmt.pop("timestamp")
    assert {key: str(value) for key, value in spoken.items()} == logfmt
    assert spoken["name"] == "ü\\u001b[2J\\n"
    assert spoken["error"] == "no \\U000e0001 room"


@pytest.mark.parametrize("under", [True, False])
def test_no_control_character_reaches_it_raw(
    capsys: pytest.CaptureFixture[str], *, under: bool
) -> None:
    every = "".join(map(chr, [*range(0x100), 0x2028, 0x202E, 0xD800, 0xE0001]))
    log = journal(journald=under)
    log.info(every, name=every, error=every)
    log.trace("bug", f"{every}\n  File\n")
    written = capsys.readouterr().err
    assert written.count("\n") == 2
    assert all(one.isprintable() for one in written if one != "\n")


@pytest.mark.parametrize("under", [True, False])
@pytest.mark.parametrize("piece", ["x", "\n", "😀", '"\\', "\x00"])
def test_a_line_is_never_longer_than_a_pipe_takes_at_once(
    capsys: pytest.CaptureFixture[str], piece: str, *, under: bool
) -> None:
    log = journal(journald=under)
    log.trace("bug", f"BEGIN {piece * 9000} END")
    log.error(piece * 9000, **{f"key{n}": piece * 9000 for n in range(12)})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(len(one.encode()) <= LINE_BYTES_MAX for one in lines)
    assert "BEGIN" in lines[0]
    assert "END" in lines[0], "the end says what it was"
    if under:
        assert json.loads(lines[0][3:])["event"] == "bug"


def test_a_line_with_too_many_values_still_says_what_happened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    journal(journald=True).error("much", **{f"key{n}": n for n in range(1000)})
    assert json.loads(capsys.readouterr().err[3:]) == {"level": "error", "event": "much"}


def test_numbers_json_has_no_word_for_are_texts(capsys: pytest.CaptureFixture[str]) -> None:
    journal(journald=True).info("odd", a=float("nan"), b=float("-inf"))
    assert json.loads(capsys.readouterr().err[3:])["b"] == "-inf"


def test_what_is_below_the_level_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    log = journal(level="error", journald=True)
    log.info("no")
    log.warning("no")
    log.error("yes")
    assert capsys.readouterr().err == '<3>{"level": "error", "event": "yes"}\n'


def test_the_journal_is_told_by_its_inode(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        status = os.fstat(stream.fileno())
        name = f"{status.st_dev}:{status.st_ino}"
        assert is_the_journal(stream.fileno(), {"JOURNAL_STREAM": name})
        assert not is_the_journal(stream.fileno(), {"JOURNAL_STREAM": "8:1"})
        assert not is_the_journal(stream.fileno(), {})
    assert not is_the_journal(12345, {"JOURNAL_STREAM": name})


@pytest.mark.parametrize("redirected", [True, False])
def test_stderr_sent_elsewhere_is_not_taken_for_the_journal(
    tmp_path: Path, *, redirected: bool
) -> None:
    script = "from skymem.daemon.journal import Journal; Journal(lambda: 0.0).info('up')"
    with (tmp_path / "stream").open("w") as stream, (tmp_path / "other").open("w") as other:
        status = os.fstat(stream.fileno())
        subprocess.run(
            [sys.executable, "-c", script],
            stderr=other if redirected else stream,
            env={
                **os.environ,
                "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            check=True,
        )
    written = (tmp_path / ("other" if redirected else "stream")).read_text()
    expected = r"timestamp=1970\S+ level=info event=up\n" if redirected else r"<6>{\"level\".*}\n"
    assert re.fullmatch(expected, written)


def test_each_line_is_one_write(tmp_path: Path) -> None:
    script = (
        "from skymem.daemon.journal import Journal\n"
        "log = Journal(lambda: 0.0)\n"
        "log.trace('bug', 'x' * 9000)\n"
        "log.info('up')\n"
    )
    trace = tmp_path / "trace"
    with (tmp_path / "stream").open("w") as stream:
        subprocess.run(
            ["strace", "-f", "-e", "trace=write", "-o", trace, sys.executable, "-uc", script],
            stderr=stream,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
        )
    assert len(re.findall(r"write\(2, ", trace.read_text())) == 2


def test_a_stderr_nobody_reads_stops_nothing() -> None:
    script = (
        "import os, sys\n"
        "from skymem.daemon.journal import Journal\n"
        "log = Journal(lambda: 0.0)\n"
        "os.close(2)\n"
        "log.info('lost')\n"
        "log.trace('lost', 'x')\n"
        "print('alive')\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-uc", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "alive\n"
