"""A stranger's first minute: a fresh copy of the repository, one command, lines by `echo`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MINUTE = 60.0

ECHO = r"""
cd "$1"
echo '{"ts": 1699999990, "content": "trivial note", "importance": 0.3}' >> short_term.jsonl
echo '{"ts": 1699999995, "content": "important insight", "importance": 0.85}' >> short_term.jsonl
echo '{"timestamp": "2025-11-08T12:34:56Z", "content": "escalated", "score": 9}' >> short_term.jsonl
"""

README_LINE = '{"ts": 1700000000, "content": "User wants reports at 7am", "importance": 0.9}'
README_QUESTION = "what time should the summary be delivered?"


class Checkout:
    """A copy of the tracked files, with the interpreter that runs this test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.short_term = root / "memory/sky/short_term.jsonl"
        self.long_term = root / "memory/sky/long_term.jsonl"

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the command here, as README's first command does in the end."""
        command = [sys.executable, "-m", "skymem", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.root, stdout=pipe, stderr=pipe, text=True)

    def tell(self, *words: str) -> str:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=MINUTE)
        assert process.returncode == 0, err
        return out

    def echo(self) -> None:
        """Three lines of both spellings, through a shell."""
        subprocess.run(["bash", "-ec", ECHO, "bash", str(self.short_term.parent)], check=True)

    def status(self, name: str) -> dict[str, Any]:
        path = self.root / "status" / name
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def lines(self, path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def contents(self, path: Path) -> list[str]:
        return [line["content"] for line in self.lines(path)]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """The tracked files and nothing else, private as `git clone` leaves them under umask 022."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    root = tmp_path / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    for path in (root, root / "retention_rules.yaml"):
        path.chmod(path.stat().st_mode & ~0o022)
    return Checkout(root)


def _until(happened: Callable[[], bool], daemon: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 3 * MINUTE
    while not happened():
        assert daemon.poll() is None, daemon.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _end(daemon: subprocess.Popen[str]) -> str:
    daemon.send_signal(signal.SIGTERM)
    _, err = daemon.communicate(timeout=MINUTE)
    assert daemon.returncode == 0, err
    return err


def _started(checkout: Checkout, daemon: subprocess.Popen[str]) -> None:
    _until(lambda: checkout.status("sky_heartbeat.json").get("pid") == daemon.pid, daemon)


def test_lines_that_echo_appends_are_promoted_and_found_within_a_minute(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")
    with checkout.start("run") as daemon:
        _started(checkout, daemon)
        began = time.time()
        checkout.echo()
        with checkout.short_term.open("a") as stream:
            stream.write(README_LINE + "\n")
        _until(lambda: bool(checkout.status("sky_last_action.json")), daemon)
        told = checkout.tell("recall", README_QUESTION, "--json")
        status = checkout.tell("status", "--json")
        _end(daemon)
    os.kill(checkout.status("engine.json")["pid"], signal.SIGTERM)

    # A busy machine makes the run itself long, not the wait for it.
    runs = json.loads((checkout.root / "state/runs.json").read_text())["entries"]
    assert runs["memory_rotate_check"]["last_start"] - began < MINUTE
    assert checkout.contents(checkout.short_term) == ["trivial note"]
    first, second, third = checkout.lines(checkout.long_term)
    assert (first["type"], first["importance"]) == ("long", 0.85)
    assert (second["committed"], second["score"]) == (True, 9)
    assert third["content"] == "User wants reports at 7am"
    record = checkout.status("sky_last_action.json")
    assert record["action"] == "memory_rotate_check"
    keys = ("ok", "promoted", "rotated", "remaining", "threshold", "rag_pending", "degraded")
    assert [record["detail"][key] for key in keys] == [True, 3, False, 1, 0.7, 0, []]
    assert checkout.status("sky_heartbeat.json")["state"] == "stopped"

    _a_paraphrase_finds_it(json.loads(told), json.loads(status))
    _a_restart_resets_no_interval(checkout)


def _a_paraphrase_finds_it(told: dict[str, Any], status: dict[str, Any]) -> None:
    """README's own line and question; they share no word."""
    readme = (ROOT / "README.md").read_text()
    assert README_LINE in readme
    assert f'recall "{README_QUESTION}"' in readme
    assert told["results"][0]["content"] == "User wants reports at 7am"
    assert told["results"][0]["parts"]["text"] == 0
    assert told["results"][0]["parts"]["semantic"] > told["results"][1]["parts"]["semantic"]
    assert told["degraded"] == []
    assert (status["engine"]["running"], status["engine"]["rag_pending"]) == (True, 0)
    assert status["engine"]["model"] == "all-MiniLM-L6-v2"


def _a_restart_resets_no_interval(checkout: Checkout) -> None:
    """Part of the first minute, since waiting for another first run costs one more."""
    with checkout.start("run") as daemon:
        _started(checkout, daemon)
        time.sleep(1)
        due = {one["name"]: one for one in json.loads(checkout.tell("jobs", "--json"))["jobs"]}
        _end(daemon)

    entry = due["memory_rotate_check"]
    assert abs(entry["next_run"] - entry["last_run"] - 600) < 5
    assert checkout.status("sky_last_action.json")["seq"] == 1


def test_run_once_runs_every_entry_and_ends(checkout: Checkout) -> None:
    checkout.short_term.parent.mkdir(parents=True)
    checkout.echo()
    told = json.loads(checkout.tell("run", "--once", "--json"))

    assert [(one["name"], one["ok"]) for one in told["jobs"]] == [
        ("memory_rotate_check", True),
        ("index", True),
        ("heartbeat", True),
        ("compress", True),
        ("merge", True),
        ("prune", True),
        ("compact", True),
    ]
    assert told["jobs"][0]["detail"]["promoted"] == 2
    assert len(checkout.lines(checkout.long_term)) == 2


def test_the_checkout_is_the_home_and_stays_clean_in_the_eyes_of_git(checkout: Checkout) -> None:
    git = ["git", "-c", "init.defaultBranch=main", "-C", str(checkout.root)]
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run([*git, *words], check=True)
    checkout.short_term.parent.mkdir(parents=True)
    checkout.echo()
    checkout.tell("run", "--once")
    told = json.loads(checkout.tell("status", "--json"))["home"]
    untracked = [*git, "ls-files", "--others", "--exclude-standard"]

    assert told["path"] == str(checkout.root)
    assert "current directory" in told["why"]
    assert subprocess.check_output(untracked, text=True) == ""


def test_demo_explains_itself_in_a_throw_away_home(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    told = checkout.tell("demo")

    assert "importance 0.9 against 0.7" in told
    assert "line_limit 8 against 7 (oldest first)" in told
    assert "4 promoted, 1 archived, 7 remain in short-term, 1 quarantined" in told
    assert "a profile that cites 1" in told
    assert "expired 2 against 0" in told
    home = Path(told.split("short-term: ")[1].split("\n")[0])
    assert len(checkout.lines(home / "memory/sky/long_term.jsonl")) == 6
    assert checkout.lines(checkout.long_term) == []
