"""Signals at random moments of a real `skymem run`, from its start to its end (hazards C11, F8)."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.daemon.conftest import ROOT, read

LANES = 4
STOPS = 100
WITHIN_SECONDS = 0.8

SCHEDULE = """
every:
  - {name: memory_rotate_check, seconds: 1, timeout: 20s}
  - {name: heartbeat, seconds: 1}
"""


def skymem(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "skymem", "--home", str(home), *words]


def listens(process: subprocess.Popen[str]) -> bool:
    """Whether the process keeps SIGTERM back, or handles it, by the kernel's word.

    Until Python has come to our first line nobody can.
    """
    try:
        text = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    masks = [int(line.split()[1], 16) for line in text.splitlines() if line[:4] in ("SigB", "SigC")]
    return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)


def succeeded(home: Path) -> bool:
    record = read(home / "state/runs.json")["entries"]["memory_rotate_check"]
    return record.get("last_success") is not None


def stop_again_and_again(home: Path, seed: int) -> list[str]:
    """Start and stop a daemon many times; returns what was wrong with an end."""
    chance, wrong = random.Random(seed), []
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for number in range(STOPS // LANES):
        wait = chance.uniform(0.0, WITHIN_SECONDS)
        signals = [signal.SIGTERM] * chance.choice((1, 1, 1, 2))
        daemon = subprocess.Popen(
            skymem(home, "run"), stderr=subprocess.PIPE, text=True, env=environment
        )
        started = time.monotonic()
        while not listens(daemon):
            time.sleep(0.002)
        time.sleep(max(0.0, wait - (time.monotonic() - started)))
        if number == STOPS // LANES - 1:  # however busy the machine is, one has had a run in hand
            signals = [signal.SIGTERM]
            while not succeeded(home) and time.monotonic() < started + 30:
                time.sleep(0.02)
        for each in signals:
            daemon.send_signal(each)
            time.sleep(chance.uniform(0.0, 0.1))
        try:
            log = daemon.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            daemon.kill()
            log = f"it hung\n{daemon.communicate()[1]}"
        if daemon.returncode or "Traceback" in log or "complain" in log:
            wrong.append(f"{number}: after {wait:.3f} s: {daemon.returncode}\n{log[-2000:]}")
    return wrong


@pytest.fixture
def homes(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"home{number}" for number in range(LANES)]
    for home in made:
        subprocess.run(skymem(home, "init", str(home)), check=True, stdout=subprocess.DEVNULL)
        (home / "schedule.yaml").write_text(SCHEDULE)
        an_hour_ago = {"first_seen": time.time() - 3600, "last_start": time.time() - 3600}
        runs = {"entries": {"memory_rotate_check": an_hour_ago}}
        (home / "state").mkdir(exist_ok=True)
        (home / "state/runs.json").write_text(json.dumps(runs))
        lines = (
            json.dumps({"id": f"m{number}", "content": f"fact {number}", "importance": number / 20})
            for number in range(20)
        )
        (home / "memory/sky").mkdir(parents=True, exist_ok=True)
        (home / "memory/sky/short_term.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return made


def test_sigterm_at_random_moments_leaves_no_traceback_and_no_loss(homes: list[Path]) -> None:
    with ThreadPoolExecutor(LANES) as lanes:
        wrong = list(lanes.map(stop_again_and_again, homes, range(LANES)))

    assert wrong == [[]] * LANES
    for home in homes:
        beat = read(home / "status/sky_heartbeat.json")
        assert beat.get("state", "stopped") == "stopped"  # none where each was stopped before it
        kept = [
            json.loads(line)["id"]
            for path in (home / "memory/sky").glob("*.jsonl")
            for line in path.read_text().splitlines()
        ]
        assert sorted(kept) == sorted(f"m{number}" for number in range(20))
    records = [read(home / "state/runs.json")["entries"]["memory_rotate_check"] for home in homes]
    assert [record.get("consecutive_failures", 0) for record in records] == [0] * LANES
    assert all(record.get("last_success") for record in records)
    assert all((home / "memory/sky/long_term.jsonl").exists() for home in homes)
