"""A backup of a home at work is of one moment, proven, and becomes the home it was (X12)."""

import errno
import io
import os
import stat
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest

from skymem.app import Home, init_home, open_home
from skymem.errors import DiskError, NotAllowedError, SkymemError, UsageError
from skymem.exchange.backup import backup, restore_backup
from skymem.exchange.container import ArchiveDamagedError, Piece, packed
from skymem.jobs.fsck import fsck
from skymem.stores.files import Files
from tests.conftest import START, line

WRITER = """
import os, sys, time
path, name, stop = sys.argv[1:]
number = 0
while not os.path.exists(stop):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    text = '{"ts": %d, "content": "%s %d", "importance": %s}' % (
        1700000000 + number, name, number, 0.9 if number % 3 else 0.2)
    os.write(fd, text.encode() + b"\\n")
    os.close(fd)
    number += 1
    time.sleep(0.002)
    if number % 20 == 0:
        print(number, flush=True)
"""
"""Appends as `echo >>` does, and tells how many were acknowledged."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    init_home(tmp_path / "home")
    home = open_home(str(tmp_path / "home"))
    home.remember("sky", [line("kept for good", 0.9), line("of today", 0.1)])
    home.remember("hobbs", [line("another's", 0.9)])
    home.run_job("memory_rotate_check")
    return home


def texts(home: Home, agent: str) -> Counter[str]:
    """Every text of an agent's files, however often."""
    directory = home.paths.root / "memory" / agent
    found: Counter[str] = Counter()
    for path in [*directory.glob("*.jsonl"), *directory.glob("trash/*.jsonl")]:
        for raw in path.read_bytes().split(b"\n"):
            if b'"content"' in raw:
                found[raw.split(b'"content": "')[1].split(b'"')[0].decode()] += 1
    for path, start in home.shelf(agent).drains.tails():
        for raw in path.read_bytes()[start:].split(b"\n")[:-1]:
            found[raw.split(b'"content": "')[1].split(b'"')[0].decode()] += 1
    return found


def files_below(root: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()
    }


def proven(home: Home) -> None:
    """The record is chained, and each memory is in exactly one state."""
    work = home.workplace()
    findings = fsck(work, home.agents())
    states = [each for each in findings.memories.values() if each["lost"] or each["doubled"]]
    assert states == []
    assert work.ledger().verify()[1] == []


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def test_it_becomes_the_home_it_was_with_its_key(home: Home, tmp_path: Path) -> None:
    told = backup(home, tmp_path / "b.tar", START)
    restore_backup(tmp_path / "b.tar", tmp_path / "again")

    before, after = files_below(home.paths.root), files_below(tmp_path / "again")
    assert {name: before[name] for name in after} == after
    assert {"audit/key", "audit/ledger.jsonl", "memory/hobbs/long_term.jsonl"} <= set(after)
    assert told["agents"] == ["hobbs", "sky"]
    assert not any(name.startswith(("run/", "rag/", "state/words")) for name in after)
    assert stat.S_IMODE((tmp_path / "b.tar").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "again" / "memory").stat().st_mode) == 0o700
    proven(open_home(str(tmp_path / "again")))


def test_under_full_load_every_line_before_it_is_in_it_once(home: Home, tmp_path: Path) -> None:
    short, stop = home.paths.root / "memory/sky/short_term.jsonl", tmp_path / "stop"
    command = [sys.executable, "-c", WRITER, str(short)]
    writers = {
        name: subprocess.Popen([*command, name, str(stop)], stdout=subprocess.PIPE)
        for name in ("one", "two", "three")
    }
    acknowledged = dict.fromkeys(writers, 0)
    try:
        for name, writer in writers.items():
            assert writer.stdout is not None
            acknowledged[name] = int(writer.stdout.readline())
        promote = [sys.executable, "-m", "skymem", "--home", str(home.paths.root), "promote"]
        promoting = subprocess.Popen([*promote, "--json"], stdout=subprocess.DEVNULL)
        backup(home, tmp_path / "b.tar", START)
    finally:
        stop.touch()
        for writer in writers.values():
            writer.communicate(timeout=60)
    assert promoting.wait(60) == 0

    restore_backup(tmp_path / "b.tar", tmp_path / "again")
    again = open_home(str(tmp_path / "again"))
    again.run_job("memory_rotate_check")
    proven(again)
    found = texts(again, "sky")
    for name, count in acknowledged.items():
        assert [n for n in range(count) if found[f"{name} {n}"] != 1] == []


def test_a_job_at_work_is_waited_for_while_the_others_go_on(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.exchange.snapshot.WAIT_SECONDS", 0.1)
    with home.workplace().job_lock("sky", "long job"), pytest.raises(SkymemError, match="long job"):
        backup(home, tmp_path / "b.tar", START)

    assert list(tmp_path.glob("*b.tar*")) == []
    backup(home, tmp_path / "b.tar", START)


def test_nothing_is_written_over_nor_into_the_home(home: Home, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    for target in (tmp_path / "there", home.paths.memory / "x", tmp_path / "no" / "such"):
        with pytest.raises(UsageError):
            backup(home, target, START)

    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(NotAllowedError):
        backup(home.bind("sky"), tmp_path / "b.tar", START)


def test_of_a_full_disk_nothing_half_is_left(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 3000

    def write(_files: Files, fd: int, data: bytes | memoryview) -> int:
        nonlocal room
        room -= len(data)
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(fd, data)

    monkeypatch.setattr(Files, "write", write)
    with pytest.raises(DiskError):
        backup(home, tmp_path / "b.tar", START)

    assert room < 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]
    monkeypatch.undo()
    backup(home, tmp_path / "b.tar", START)
    room = 3000
    monkeypatch.setattr(Files, "write", write)
    with pytest.raises(DiskError):
        restore_backup(tmp_path / "b.tar", tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "home"]


def test_what_is_damaged_is_refused_and_named(home: Home, tmp_path: Path) -> None:
    backup(home, tmp_path / "b.tar", START)
    data = (tmp_path / "b.tar").read_bytes()
    at = data.index(b"kept for good")
    broken = {
        "long_term.jsonl": data[:at] + b"K" + data[at + 1 :],
        "middle": data[: at + 5],
        "end": data[:-700],
        "behind": data + b"x",
        "header": b"\1" + data[1:],
        "its end": b"",
    }
    for content in broken.values():
        (tmp_path / "broken.tar").write_bytes(content)
        with pytest.raises(ArchiveDamagedError, match="not whole"):
            restore_backup(tmp_path / "broken.tar", tmp_path / "again")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "broken.tar", "home"]


def test_a_home_is_restored_into_an_empty_place_only(home: Home, tmp_path: Path) -> None:
    backup(home, tmp_path / "b.tar", START)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for place in (home.paths.root, tmp_path / "link", tmp_path / "b.tar"):
        with pytest.raises(UsageError, match="not empty"):
            restore_backup(tmp_path / "b.tar", place)

    (tmp_path / "empty").mkdir()
    (tmp_path / ".empty.restoring").mkdir()
    (tmp_path / ".empty.restoring" / "half").write_text("of one that was killed")
    restore_backup(tmp_path / "b.tar", tmp_path / "empty")
    assert not (tmp_path / "empty" / "half").exists()
    assert not (tmp_path / ".empty.restoring").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside", tarfile.REGTYPE),
        ("/etc/outside", tarfile.REGTYPE),
        ("memory/../../outside", tarfile.REGTYPE),
        ("memory/sky/\n", tarfile.REGTYPE),
        ("elsewhere/x", tarfile.REGTYPE),
        ("memory/link", tarfile.SYMTYPE),
        ("memory/hard", tarfile.LNKTYPE),
        ("memory/null", tarfile.CHRTYPE),
        ("memory/pipe", tarfile.FIFOTYPE),
        ("memory/sparse", tarfile.GNUTYPE_SPARSE),
        ("memory/long", tarfile.GNUTYPE_LONGNAME),
        ("memory/pax", tarfile.XHDTYPE),
        ("memory/directory", tarfile.DIRTYPE),
    ],
)
def test_what_no_backup_of_ours_holds_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    (tmp_path / "b.tar").write_bytes(tar_of((info, b"")))
    with pytest.raises(ArchiveDamagedError):
        restore_backup(tmp_path / "b.tar", tmp_path / "again")

    assert [path.name for path in tmp_path.iterdir()] == ["b.tar"]


def test_a_name_that_is_there_twice_or_unlisted_is_refused(tmp_path: Path) -> None:
    pieces = [Piece("schedule.yaml", 1, 0o600, lambda: [b"x"])] * 2
    about = {"kind": "skymem backup", "version": 1}
    (tmp_path / "b.tar").write_bytes(b"".join(packed(pieces, about, START)))
    with pytest.raises(ArchiveDamagedError, match="twice"):
        restore_backup(tmp_path / "b.tar", tmp_path / "again")

    (tmp_path / "b.tar").write_bytes(b"".join(packed(pieces[:1], {"kind": "other"}, START)))
    with pytest.raises(ArchiveDamagedError, match=r"not of a skymem backup"):
        restore_backup(tmp_path / "b.tar", tmp_path / "again")


def test_a_link_in_the_home_is_left_out_and_told(home: Home, tmp_path: Path) -> None:
    (home.paths.memory / "sky" / "linked").symlink_to("/etc/passwd")
    os.mkfifo(home.paths.memory / "sky" / "pipe")
    started = time.monotonic()
    told = backup(home, tmp_path / "b.tar", START)

    assert told["passed_over"] == ["memory/sky/linked", "memory/sky/pipe"]
    assert time.monotonic() - started < 60  # nobody waited for the pipe's other end
