"""`skymem mcp` as a process: beside a daemon, without an engine, and how it ends (row M7)."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.app import init_home
from skymem.engine.socket_file import listen
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, holder_of
from tests.acceptance.homes import Outside, wait_until
from tests.serve.mcp_client import REQUEST_SECONDS, ROOT, speaking

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}

Server = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    init_home(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    """Start one with pipes; what is left of it at the end is killed."""
    made: list[subprocess.Popen[str]] = []

    def start(stdin: Any = subprocess.PIPE) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "skymem", "--home", str(home), "mcp"]
        pipe = subprocess.PIPE
        made.append(
            subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
        )
        return made[-1]

    yield start
    for each in made:
        if each.poll() is None:
            each.kill()
            each.communicate()


def greet(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def test_it_greets_and_ends_with_its_clients_end(server: Server) -> None:
    process = server()
    told = greet(process)
    out, err = process.communicate(timeout=REQUEST_SECONDS)

    assert told["result"]["serverInfo"]["name"] == "skymem"
    assert "agent sky, and of no other" in told["result"]["instructions"]
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_without_a_word(server: Server, number: signal.Signals) -> None:
    process = server()
    greet(process)
    process.send_signal(number)

    assert process.wait(REQUEST_SECONDS) == 0
    out, err = process.communicate()
    assert (out, err) == ("", "")


def test_stdin_may_be_a_file(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(json.dumps(HELLO) + "\n")
    with script.open() as stream:
        out, err = server(stream).communicate(timeout=REQUEST_SECONDS)

    assert [json.loads(line)["id"] for line in out.splitlines()] in (
        [1],
        [],
    )  # its end may be first
    assert err == ""


def test_it_works_beside_a_daemon(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    outside = Outside(HomePaths(home))
    daemon = outside.start("run")
    try:
        wait_until(lambda: holder_of(outside.paths.daemon_lock), "the daemon runs")
        with speaking(home) as client:
            names = [client.store(f"fact number {n}", importance=0.9) for n in range(10)]
            assert client.done("memory_status")["daemon_running"] is True
            client.done("memory_promote", dry_run=False)
            tiers = {client.done("memory_get", id=name)["tier"] for name in names}
            assert client.done("memory_forget", ids=names[:2])["forgotten"] == 2
            assert len(client.done("memory_list", limit=50)["results"]) == 8
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.communicate(timeout=REQUEST_SECONDS)

    assert tiers == {"long"}
    assert outside.done("fsck")["problems"] == []
    assert outside.done("audit", "verify")["valid"]


def test_without_an_engine_words_find_it(home: Path) -> None:
    with speaking(home) as client:
        name = client.store("The ibex lives on the ridge")
        found = client.done("memory_search", query="ibex ridge")
        text = client.text("memory_search", query="ibex ridge")

    assert [one["id"] for one in found["results"]] == [name]
    assert found["mode"] == "deterministic"
    assert "engine" in found["degraded"][0]
    assert "degraded: by words only" in text


def test_an_engine_that_hangs_costs_a_search_its_deadline_and_no_more(home: Path) -> None:
    paths = HomePaths(home)
    for path in (paths.engine_lock, paths.engine_socket):
        path.parent.mkdir(exist_ok=True)
    with (
        held(paths.engine_lock, "the engine", deadline_seconds=REQUEST_SECONDS),
        listen(paths.engine_socket),
        speaking(home, SKYMEM_ENGINE="") as client,
    ):
        name = client.store("The ibex lives on the ridge", importance=0.9)
        found = client.done("memory_search", query="ibex ridge")

    assert [one["id"] for one in found["results"]] == [name]
    assert found["mode"] == "deterministic"
    assert found["degraded"]


def test_rules_that_are_edited_are_gone_by_at_once_and_faulty_ones_are_told_of(home: Path) -> None:
    rules = home / "retention_rules.yaml"
    with speaking(home) as client:
        client.store("The yak is old")
        rules.write_text(rules.read_text() + "\nno_such_key: 1\n")
        assert "no_such_key" in str(client.done("memory_search", query="yak")["degraded"])
        assert "no_such_key" in client.refusal("memory_promote", dry_run=False)


def test_a_server_of_a_bound_process_serves_no_other(home: Path) -> None:
    outside = Outside(HomePaths(home))
    outside.done("remember", "x")
    command = [sys.executable, "-m", "skymem", "--home", str(home), "--agent", "apollo", "mcp"]
    told = subprocess.run(
        command, input="", capture_output=True, text=True, cwd=ROOT, check=False,
        env={"SKYMEM_BOUND_AGENT": "sky", "PATH": "/usr/bin:/bin"}, timeout=REQUEST_SECONDS,
    )  # fmt: skip

    assert (told.returncode, told.stdout) == (30, "")
    assert "may not touch agent apollo" in told.stderr
