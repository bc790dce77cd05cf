"""The soak's daemon: started again whenever it ends, killed, told to end, reload, and other times.

Memory and signs of life are watched all the time. What must not be is put into `wrong`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.daemon import rss_bytes
from skymem.daemon.stop import GRACE_SECONDS, HARD_END_SECONDS
from tests.acceptance.homes import ROOT, Outside

UP_SECONDS = 20.0
STOP_SECONDS = GRACE_SECONDS + HARD_END_SECONDS + 5.0
"""After the grace of the runs in hand it ends them, and then itself, whatever hangs."""

RELOAD_SECONDS = 20.0
SILENCE_SECONDS_MAX = 20.0
"""It beats every second; a busy machine may keep it from that for a while."""

WARM_UP_SECONDS = 6.0
HOUR, DAY = 3600.0, 86_400.0

SCHEDULE = """every:
  - name: memory_rotate_check
    seconds: 1
  - name: index
    seconds: {index}
    timeout: 60s
  - name: heartbeat
    seconds: 1
  - name: compress
    seconds: 7
  - name: merge
    seconds: 11
  - name: prune
    seconds: 5
  - name: share
    seconds: 6
  - name: compact
    seconds: 13
  - name: train
    seconds: 29
    timeout: 30s
"""
BAD = SCHEDULE.replace("seconds: 1", "seconds: often", 1)


@dataclass
class Keeper:
    """One daemon after the other."""

    outside: Outside
    scratch: Path
    chance: random.Random
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """When, which process, and the bytes of memory it had."""

    meanwhile: Callable[[], None] = lambda: None
    """What is to go on while the daemon ends: the runs in hand may take it a minute."""

    bad: bool = False
    """Whether the schedule can't be read now."""

    longest_stop: float = 0.0
    longest_silence: float = 0.0
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _beat: tuple[int, int] = (0, 0)
    _beat_at: float = 0.0
    _ahead: dict[str, float] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """All that any of them said."""
        return self.scratch / "daemon.log"

    def write_schedule(self, text: str) -> None:
        """Put another schedule in the place of the one there is."""
        fresh = self.scratch / "schedule.new"
        fresh.write_text(text)
        self.bad = text == BAD
        fresh.replace(self.outside.paths.schedule)

    def start(self) -> None:
        """Start a daemon, with a schedule that can be read."""
        self.write_schedule(SCHEDULE.format(index=2))
        command = [sys.executable, "-m", "benchmarks.soak_daemon", str(self.scratch / "clocks")]
        command += ["--home", str(self.outside.paths.root), "run"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        self._started = self._beat_at = time.monotonic()
        self.counts["starts"] += 1

    @property
    def pid(self) -> int:
        """The one that is up."""
        assert self._process is not None
        return self._process.pid

    def look(self) -> None:
        """See that it is up and beats, and how large it is."""
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            said = self.log.read_text(errors="replace").splitlines()[-1:]
            self.wrong.append(f"the daemon ended by itself, with {code}: {''.join(said)[:300]}")
            self.start()
            return
        now = time.monotonic()
        beat = self.heartbeat()
        mine = (beat["pid"], beat["seq"]) if beat.get("pid") == self.pid else self._beat
        if mine != self._beat:
            self._beat, self._beat_at = mine, now
        silence = now - self._beat_at
        if silence > SILENCE_SECONDS_MAX > self.longest_silence:
            self.wrong.append(f"the daemon gave no sign of life for {silence:.0f} s")
        self.longest_silence = max(self.longest_silence, silence)
        if now - self._started > WARM_UP_SECONDS:
            self.samples.append((now, self.pid, rss_bytes(self.pid)))

    def heartbeat(self) -> dict[str, Any]:
        """What it told of itself last."""
        path = self.outside.paths.status / "sky_heartbeat.json"
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        return dict(found)

    def is_up(self) -> bool:
        """Whether the present one has shown a sign of life."""
        deadline = time.monotonic() + UP_SECONDS
        while self.heartbeat().get("pid") != self.pid:
            if time.monotonic() > deadline:
                self.wrong.append(f"a daemon was not up after {UP_SECONDS:.0f} s")
                return False
            time.sleep(0.02)
        return True

    def kill(self) -> bool:
        """SIGKILL, at whatever moment, and another one."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        time.sleep(self.chance.uniform(0, 0.5))
        self.start()
        return True

    def kill_child(self) -> bool:
        """SIGKILL to a run of the daemon's, once there is one."""
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            if found := children(self.pid):
                time.sleep(self.chance.uniform(0, 0.4))
                return killed(self.chance.choice(found), self.pid)
            time.sleep(0.01)
        return False

    def kill_engine(self) -> bool:
        """SIGKILL to the engine, if there is one."""
        pid = self.outside.engine_pid()
        return bool(pid) and killed(pid)

    def end(self) -> bool:
        """SIGTERM: it has to end in good time, with 0."""
        if not self.is_up():
            return False
        assert self._process is not None
        time.sleep(self.chance.uniform(0, 0.5))
        begun = time.monotonic()
        self._process.terminate()
        while (code := self._process.poll()) is None and time.monotonic() - begun < STOP_SECONDS:
            self.meanwhile()
            time.sleep(0.05)
        if code is None:
            self.wrong.append(f"the daemon did not end in {STOP_SECONDS:.0f} s")
            self._process.kill()
            self._process.wait()
            return False
        self.longest_stop = max(self.longest_stop, time.monotonic() - begun)
        if code:
            self.wrong.append(f"the daemon ended with {code} at SIGTERM")
        return True

    def close(self) -> None:
        """End the one that is still there, and its runs."""
        assert self._process is not None
        if self._process.poll() is None:
            for child in children(self.pid):
                killed(child, self.pid)
            self._process.kill()
            self._process.wait()

    def end_and_start(self) -> bool:
        """One that is told to end, and the next."""
        done = self.end()
        self.start()
        return done

    def set_clock(self) -> bool:
        """Another time, or a sleep: forward and back, an hour to a month."""
        if self.chance.random() < 0.3:
            slept = self.chance.choice((HOUR, 8 * HOUR))
            boot, wall = self._ahead.get("boot", 0.0) + slept, self._ahead.get("wall", 0.0) + slept
            self.set_ahead(wall=wall, boot=boot)
        else:
            wall = self.chance.choice((0.0, HOUR, DAY, 30 * DAY, -HOUR, -DAY))
            self.set_ahead(**{**self._ahead, "wall": wall})
        return True

    def set_ahead(self, **ahead: float) -> None:
        """How far the daemon's clocks are ahead of the real ones from now on."""
        self._ahead = ahead
        fresh = self.scratch / "clocks.new"
        fresh.write_text(json.dumps(ahead))
        fresh.replace(self.scratch / "clocks")

    def reload(self) -> bool:
        """SIGHUP with a good schedule or a bad one: it has to tell which it was."""
        if not self.is_up():
            return False
        bad = not self.bad and self.chance.random() < 0.5
        self.write_schedule(BAD if bad else SCHEDULE.format(index=self.chance.choice((2, 3))))
        os.kill(self.pid, signal.SIGHUP)
        deadline = time.monotonic() + RELOAD_SECONDS
        while bool(self.heartbeat().get("configuration", {}).get("problem")) != bad:
            if time.monotonic() > deadline:
                word = "bad" if bad else "good"
                self.wrong.append(f"a {word} schedule was not told of in {RELOAD_SECONDS:.0f} s")
                return False
            time.sleep(0.05)
        return True

    def rss_growth(self) -> tuple[int, int]:
        """Bytes more in the last quarter than in the first: of all samples, of the longest life.

        0 for a life too short to tell.
        """
        lives = Counter(pid for _, pid, _ in self.samples)
        longest = max(lives, key=lambda pid: lives[pid], default=0)
        return (
            _growth([size for _, _, size in self.samples]),
            _growth([size for _, pid, size in self.samples if pid == longest]),
        )


def children(pid: int) -> list[int]:
    """The processes that process `pid` started and that are there."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:  # the thread has ended
            continue
    return found


def killed(pid: int, parent: int | None = None) -> bool:
    """SIGKILL a process, if it is still there, and still the child of `parent`."""
    if parent is not None and pid not in children(parent):
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _growth(sizes: list[int]) -> int:
    quarter = len(sizes) // 4
    if quarter < 4:
        return 0
    first, last = sorted(sizes[:quarter]), sorted(sizes[-quarter:])
    return last[quarter // 2] - first[quarter // 2]
