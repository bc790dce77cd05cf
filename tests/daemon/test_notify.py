"""What the manager hears on a real socket, and that nothing about it can hurt the daemon (F1)."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.daemon.notify import OWED_MAX, Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """A manager's socket, bound at `notify` under `tmp_path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(2)
        yield made


def heard(manager: socket.socket) -> list[str]:
    """Everything that waits in the socket."""
    manager.setblocking(False)
    found = []
    try:
        while True:
            found.append(manager.recv(65536).decode())
    except BlockingIOError:
        return found


def told(tmp_path: Path, **more: str) -> Notifier:
    return Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), **more})


def test_a_life_is_told_in_the_words_of_sd_notify(manager: socket.socket, tmp_path: Path) -> None:
    notifier = told(tmp_path, WATCHDOG_USEC="30000000", WATCHDOG_PID=str(os.getpid()))
    before = time.monotonic_ns() // 1000
    notifier.ready("3 jobs")
    notifier.status("promote runs")
    notifier.watchdog()
    notifier.reloading()
    notifier.ready("4 jobs")
    notifier.stopping()
    words = heard(manager)
    reloading, stamp = words.pop(3).split("\n")
    assert words == [
        "READY=1\nSTATUS=3 jobs",
        "STATUS=promote runs",
        "WATCHDOG=1",
        "READY=1\nSTATUS=4 jobs",
        "STOPPING=1",
    ]
    assert reloading == "RELOADING=1"
    assert stamp.startswith("MONOTONIC_USEC=")
    assert before <= int(stamp.partition("=")[2]) <= time.monotonic_ns() // 1000


def test_a_child_hears_of_none_of_it(manager: socket.socket, tmp_path: Path) -> None:
    names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
    script = (
        "import os, subprocess, sys\n"
        "from skymem.daemon.notify import Notifier\n"
        "notifier = Notifier(os.environ)\n"
        "notifier.ready('up')\n"
        f"child = '''import os; print([n for n in {names!r} if n in os.environ])'''\n"
        "subprocess.run([sys.executable, '-c', child], close_fds=False, check=True)\n"
    )
    given = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **given, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
    assert heard(manager) == ["READY=1\nSTATUS=up"]


def test_without_a_manager_nothing_is_said() -> None:
    environment = {"OTHER": "stays"}
    notifier = Notifier(environment)
    notifier.ready("up")
    notifier.watchdog()
    assert not notifier.listened_to
    assert notifier.watchdog_seconds is None
    assert environment == {"OTHER": "stays"}


def test_an_abstract_socket_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        name = f"skymem-test-{os.getpid()}"
        manager.bind(f"\0{name}")
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert heard(manager) == ["STOPPING=1"]


@pytest.mark.parametrize("deep", [True, False], ids=["a deep directory", "a long name"])
def test_a_path_too_long_for_an_address_is_reached(tmp_path: Path, *, deep: bool) -> None:
    path = tmp_path / ("d" * 120) / "notify" if deep else tmp_path / ("n" * 200)
    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "short"))
        (tmp_path / "short").rename(path)
        before = os.listdir("/proc/self/fd")
        notifier = Notifier({"NOTIFY_SOCKET": str(path)})
        notifier.stopping()
        notifier.status("again")
        assert heard(manager) == ["STOPPING=1", "STATUS=again"]
        assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize(
    "address",
    ["/nowhere/notify", "@", "relative", "vsock:2:1234", "/" + "n" * 5000, "@" + "n" * 200, "a\0b"],
)
def test_a_socket_that_cannot_be_reached_is_nobodys_trouble(address: str) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"})
    notifier.ready("up")
    notifier.reloading()
    notifier.watchdog()
    notifier.stopping()


def test_a_surrogate_of_a_bad_name_is_no_trouble(manager: socket.socket, tmp_path: Path) -> None:
    told(tmp_path).status("home \udcff")
    assert heard(manager) == ["STATUS=home  "]
    Notifier({"NOTIFY_SOCKET": "/nowhere/\udcff"}).status("up")


def test_a_manager_that_does_not_read_makes_nobody_wait(
    manager: socket.socket, tmp_path: Path
) -> None:
    notifier = told(tmp_path, WATCHDOG_USEC="1000000")
    begun = time.monotonic()
    for _ in range(5000):
        notifier.watchdog()
    assert time.monotonic() - begun < 30  # waiting would have no end
    assert len(heard(manager)) < 5000, "the queue was full"


def test_what_must_arrive_comes_late_rather_than_never(
    manager: socket.socket, tmp_path: Path
) -> None:
    notifier = told(tmp_path, WATCHDOG_USEC="1000000")
    while_full = [None] * 5000
    for _ in while_full:
        notifier.watchdog()
    notifier.ready("up")
    notifier.status("lost, as the next one says more")
    assert "READY=1\nSTATUS=up" not in heard(manager)
    notifier.watchdog()
    assert heard(manager) == ["READY=1\nSTATUS=up", "WATCHDOG=1"]


def test_what_is_owed_to_nobody_is_bounded(tmp_path: Path) -> None:
    notifier = told(tmp_path)
    for _ in range(100):
        notifier.reloading()
        notifier.ready("up")
    assert len(notifier._owed) == OWED_MAX
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        notifier.status("here")
        found = heard(manager)
    assert [one.partition("=")[0] for one in found] == ["RELOADING", "READY"] * 2 + ["STATUS"]


def test_a_status_can_forge_no_other_word(manager: socket.socket, tmp_path: Path) -> None:
    told(tmp_path).status("job a\nSTOPPING=1\x1b[2J")
    told(tmp_path).status("x" * 100_000)
    forged, long = heard(manager)
    assert forged == "STATUS=job a STOPPING=1 [2J"
    assert len(long) == len("STATUS=") + 500


@pytest.mark.parametrize(
    ("microseconds", "pid", "seconds"),
    [
        ("20000000", "", 20.0),
        ("20000000", "ours", 20.0),
        ("20000000", "1", None),
        ("0", "ours", None),
        ("-5", "ours", None),
        ("²", "ours", None),
        ("soon", "ours", None),
        ("", "ours", None),
        ("9" * 6000, "ours", 999_999_999_999.999999),
    ],
)
def test_the_watchdog_is_ours_or_nobodys(
    microseconds: str, pid: str, seconds: float | None
) -> None:
    pid = str(os.getpid()) if pid == "ours" else pid
    notifier = Notifier({"WATCHDOG_USEC": microseconds, "WATCHDOG_PID": pid})
    assert notifier.watchdog_seconds == seconds


def test_a_watchdog_that_is_anothers_gets_no_sign_of_us(
    manager: socket.socket, tmp_path: Path
) -> None:
    told(tmp_path, WATCHDOG_USEC="20000000", WATCHDOG_PID="1").watchdog()
    assert heard(manager) == []
