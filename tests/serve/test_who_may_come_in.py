"""The door knows who asks: by uid on the socket, by token over TCP; the rest is on record (M7)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside
from tests.serve.conftest import ROOT, Api, free_port, new_home, serving

NAMED, UNNAMED = 61_001, 61_002
"""Two users nobody is."""

RULES = f"api: {{agents: {{{NAMED}: [hobbs, aegis]}}, reach: everyone}}\n"

_ASK = """
import os, socket, sys
fd, uid, path, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
made = socket.socket(socket.AF_UNIX)
made.settimeout(60)
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
made.connect(f"/proc/self/fd/{fd}/{path}")
made.sendall(words.encode())
told = b""
while block := made.recv(65536):
    told += block
sys.stdout.write(told.partition(b" ")[2][:3].decode())
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API whose socket lies where others reach it."""
    if os.geteuid() != 0:
        pytest.skip("only root can ask as another user")
    root = tmp_path_factory.mktemp("shared")
    place = root / "door/api.sock"
    place.parent.mkdir()
    place.parent.chmod(0o755)
    home = new_home(root / "home", RULES)
    with serving(home, "--socket", str(place), place=place) as made:
        for agent in ("sky", "hobbs"):
            made.remember("what only this agent knows", agent=agent)
        yield made


def ask(api: Api, uid: int, method: str, path: str, body: str = "") -> int:
    """Ask as another user, over the socket; the status that came back."""
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    words = [str(api.directory), str(uid), "api.sock", head]
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *words],
        check=True, capture_output=True, text=True, pass_fds=(api.directory,), timeout=60,
    )  # fmt: skip
    return int(done.stdout)


def test_a_named_uid_works_as_its_agents(shared: Api) -> None:
    body = '{"content": "hobbs was here"}'

    assert ask(shared, NAMED, "POST", "/v1/agents/hobbs/memories", body) == 201
    assert ask(shared, NAMED, "GET", "/v1/agents/hobbs/search?q=hobbs") == 200
    assert ask(shared, NAMED, "GET", "/health/ready") == 200


def test_another_agent_is_refused_and_on_record(shared: Api) -> None:
    before = len(shared.violations())

    assert ask(shared, NAMED, "GET", "/v1/agents/sky/search?q=knows") == 403
    assert ask(shared, NAMED, "POST", "/v1/jobs/promote") == 403
    assert ask(shared, NAMED, "GET", "/metrics") == 403

    assert shared.violations()[before:] == [
        ("hobbs", "sky", "api:search"),
        ("hobbs", "*", "api:start"),
        ("hobbs", "*", "api:count"),
    ]


@pytest.mark.parametrize("path", ["/v1/agents/hobbs/search?q=x", "/health/live", "/openapi.json"])
def test_a_uid_that_nobody_named_is_refused_everything_and_on_record(
    shared: Api, path: str
) -> None:
    before = len(shared.violations())

    assert ask(shared, UNNAMED, "GET", path) == 403
    assert shared.violations()[before:] == [(f"uid {UNNAMED}", "?", "api:door")]


def test_the_rules_hold_as_they_are_now(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home) as api:
        assert api.get("/v1/agents/sky/memories").status_code == 200
        (home / "retention_rules.yaml").write_text("secrets: {on: refuse}\n")
        key = "AKIA" + "Q3EGRIZ7TQ2LMNB4"
        refused = api.post("/v1/agents/sky/memories", {"content": f"aws key {key}"})
        (home / "retention_rules.yaml").write_text("secrets: {on: refu\n")
        still = api.post("/v1/agents/sky/memories", {"content": f"aws key {key}"})

    assert (refused.status_code, still.status_code) == (422, 422)
    assert key not in refused.text


def test_the_socket_is_its_owners_alone(api: Api) -> None:
    assert os.stat(api.home / "run/api.sock").st_mode & 0o777 == 0o600


def test_a_group_that_shares_the_home_may_connect(tmp_path: Path) -> None:
    with serving(new_home(tmp_path / "home", "access: group\n")) as api:
        assert os.stat(api.home / "run/api.sock").st_mode & 0o777 == 0o660
        assert api.get("/health/live").status_code == 200


def test_status_says_that_an_api_runs(api: Api) -> None:
    told = Outside(HomePaths(api.home)).done("status")

    assert told["api"]["running"]
    assert f"process {api.process.pid} " in told["api"]["holder"]


# -- over TCP -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str]]:
    """An API that listens on TCP as well, and its address."""
    port = free_port()
    home = new_home(tmp_path_factory.mktemp("tcp") / "home", f"api: {{tcp: '127.0.0.1:{port}'}}\n")
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    tokens = home / "run/api.token"
    tokens.write_text("operators-own-token-1\nthe-token-of-hobbs-1 hobbs\n")
    tokens.chmod(0o600)
    with serving(home) as made:
        made.remember("what sky knows")
        yield made, f"http://127.0.0.1:{port}"


def tried(address: str, path: str, token: str = "", **headers: str) -> httpx.Response:
    given = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.get(address + path, headers=given | headers, timeout=60)


@pytest.mark.parametrize("token", ["", "wrong", "operators-own-token-", "operators-own-token-11"])
def test_over_tcp_nothing_is_told_without_the_token(remote: tuple[Api, str], token: str) -> None:
    told = tried(remote[1], "/v1/agents/sky/memories", token)

    assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")
    assert tried(remote[1], "/health/live", token).json() == {"alive": True}


def test_a_token_is_the_operators_or_for_agents(remote: tuple[Api, str]) -> None:
    whole, own = "operators-own-token-1", "the-token-of-hobbs-1"

    assert tried(remote[1], "/v1/agents/sky/memories", whole).status_code == 200
    assert tried(remote[1], "/metrics", whole).status_code == 200
    assert tried(remote[1], "/v1/agents/sky/memories", own).status_code == 403
    assert ("hobbs", "sky", "api:recent") in remote[0].violations()


@pytest.mark.parametrize("host", ["evil.com", "127.0.0.1.evil.com", "127.0.0.1:1", "[::1]"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(
    remote: tuple[Api, str], host: str
) -> None:
    told = tried(remote[1], "/v1/agents/sky/memories", "operators-own-token-1", host=host)

    assert told.status_code == 403


def test_a_web_page_is_refused(remote: tuple[Api, str]) -> None:
    token = "operators-own-token-1"

    for origin in ("http://localhost:3000", "null", remote[1]):
        told = tried(remote[1], "/v1/agents/sky/memories", token, origin=origin)
        assert told.status_code == 403


@pytest.mark.parametrize(
    ("mode", "text"), [(0o644, "a-token-long-enough\n"), (0o600, "short\n"), (0o600, "\n")]
)
def test_a_token_file_that_protects_nothing_is_refused(
    tmp_path: Path, mode: int, text: str
) -> None:
    home = new_home(tmp_path / "home", "api: {tcp: '127.0.0.1:1'}\n")
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    tokens = home / "run/api.token"
    tokens.write_text(text)
    tokens.chmod(mode)
    command = [sys.executable, "-m", "skymem", "--home", str(home), "serve"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert done.returncode == 78, done.stderr
    assert str(tokens) in done.stderr
    assert "long-enough" not in done.stderr
