"""A home with everything going, its numbers, and Prometheus' own tool."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.app import init_home
from skymem.daemon.runs import read_runs
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, line, wait_until

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs/monitoring"

RULES = "prune: {older_than: 1d, importance_below: 0.8}\n"
SCHEDULE = """\
every:
  - {name: heartbeat, seconds: 1}
  - {name: often, job: promote, seconds: 1}
  - {name: resting, job: index, hours: 1}
"""
SECRET = "my key is AKIA" + "Q3EGRIZ7TQ2LMNB4"
WORDS = ("zanzibar", "quokka", "numbat")
"""Of a memory, its tag and a question."""


class Promtool:
    """`promtool`, of Debian's package prometheus; in CI it must be there."""

    def __call__(self, *words: str | Path, stdin: str = "") -> str:
        """What it says to what it takes; fails where it finds fault."""
        if not shutil.which("promtool"):
            if os.environ.get("CI"):
                pytest.fail("promtool is missing")
            pytest.skip("needs promtool")
        done = subprocess.run(
            ["promtool", *words], input=stdin, capture_output=True, text=True, check=False
        )
        told = done.stdout + done.stderr
        assert done.returncode == 0, told
        return told


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    return Promtool()


def live(home: Outside) -> None:
    """Give it all that there is a number of, but for what a daemon does."""
    home.echo(*(line(f"{WORDS[0]} {n}", 0.75 if n < 16 else 0.9) for n in range(100)))
    assert home("remember", SECRET, "--tag", WORDS[1], "--importance", "0.9").code == 0
    home.echo(b"no json\n")
    home.done("promote")
    home.done("prune")
    home("recall", f"{WORDS[0]} 50 {WORDS[2]}")
    os.environ["SKYMEM_BOUND_AGENT"] = "sky"
    try:
        assert home("--agent", "hobbs", "recall", "x").code == 30
    finally:
        del os.environ["SKYMEM_BOUND_AGENT"]
    home.echo(line("what the daemon promotes"))


def acted(paths: HomePaths) -> bool:
    """Whether a run of the daemon's acted on a memory."""
    return any(one.last_effective is not None for one in read_runs(paths).values())


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What `skymem metrics` tells of a home with everything going."""
    place = tmp_path_factory.mktemp("going")
    init_home(place)
    with (place / "retention_rules.yaml").open("a") as stream:
        stream.write(RULES)
    (place / "schedule.yaml").write_text(SCHEDULE)
    home = Outside(HomePaths(place))
    live(home)
    daemon = home.start("run")
    try:
        home("pause", "resting")
        wait_until(lambda: acted(home.paths), "a run that did something", seconds=300)
        yield home("metrics").out
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)
        home.close()
