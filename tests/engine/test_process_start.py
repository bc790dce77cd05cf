"""How an engine comes to be: on demand, once, detached, with a clear word where it can't."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.app import init_home
from skymem.engine.launch import START_SECONDS, engine_environment
from skymem.engine.settings import prepare_environment
from skymem.engine.socket_file import listen
from skymem.errors import EngineUnavailableError, HomeNotFoundError, InterruptedRunError
from skymem.model.rules import EngineRules
from skymem.stores.home import HomePaths
from tests.engine.processes import EngineHome, home, wait_until

__all__ = ["home"]

ASK = """
import sys
from pathlib import Path
from tests.engine.processes import EngineHome
from skymem.stores.home import HomePaths
home = EngineHome(HomePaths(Path(sys.argv[1])))
sys.stdin.readline()
print(home.client().query("sky", "hello", 1)["pid"], flush=True)
sys.stdin.readline()
"""
ROOT = Path(__file__).resolve().parents[2]


def _asking(home: EngineHome) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ASK, str(home.paths.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def test_ten_processes_that_ask_at_once_make_one_engine_and_all_get_answers(
    home: EngineHome,
) -> None:
    askers = [_asking(home) for _ in range(10)]
    answers = []
    for each in askers:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    for each in askers:
        answers.append(each.communicate(timeout=30)[0].strip())
        assert each.returncode == 0

    assert set(answers) == {str(home.pid())}
    assert home.lines("started.txt") == [str(home.pid())]


def test_a_second_engine_leaves_at_once_and_touches_nothing(home: EngineHome) -> None:
    home.client().overview()
    before = home.paths.engine_socket.lstat().st_ino
    second = subprocess.run([*home.command, str(home.paths.root)], check=False, timeout=60)

    assert second.returncode == 0
    assert home.paths.engine_socket.lstat().st_ino == before
    assert len(home.lines("started.txt")) == 1


def test_an_engine_serves_a_home_whose_name_is_longer_than_a_socket_can_have(
    tmp_path: Path,
) -> None:
    root = tmp_path / ("deep" * 25) / ("er" * 50)
    root.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as plain, pytest.raises(OSError, match="too long"):
        plain.bind(str(root / "engine.sock"))
    home = EngineHome(HomePaths(root))
    home.say()
    try:
        assert home.client().query("sky", "hello", 1)["hits"] == [["hello", 1.0]]
    finally:
        home.end()


def test_what_the_engine_makes_is_its_owners_alone_whatever_the_umask(home: EngineHome) -> None:
    old = os.umask(0)
    try:
        home.client().overview()
    finally:
        os.umask(old)
    wait_until(home.paths.engine_status.exists, "the status is written")
    paths = home.paths
    for path in (paths.engine_socket, paths.engine_log, paths.engine_lock, paths.engine_status):
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    for directory in (paths.run, paths.rag):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_engine_is_nobodys_child_has_its_own_session_and_none_of_our_files(
    home: EngineHome,
) -> None:
    others = _children()  # of other tests
    inherited = os.open(home.paths.root / "stand_in.json", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        home.client().overview()
    finally:
        os.close(inherited)
    pid = home.pid()
    fds = list(_open_files(pid))

    assert os.getsid(pid) != os.getsid(0)
    assert str(home.paths.root / "stand_in.json") not in fds
    assert fds.count("/dev/null") == 2
    assert _parent(pid) != os.getpid()
    assert _children() <= others  # and nothing is left for us to wait for


def _children() -> set[str]:
    return {
        pid
        for thread in Path("/proc/self/task").iterdir()
        for pid in (thread / "children").read_text().split()
    }


def _open_files(pid: int) -> Iterator[str]:
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it is at work, and closes some
            yield os.readlink(each)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_socket_that_a_dead_engine_left_is_replaced(home: EngineHome) -> None:
    client = home.client()
    client.overview()
    home.kill()
    home.gone()
    assert home.paths.engine_socket.exists()  # the fault: its name outlived it

    assert home.client().query("sky", "again", 1)["hits"]
    assert len(home.lines("started.txt")) == 2


def test_what_stands_in_the_sockets_place_is_replaced(home: EngineHome) -> None:
    home.paths.run.mkdir(parents=True)
    home.paths.engine_socket.symlink_to(home.paths.engine_socket)
    with pytest.raises(OSError, match="symbolic links"):
        os.stat(home.paths.engine_socket)

    assert not home.client().running()
    assert home.client().query("sky", "hello", 1)["hits"]


def test_without_an_engine_one_who_starts_none_is_told_so(home: EngineHome) -> None:
    client = home.client(start=False)

    with pytest.raises(EngineUnavailableError, match="not running"):
        client.overview()
    assert not client.running()
    client.leave()
    assert home.lines("started.txt") == []


def test_a_start_that_fails_is_told_with_the_last_line_of_the_log(home: EngineHome) -> None:
    home.say(broken_start=True)
    began = time.monotonic()

    with pytest.raises(EngineUnavailableError, match=r"with 3: the start is broken on purpose"):
        home.client().overview()
    assert time.monotonic() - began < START_SECONDS  # it does not wait for a start that is over


def test_a_home_that_is_none_is_not_made(tmp_path: Path) -> None:
    home = EngineHome(HomePaths(tmp_path / "none"))

    with pytest.raises(HomeNotFoundError):
        home.client().overview()
    assert not home.paths.root.exists()


def test_a_model_that_cannot_be_loaded_is_told_to_all_and_the_engine_does_not_stay(
    home: EngineHome,
) -> None:
    home.say(no_model=True, open_seconds=0.3, limits={"idle_without_index": 0.5})
    client = home.client()

    with pytest.raises(EngineUnavailableError, match="no model on this machine"):
        client.query("sky", "x", 1)
    with pytest.raises(EngineUnavailableError, match="no model on this machine"):
        client.overview()
    home.gone()
    home.say()
    assert client.query("sky", "x", 1)["hits"]  # the machine was repaired


def test_clients_connect_while_the_model_is_still_loading(home: EngineHome) -> None:
    home.say(open_seconds=4.0)
    client = home.client()
    began = time.monotonic()

    assert client.overview()["doing"] == "open"
    assert client.query("sky", "x", 1)["hits"]
    assert time.monotonic() - began > 4.0


def test_a_signal_ends_the_wait_for_an_answer(home: EngineHome) -> None:
    asked = threading.Event()
    client = home.client(stop=lambda: "SIGTERM" if asked.is_set() else "")
    client.overview()
    threading.Timer(0.2, asked.set).start()
    began = time.monotonic()

    with pytest.raises(InterruptedRunError, match="SIGTERM"):
        client.query("sky", "sleep 20", 1)
    assert time.monotonic() - began < 10


def test_a_stranger_on_the_socket_is_not_talked_to(
    home: EngineHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.paths.run.mkdir()
    with listen(home.paths.engine_socket):
        monkeypatch.setattr("skymem.engine.dialogue.peer_uid", lambda _socket: 12345)
        with pytest.raises(EngineUnavailableError, match="uid 12345"):
            home.client().overview()


def test_a_forked_child_talks_on_a_connection_of_its_own(home: EngineHome) -> None:
    client = home.client()
    client.overview()
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        for number in range(50):
            hits = client.query("sky", f"child {number}", 1)["hits"]
            if hits != [[f"child {number}", 1.0]]:
                os._exit(1)
        os.write(write_end, b"done")
        os._exit(0)
    for number in range(50):
        assert client.query("sky", f"parent {number}", 1)["hits"] == [[f"parent {number}", 1.0]]
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(read_end, 4) == b"done"
    os.close(read_end)
    os.close(write_end)


def test_the_environment_is_clean_and_says_no_to_telemetry_and_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("HF_HOME", "")
    monkeypatch.delenv("HF_HOME")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)  # set by whoever loaded a model here before
    monkeypatch.delenv("HOME")
    environment = engine_environment()
    prepare_environment(EngineRules(threads=3), HomePaths(tmp_path), environment)

    assert "SECRET_TOKEN" not in environment
    assert environment["ORT_DISABLE_TELEMETRY"] == "1"
    assert environment["ANONYMIZED_TELEMETRY"] == "False"
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["OMP_NUM_THREADS"] == "3"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["HF_HOME"] == str(tmp_path / "state/models/hub")
    with_download = engine_environment()
    prepare_environment(EngineRules(download=True), HomePaths(tmp_path), with_download)
    assert "HF_HUB_OFFLINE" not in with_download


LOOK = """
import sys
from pathlib import Path
from skymem.engine import __main__, settings
from skymem.stores.home import HomePaths
def look(*_):
    print(*sys.modules)
    raise SystemExit
settings.prepare_environment = look
__main__.serve_home(HomePaths(Path(sys.argv[1])), lambda: None)
"""


def test_the_environment_is_made_before_the_libraries_that_read_it(tmp_path: Path) -> None:
    init_home(tmp_path)
    told = subprocess.check_output([sys.executable, "-c", LOOK, str(tmp_path)], text=True)

    assert "skymem.engine.settings" in told.split()
    assert not {"numpy", "onnxruntime", "chromadb", "tokenizers"} & set(told.split())


def test_a_client_costs_no_heavy_import() -> None:
    code = "import skymem.engine.client, sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    heavy = {"numpy", "chromadb", "onnxruntime", "tokenizers", "asyncio", "yaml"}

    assert {name.partition(".")[0] for name in loaded} & heavy == set()


def test_ctrl_c_at_the_callers_terminal_does_not_reach_the_engine(home: EngineHome) -> None:
    asker = subprocess.Popen(
        [sys.executable, "-c", ASK, str(home.paths.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    assert asker.stdin
    assert asker.stdout
    asker.stdin.write(b"\n")
    asker.stdin.flush()
    pid = int(asker.stdout.readline())
    os.killpg(asker.pid, signal.SIGINT)  # what a terminal does
    asker.communicate(timeout=30)
    assert asker.returncode == -signal.SIGINT
    assert pid == home.client().query("sky", "x", 1)["pid"]


def test_a_log_that_has_grown_begins_anew(home: EngineHome) -> None:
    home.paths.run.mkdir()
    home.paths.engine_log.write_bytes(b"x" * 1_100_000)
    home.client().overview()

    assert home.paths.engine_log.stat().st_size < 1000
