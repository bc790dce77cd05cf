"""A quarter of a minute of what `python -m benchmarks.soak` does for ten, so that it stays true."""

import re
import subprocess
import sys

from tests.acceptance.homes import ROOT

SECONDS = 200


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
        for count in re.findall(r"([\d,]+) (?:written|promoted|archived)", summary)
    )
    assert written > promoted > 0
    assert archived > 0
