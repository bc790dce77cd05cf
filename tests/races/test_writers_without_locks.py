"""Promise 1 under real writers: what was written is there exactly once, whoever wrote it and how.

Six shells append with `echo >>` and know of no lock, one process keeps the file open across every
swap, two append by the API, and promote and rotate never rest. Afterwards the sum comes out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.stores.home import HomePaths
from tests.conftest import Desk

ROOT = Path(__file__).parents[2]
SECONDS = 6.0
SHELLS = 6
USER = 12345  # an ordinary user; needs no name
MEEK = ("nice", "-n", "5")  # six of them on two cores: the jobs must have a turn
NO_LEASES = ("setpriv", "--bounding-set", "-lease", "--inh-caps", "-lease")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: only root may")

# Nobody writes faster than the jobs can follow on a busy machine, where the lines of one run, and
# so its length, would grow from run to run: swaps are what makes it a race, not lines.
# One line in three is worth promoting. The shell says at its end how many it wrote.
ECHO = """
n=0
while [ ! -e "$2" ]; do
  worth=0.2; [ $((n % 3)) = 0 ] && worth=0.9
  echo "{\\"ts\\": 17, \\"content\\": \\"$3-$n\\", \\"importance\\": $worth}" >> "$1"
  n=$((n + 1))
  [ $((n % 5)) = 0 ] && sleep 0.1
done
echo "{\\"written\\": $n}"
"""


@dataclass
class Race:
    """The writers, the jobs, and what each said it did."""

    home: Path
    stop: Path
    uid: int = 0
    prefix: tuple[str, ...] = ()
    written: dict[str, int] = field(default_factory=dict)
    jobs: dict[str, Any] = field(default_factory=dict)

    @property
    def desk(self) -> Desk:
        return Desk(HomePaths(self.home), clock=time.time())

    def run(self) -> None:
        """Let everyone loose for `SECONDS`, then wait until all are gone."""
        writers = {f"shell{number}": self._shell(f"shell{number}") for number in range(SHELLS)}
        writers |= {name: self._worker("api", name) for name in ("api0", "api1")}
        writers["hold"] = self._worker("hold", "hold")
        try:
            self.jobs = _said(self._worker("jobs", str(SECONDS), self.prefix))
        finally:  # or they would write on for good
            self.stop.touch()
        self.written = {name: _said(process)["written"] for name, process in writers.items()}

    def one_more_run(self) -> dict[str, Any]:
        """Run the jobs once, as the same user."""
        return _said(self._worker("jobs", "0", self.prefix))

    def _shell(self, name: str) -> subprocess.Popen[str]:
        short_term = self.desk.short_term
        return _start(*MEEK, "bash", "-c", ECHO, "bash", str(short_term), str(self.stop), name)

    def _worker(self, verb: str, name: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        script = str(ROOT / "tests/races/worker.py")
        place = [str(self.home), str(self.stop), name, str(self.uid)]
        return _start(*prefix, sys.executable, script, verb, *place)


def _start(*command: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def _said(process: subprocess.Popen[str]) -> dict[str, Any]:
    try:
        stdout, stderr = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, stderr
    return dict(json.loads(stdout))


@pytest.fixture
def race() -> Iterator[Race]:
    """A home where an ordinary user can get at it; pytest's own directory is for one user only."""
    base = Path(tempfile.mkdtemp(prefix="skymem-race-"))
    base.chmod(0o755)
    home = base / "home"
    app.init_home(home)
    (home / "retention_rules.yaml").write_text(
        "promote_threshold: 0.70\nshort_term_max_lines: 50\n"
    )
    race = Race(home, base / "stop", os.getuid())
    race.desk.short_term.touch(mode=0o600)
    yield race
    shutil.rmtree(base)


def places(race: Race) -> Counter[str]:
    """Where each text that was written is, counting every line of every file it stands on."""
    desk = race.desk
    found = Counter(desk.everything())
    found.update(memory.content for memory in desk.rests())
    found.update(re.findall(r'"content": "([^"]*)"', b"".join(desk.quarantined()).decode()))
    return found


def check_sum(race: Race) -> None:
    written = {f"{name}-{n}" for name, count in race.written.items() for n in range(count)}
    found = places(race)
    assert {text: count for text, count in found.items() if count != 1} == {}
    assert found.keys() == written
    assert len(written) > 1000
    assert race.jobs["errors"] == []
    assert not race.desk.work().ledger().verify()[1]


def check_that_it_was_a_race(race: Race) -> None:
    """A test in which nothing collided proves nothing."""
    assert race.jobs["swaps"] > 10
    assert race.jobs["late"] > 0
    assert all(count > 0 for count in race.written.values())


def test_every_line_is_in_one_place_though_writers_take_no_lock(race: Race) -> None:
    race.run()
    race.one_more_run()
    check_that_it_was_a_race(race)
    assert race.jobs["held"] > 0
    assert race.one_more_run()["held"] == 0
    check_sum(race)
    assert race.desk.shelf().drains.names() == []
    assert race.desk.tiers.quarantine.exists() is False


@as_root
def test_every_line_is_in_one_place_where_no_lease_can_be_had(race: Race) -> None:
    os.chown(race.desk.short_term, USER, USER)
    race.prefix = NO_LEASES
    race.run()
    race.one_more_run()
    check_that_it_was_a_race(race)
    check_sum(race)
    # Nobody can tell whether the old files are still written to: they stay a day.
    assert len(race.desk.shelf().drains.names()) >= race.jobs["swaps"]
    assert race.desk.short_term.stat().st_uid == USER


@as_root
def test_every_line_is_in_one_place_when_an_ordinary_user_keeps_the_home(race: Race) -> None:
    for directory, _, names in os.walk(race.home):
        for name in ("", *names):
            os.chown(Path(directory, name), USER, USER)
    race.uid = USER
    race.run()
    race.one_more_run()
    check_that_it_was_a_race(race)
    assert race.jobs["held"] > 0
    race.one_more_run()
    check_sum(race)
    assert race.desk.shelf().drains.names() == []
