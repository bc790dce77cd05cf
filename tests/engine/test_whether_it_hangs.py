"""A monitor can ask whether an engine hangs, and keeps no idle one from leaving by that."""

import signal
import time

from tests.engine.processes import EngineHome, home, wait_until

__all__ = ["home"]


def test_it_is_told_whether_it_hangs(home: EngineHome) -> None:
    client = home.client()
    assert not client.hangs(deadline_seconds=60), "none runs"
    client.overview()
    assert not client.hangs(deadline_seconds=60)
    home.kill(signal.SIGSTOP)
    try:
        assert client.hangs(deadline_seconds=0.1)
    finally:
        home.kill(signal.SIGCONT)
    assert not client.hangs(deadline_seconds=60)
    assert client.overview()["pid"] == home.pid()


def test_who_asks_that_all_the_time_keeps_it_from_nothing(home: EngineHome) -> None:
    home.say(rules={"idle_seconds": 0.3})
    client = home.client()
    client.overview()
    client.close()

    def left() -> bool:
        client.hangs(deadline_seconds=60)
        time.sleep(0.01)
        return home.pid() == 0

    wait_until(left, "it leaves")
