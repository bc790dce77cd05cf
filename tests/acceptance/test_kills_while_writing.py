"""A kill between writing a file and naming it leaves a temporary one; who writes next clears it."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, told_by, wait_until

WRITTEN_WHOLE = re.compile(
    r"(?!run/|state/ledger_head).*\.json|memory/.*/(short|long)_term\.jsonl|audit/key"
)
"""What is put in its place by a rename; the rest is written in place, appended to, or a lock."""

GONE = 2**22 + 1
"""A process the kernel never gives out."""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    assert made("init").code == 0
    yield made
    made.close()


def live(outside: Outside) -> None:
    """Let everybody write that writes in a home: jobs, engine, daemon, who pauses or recalls."""
    seen = outside.paths.root / "status/sky_heartbeat.json"
    before = seen.stat().st_mtime_ns if seen.exists() else 0
    daemon = outside.start("run")
    wait_until(lambda: seen.exists() and seen.stat().st_mtime_ns > before, "a heartbeat")
    daemon.send_signal(signal.SIGTERM)
    assert told_by(daemon).code == 0
    outside.done("remember", "The user wants the weekly report at 7am", "--importance", "0.9")
    outside.done("promote")
    outside.done("index")
    found = outside.done("recall", "when is the report due?", "--mode", "semantic")
    outside.done("pin", found["results"][0]["id"])
    outside.done("prune")
    for verb in ("pause", "resume"):
        assert outside(verb, "prune").code == 0
    outside.end_engine()


def test_a_temporary_file_left_by_a_kill_goes_whatever_file_it_was_for(outside: Outside) -> None:
    live(outside)
    root = outside.paths.root
    names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    planted = []
    for name in filter(WRITTEN_WHOLE.fullmatch, names):
        left = (root / name).with_name(f".{Path(name).name}.{GONE}.new")
        left.write_text("half of it")
        planted.append(left)

    live(outside)

    assert len(planted) >= 15
    left_behind = [str(path.relative_to(root)) for path in planted if path.exists()]
    assert left_behind == [], left_behind
