"""The whole story where no network is, watched by the kernel: no socket is opened but ours."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import ROOT, Outside

STORY = r"""
set -eu
skymem() { "$PYTHON" -m skymem --home "$PLACE" "$@"; }
cd /
tail -n +2 /proc/self/net/route > "$TOLD/routes"
"$PYTHON" -m skymem init "$PLACE" > "$TOLD/init"
skymem remember "The user wants the weekly report at 7am" --importance 0.9 > /dev/null
skymem remember "The cat sleeps on the warm radiator" --importance 0.2 > /dev/null
skymem remember "$(cat "$TOLD/long")" --importance 0.8 > /dev/null
skymem promote --json > "$TOLD/promote"
skymem index --json > "$TOLD/index"
skymem index --stats --json > "$TOLD/stats"
for mode in auto semantic deterministic; do
  skymem recall "when should the summary be delivered?" --mode $mode --json > "$TOLD/$mode"
done
skymem recall "at what height did the balloon burst?" --mode semantic --json > "$TOLD/end"
skymem doctor --json > "$TOLD/doctor"
skymem status --json > "$TOLD/status"
kill -TERM "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$PLACE/status/engine.json" | head -1)"
"""

CALLS = "socket,connect,bind,sendto,sendmsg,sendmmsg,getsockname,openat"
SYSCALL = re.compile(r"^\d+ +(\w+)\((.*)")
FACT = "The weather balloon burst at thirty-one kilometres."
OF_THE_RESOLVER = ("nscd", "resolv.conf", "nsswitch.conf", "/etc/hosts", "/etc/gai.conf")
EMPTY = ("HOME", "XDG_CACHE_HOME", "HF_HOME", "TMPDIR")


class Watched:
    """What the story told, and what the kernel saw of it."""

    def __init__(self, place: Path, told: Path, log: Path) -> None:
        self.place = place
        self.told = told
        lines = log.read_text(errors="replace").splitlines()
        self.calls = [found.groups() for each in lines if (found := SYSCALL.match(each))]

    def json(self, name: str) -> Any:
        return json.loads((self.told / name).read_text())

    def of(self, *names: str) -> list[str]:
        return [rest for name, rest in self.calls if name in names]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The story, told once for the tests of this file."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("strace"):
        pytest.skip("needs root, unshare and strace")
    root = tmp_path_factory.mktemp("no_network")
    told, place = root / "told", root / "place"
    told.mkdir()
    filler = "The expedition walked on over the plateau and noted what it saw. " * 420
    (told / "long").write_text(f"{filler}{FACT}")
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    environment |= {"PLACE": str(place), "TOLD": str(told), "LANG": "C.UTF-8"}
    for name in EMPTY:
        (root / name).mkdir()
        environment[name] = str(root / name)
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", f"trace={CALLS}", "-s", "200"]
    strace += ["-o", str(root / "log"), "sh", "-c", STORY]
    if subprocess.call(["unshare", "-n", "strace", "-qq", "-o", "/dev/null", "true"]):
        pytest.skip("no network namespace, or nothing may be traced here")
    try:
        done = subprocess.run(
            ["unshare", "-n", *strace],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        yield Watched(place, told, root / "log")
    finally:
        Outside(HomePaths(place)).close()


def test_without_a_network_everything_works(watched: Watched) -> None:
    assert watched.json("promote")["promoted"] == 2
    for name in ("promote", "index", "auto", "semantic", "deterministic", "end"):
        assert watched.json(name)["degraded"] == [], name
    for mode in ("auto", "semantic"):
        found = watched.json(mode)["results"][0]
        assert found["content"] == "The user wants the weekly report at 7am"
        assert found["parts"]["semantic"] > 0.3
    found = watched.json("end")["results"][0]
    assert found["content"].endswith(FACT)
    assert len(found["content"].split()) > 5_000 - 1_000
    stats = watched.json("stats")["agents"]["sky"]
    assert stats["compared"]["memory"]["indexed"] == 2
    assert stats["compared"]["recent"]["indexed"] == 1
    assert stats["stats"]["sample"]["found"] == stats["stats"]["sample"]["asked"] > 0
    assert watched.json("status")["engine"]["rag_pending"] == 0
    assert watched.json("doctor")["problems"] == []


def test_there_was_no_network(watched: Watched) -> None:
    assert (watched.told / "routes").read_text() == ""


def test_no_socket_is_opened_but_the_engines(watched: Watched) -> None:
    sockets = watched.of("socket")
    assert len(sockets) > 5
    assert [each for each in sockets if not each.startswith("AF_UNIX")] == []
    run = re.escape(str(watched.place / "run"))
    spelled = re.compile(rf'sun_path="(?:/proc/self/fd/\d+|{run})/engine\.sock"')
    reached = watched.of("connect", "bind")
    assert [each for each in reached if not spelled.search(each)] == []
    sent_to = [each for each in watched.of("sendto", "sendmsg", "sendmmsg") if "AF_" in each]
    assert [each for each in sent_to if "AF_UNIX" not in each] == []


def test_the_engine_was_watched_too(watched: Watched) -> None:
    assert len([each for each in watched.of("bind") if "engine.sock" in each]) == 1
    assert any("= 0" in each for each in watched.of("connect"))
    opened = watched.of("openat")
    assert any("model" in each and ".onnx" in each for each in opened)
    assert any("chroma.sqlite3" in each for each in opened)


def test_no_name_is_looked_up(watched: Watched) -> None:
    opened = watched.of("openat", "connect")
    found = [each for each in opened if any(name in each for name in OF_THE_RESOLVER)]
    assert found == []


def test_nothing_is_written_outside_the_home(watched: Watched) -> None:
    left = [
        str(path)
        for name in EMPTY
        for path in (watched.place.parent / name).rglob("*")
        if not path.is_dir()
    ]
    assert left == []
