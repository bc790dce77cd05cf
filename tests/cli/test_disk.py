"""A disk that refuses: the command ends with 74, and nothing that was acknowledged is lost."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def _limit_file_size(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_line_that_does_not_fit_is_refused_whole(shell: Shell) -> None:
    shell("remember", "x" * 3000)
    before = shell.short_term.read_bytes()
    told = shell.process("remember", "y" * 3000, preexec_fn=lambda: _limit_file_size(5000))

    assert (told.code, told.out) == (74, "")
    assert "short_term.jsonl" in told.err
    assert shell.short_term.read_bytes() == before


@pytest.fixture
def small_disk(shell: Shell, tmp_path: Path) -> Iterator[Shell]:
    """A home on a file system of 480 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=480k", "skymem-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system, where the machine allows it")
    shell.home = place / "home"
    shell.bare("init", str(shell.home))
    yield shell
    subprocess.run(["umount", str(place)], check=True)


def _fill(shell: Shell) -> Path:
    filler = shell.home.parent / "filler"
    with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"\0" * 4096)
    return filler


def test_a_full_disk_loses_nothing_and_the_next_run_goes_on(small_disk: Shell) -> None:
    shell = small_disk
    names = {
        shell("remember", f"{number} " + "x" * 2000, "--importance", "0.9").out.strip()
        for number in range(10)
    }
    filler = _fill(shell)
    for words in (["remember", "y" * 9000], ["promote"]):
        assert shell(*words).code == 74, words
    assert shell("status").code in (0, 74)

    filler.unlink()
    told = shell("promote", "--json")
    assert told.code == 0
    assert told.json["promoted"] == len(names)
    assert {shell("show", name, "--json").json["tier"] for name in names} == {"long"}
    assert shell("doctor").out.count("problem") == shell("doctor").out.count("disk:")
