"""A quarter of a minute of what `python -m benchmarks.soak` does for ten, so that it stays true."""

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.soak_check import balance, places, strays
from benchmarks.soak_writers import AGENTS
from skymem.stores.home import HomePaths
from tests.acceptance.homes import ROOT, Outside, line

SECONDS = 600


def test_nothing_is_lost_or_doubled_though_everyone_is_killed() -> None:
    command = [sys.executable, "-m", "benchmarks.soak", "--minutes", "0.25", "--seed", "1"]
    soak = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT
    )
    assert soak.returncode == 0, soak.stdout + soak.stderr
    summary = soak.stdout.splitlines()[-1]
    assert "; 0 lost, 0 doubled; " in summary
    assert summary.endswith("; 0 wrong")
    written, promoted, archived = (
        int(count.replace(",", ""))
        for count in re.findall(r"([\d,]+) (?:written|promoted|archived),", summary)
    )
    assert written > promoted > 0
    assert archived > 0


def test_what_is_amiss_is_found(tmp_path: Path) -> None:
    outside = Outside(HomePaths(tmp_path))
    for agent in AGENTS:
        outside.paths.agent(agent).directory.mkdir(parents=True)
    outside.echo(line("kept (a-0)"), line("twice (a-1)"), line("late (a-5)"), line("odd (a-9)"))
    outside.echo(b"no memory\n")
    archive = outside.paths.agent("sky").directory / "short_term_archive_20261128T050000Z.jsonl"
    archive.write_bytes(line("twice (a-1)"))
    outside.paths.agent("sky").long_term.write_bytes(line("renamed (a-3)", id="other"))
    stray = archive.with_suffix(".new")
    stray.touch()
    told = {"kept (a-0)": "", "twice (a-1)": "", "gone (a-2)": "", "renamed (a-3)": "own"}
    erased = {"kept (a-0)": True, "really gone (a-8)": True}

    found = balance(places(outside), told, {"(a-5)"}, erased)

    assert (found.lost, found.doubled) == (1, 1)
    assert found.wrong == [
        "lost: gone (a-2)",
        "doubled: twice (a-1)",
        "there though erased: kept (a-0)",
        "written by nobody: odd (a-9)",
        "under another id than its writer was told: renamed (a-3)",
        "unreadable: short_term.jsonl:5: b'no memory'",
    ]
    assert list(strays(outside)) == [f"a stray file: memory/sky/{stray.name}"]
