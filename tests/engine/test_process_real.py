"""The real engine, with the real model and Chroma, killed and started as the stand-in is."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skymem.engine.client import Engine
from skymem.engine.items import Item
from skymem.errors import EngineUnavailableError
from skymem.stores.home import RULES_FILE, HomePaths
from tests.engine.processes import REAL, EngineHome, wait_until

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ("reports", "the garden", "a flight to Lima", "bread", "the dentist", "unit tests")
ASK = """
import sys
from pathlib import Path
from tests.engine.processes import REAL, EngineHome
from skymem.stores.home import HomePaths
home = EngineHome(HomePaths(Path(sys.argv[1])), command=REAL)
print(home.client().query("sky", "hello", 1)["indexed"])
"""


@pytest.fixture
def real(tmp_path: Path) -> Iterator[EngineHome]:
    """A home with the real engine."""
    made = EngineHome(HomePaths(tmp_path / "home"), command=REAL)
    made.paths.root.mkdir()
    shutil.copy(ROOT / RULES_FILE, made.paths.rules)
    yield made
    made.end()


def _item(who: int, number: int) -> Item:
    text = f"Note {number} of {who}: the user asks about {SUBJECTS[number % len(SUBJECTS)]}."
    return Item(f"{who}-{number}", f"d{number}", text)


def _put_and_query(
    client: Engine, who: int, over: threading.Event, told: Counter[str]
) -> list[Item]:
    acknowledged: list[Item] = []
    number = 0
    while not over.is_set():
        items = [_item(who, number + each) for each in range(8)]
        try:
            done = client.put("sky", "memory", items)["done"]
            assert done == [each.id for each in items]
            acknowledged += items
            client.query("sky", items[0].text, 3)
            told["answered"] += 2
        except EngineUnavailableError as error:
            told[str(error)] += 1
        number += 8
    return acknowledged


def _wait_for_answers(told: Counter[str], enough: int) -> None:
    wait_until(lambda: told["answered"] >= enough, "calls go on", 60)


def test_what_a_killed_engine_acknowledged_the_next_one_has(real: EngineHome) -> None:
    told: Counter[str] = Counter()
    real.client().overview()
    over = threading.Event()
    killed: list[int] = []
    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(_put_and_query, real.client(), who, over, told) for who in range(3)]
        try:
            for pause in (0.01, 0.07, 0.0, 0.15):
                _wait_for_answers(told, told["answered"] + 6)
                time.sleep(pause)
                killed.append(real.kill())
            wait_until(lambda: real.pid() not in {0, killed[-1]}, "the next engine is there", 30)
        finally:
            over.set()
        acknowledged = [item for each in asking for item in each.result()]

    assert len(set(killed)) == 4
    assert all(each == "answered" or "not available" in each for each in told)
    client = real.client()
    pairs = [(each.id, each.digest) for each in acknowledged]
    assert client.missing("sky", "memory", pairs)["missing"] == []
    for item in acknowledged[:: max(1, len(acknowledged) // 10)]:
        hits = client.query("sky", item.text, 1)["hits"]
        assert hits[0][1] == pytest.approx(1.0, abs=0.01)


def test_ten_processes_that_ask_at_once_make_one_real_engine(real: EngineHome) -> None:
    askers = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(real.paths.root)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(10)
    ]
    pid = 0
    while any(each.poll() is None for each in askers):
        now = real.pid()
        assert not (pid and now and now != pid)
        pid = now or pid
        time.sleep(0.01)

    assert [each.communicate()[0].strip() for each in askers] == ["0"] * 10
    assert all(each.returncode == 0 for each in askers)
    assert real.pid() == pid


def test_the_engine_of_a_shared_home_still_answers_its_owner_alone(real: EngineHome) -> None:
    text = real.paths.rules.read_text()
    real.paths.rules.write_text(f"{text}\naccess: group\n")
    real.client().query("sky", "x", 1)
    wait_until(real.paths.engine_status.exists, "the status is written")

    assert stat.S_IMODE(real.paths.engine_socket.lstat().st_mode) == 0o600
    assert stat.S_IMODE(real.paths.engine_status.lstat().st_mode) == 0o660


def test_a_model_that_is_nowhere_is_told_by_name(real: EngineHome) -> None:
    text = real.paths.rules.read_text()
    real.paths.rules.write_text(f"{text}\nengine:\n  model: /nowhere/model\n")
    with pytest.raises(EngineUnavailableError, match="/nowhere/model"):
        real.client().query("sky", "x", 1)


def test_rules_that_cannot_be_read_stop_the_start_with_the_line(real: EngineHome) -> None:
    real.paths.rules.write_text("promote_treshold: 1\n")
    with pytest.raises(EngineUnavailableError, match="promote_treshold"):
        real.client().overview()


def test_the_real_engine_leaves_on_sigterm_and_says_what_it_was(real: EngineHome) -> None:
    client = real.client()
    client.put("sky", "memory", [_item(0, number) for number in range(20)])
    wait_until(lambda: real.status().get("agents"), "the status shows the agent")
    pid = real.kill(signal.SIGTERM)
    real.gone()

    status = real.status()
    assert (status["pid"], status["running"], status["left"]) == (pid, False, "SIGTERM")
    assert status["agents"]["sky"]["memory"] == 20
    assert status["rss_bytes"] > 50_000_000
    assert client.query("sky", _item(0, 7).text, 1)["hits"][0][0] == "0-7"
    assert real.pid() != pid
    assert os.path.exists(real.paths.engine_socket)
