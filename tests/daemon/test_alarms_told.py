"""A real daemon tells a real command and a real server of alarms: once each, and of their end."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from skymem.app import init_home, open_home
from skymem.health import health_of
from skymem.notifying import tell

SOON = "look: 1s, hold: 0s, quiet: 0s, deadline: 60s"
FULL = "disk_free: 800000GiB"


class Server(HTTPServer):
    """Takes what is posted, and answers as it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 204
        self.got: list[tuple[str, str | None, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast("Server", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append((self.path, self.headers["Authorization"], json.loads(body)))
        self.send_response(server.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        cast("Server", self.server).got.append((self.path, None, {}))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.05,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    init_home(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def daemon(home: Path) -> Iterator[Callable[[], "subprocess.Popen[bytes]"]]:
    """Start `skymem run`; what is left of it at the end is killed."""
    made: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "skymem", "--home", str(home), "run"]
        made.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return made[-1]

    yield start
    for each in made:
        if each.poll() is None:
            each.terminate()
            each.wait(60)


def rules(home: Path, *said: str) -> None:
    (home / "retention_rules.yaml").write_text(f"alarms: {{{', '.join(said)}}}\n")


def script(home: Path, text: str) -> Path:
    path, made = home.parent / "tell-me", home.parent / "tell-me.new"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    made.replace(path)  # whole: it may be started at any moment
    return path


def until(what: Callable[[], Any]) -> Any:
    """Wait until `what` gives something true, and return it."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came")


def told(home: Path) -> list[dict[str, Any]]:
    """What the command was given: a whole line each."""
    path = home.parent / "told"
    text = path.read_text() if path.exists() else ""
    return [json.loads(one) for one in text.splitlines(keepends=True) if one.endswith("\n")]


def ids(each: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in each]


def alarms(home: Path) -> list[str]:
    return ids(health_of(open_home(str(home), lenient=True))["alarms"])


def test_command_and_webhook_are_told_of_an_alarm_and_of_its_end_over_a_restart(
    home: Path, server: Server, daemon: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    token = home.parent / "token"
    token.write_text("t0ken\n")
    token.chmod(0o600)
    tell_me = script(home, f'cat >> "{home.parent}/told"; echo $SKYMEM_HOME > "{home.parent}/env"')
    whom = [f"command: [{tell_me}]", f"webhook: '{server.url}'", f"token_file: {token}", SOON]
    rules(home, FULL, *whom)

    first = daemon()
    until(lambda: told(home) and server.got)
    looks = (home / "state/alarms.json").stat().st_mtime_ns
    until(lambda: (home / "state/alarms.json").stat().st_mtime_ns > looks)
    (one,) = told(home)
    assert (one["home"], one["health"], ids(one["raised"])) == (str(home), "degraded", ["disk_low"])
    assert one["raised"][0].keys() == {"id", "agent", "text", "remedy", "since"}
    assert server.got == [("/hook", "Bearer t0ken", server.got[0][2])]
    assert ids(server.got[0][2]["raised"]) == ["disk_low"]
    assert (home.parent / "env").read_text() == f"{home}\n"
    first.kill()
    first.wait(60)

    second = daemon()
    rules(home, *whom)
    until(lambda: any("disk_low" in ids(each["cleared"]) for each in told(home)))
    until(lambda: any("disk_low" in ids(each[2]["cleared"]) for each in server.got))
    raised = [name for each in told(home) for name in ids(each["raised"])]
    assert raised.count("disk_low") == 1, "what was told before the restart is not told again"
    second.terminate()
    assert second.wait(60) == 0


def test_a_command_that_hangs_is_ended_with_all_it_started_and_told_of_and_tried_again(
    home: Path, daemon: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    left = home.parent / "left"
    hangs = script(
        home, f'sleep 3600 & echo $! > "{left}.new"; mv "{left}.new" "{left}"; sleep 3600'
    )
    rules(home, FULL, f"command: [{hangs}]", SOON.replace("60s", "2s"))
    daemon()

    until(lambda: "notify_failed" in alarms(home))
    pid = int(left.read_text())
    until(lambda: not _lives(pid))
    beats = json.loads((home / "status/sky_heartbeat.json").read_bytes())
    assert beats["state"] == "running"
    rules(home, FULL, f"command: [{hangs}]", SOON)
    script(home, f'cat >> "{home.parent}/told"')
    until(lambda: told(home) and "notify_failed" not in alarms(home))
    assert ids(told(home)[0]["raised"]) == ["disk_low"]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_end_of_the_daemon_waits_for_no_command(
    home: Path, daemon: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    begun = home.parent / "begun"
    hangs = script(home, f'touch "{begun}"; sleep 3600')
    rules(home, FULL, f"command: [{hangs}]", SOON.replace("60s", "300s"))
    process = daemon()
    until(begun.exists)
    process.send_signal(signal.SIGTERM)

    assert process.wait(60) == 0
    rules(home, FULL, f"command: [{hangs}]")
    assert "notify_failed" not in alarms(home), "it was not given its time"


def test_a_redirect_is_not_followed_and_the_reason_is_told(home: Path, server: Server) -> None:
    server.status = 302
    rules(home, FULL, f"webhook: '{server.url}'", SOON)
    found = tell(open_home(str(home)))["told"]

    assert found["webhook"] == {"failed": "answered 302: a redirect is not followed"}
    assert [path for path, *_ in server.got] == ["/hook"]
    found = health_of(open_home(str(home)))
    assert any("webhook could not be told" in reason for reason in found["reasons"])


def test_nobody_is_told_of_anything_where_nobody_is_named(home: Path) -> None:
    rules(home, FULL)
    assert tell(open_home(str(home))) == {"told": {}}
    assert not (home / "state/alarms.json").exists()


def test_one_who_cannot_be_told_takes_nothing_from_another(home: Path, server: Server) -> None:
    tell_me = script(home, f'cat >> "{home.parent}/told"')
    server.status = 500
    rules(home, FULL, f"command: [{tell_me}]", f"webhook: '{server.url}'", SOON)
    found = tell(open_home(str(home)))["told"]

    assert found == {
        "command": {"raised": 1, "cleared": 0},
        "webhook": {"failed": "answered 500"},
    }
    (first,) = told(home)
    assert ids(first["raised"]) == ["disk_low"]
    assert tell(open_home(str(home)))["told"] == {"command": {"raised": 1, "cleared": 0}}
    assert ids(told(home)[1]["raised"]) == ["notify_failed"], "and the other hears of that"


def test_rules_that_cannot_be_read_are_told_to_whom_the_last_ones_named(home: Path) -> None:
    tell_me = script(home, f'cat >> "{home.parent}/told"')
    rules(home, f"command: [{tell_me}]", SOON)
    assert tell(open_home(str(home)))["told"] == {}
    (home / "retention_rules.yaml").write_text("alarms: {\n")
    tell(open_home(str(home), lenient=True))

    assert ids(told(home)[0]["raised"]) == ["rules_faulty"]


def test_a_record_that_is_damaged_is_as_if_nothing_had_been_told(home: Path) -> None:
    tell_me = script(home, f'cat >> "{home.parent}/told"')
    rules(home, FULL, f"command: [{tell_me}]", SOON)
    tell(open_home(str(home)))
    for damage in ("{", '{"channels": {"command": 7}}', '{"channels": {"command": {"seen": []}}}'):
        (home / "state/alarms.json").write_text(damage)
        tell(open_home(str(home)))
    assert len(told(home)) == 4


def test_what_takes_no_record_is_told_all_the_same_and_once(home: Path) -> None:
    """As on a full disk: what was told is handed on from look to look."""
    tell_me = script(home, f'cat >> "{home.parent}/told"')
    rules(home, FULL, f"command: [{tell_me}]", "hold: 1h, quiet: 0s")
    in_the_way = home / "state/alarms.json/x"
    in_the_way.mkdir(parents=True)
    first = tell(open_home(str(home)))
    assert (first["told"], first["already"]) == (
        {"command": {"raised": 1, "cleared": 0}},
        ["disk_low//"],
    )
    assert tell(open_home(str(home)), first["already"]) == {"told": {}, **_rest(first)}
    in_the_way.rmdir()
    in_the_way.parent.rmdir()
    assert tell(open_home(str(home)), first["already"]) == {"told": {}}
    rules(home, f"command: [{tell_me}]", "hold: 0s, quiet: 0s")
    assert tell(open_home(str(home)))["told"] == {"command": {"raised": 0, "cleared": 1}}
    assert [ids(one["raised"]) for one in told(home)] == [["disk_low"], []]


def _rest(found: dict[str, Any]) -> dict[str, Any]:
    return {"already": found["already"]}
