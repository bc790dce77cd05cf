"""Files the home keeps of itself may hold JSON that is none of ours: what reads goes on."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.app import open_home
from skymem.daemon.runs import RunBook
from tests.cli.conftest import Shell

READING = (("status",), ("check",), ("jobs",), ("alarms",), ("metrics",), ("report",))
ENDS = {0, 20, 23}
"""It is well, damaged or degraded; a bug would be 1."""

STRANGE: tuple[Any, ...] = ([], {}, "x", -3, None, True)
ENGINE: dict[str, Any] = {
    "ts": 1.0, "started": 1.0, "pid": 1, "rss_bytes": 1, "running": True, "problem": None,
    "doing": None, "model": "m", "backend": "onnx", "precision": "int8", "dimension": 384,
    "agents": {"sky": {"memory": 1, "recent": 0, "owed": 0, "building": None, "problems": []}},
}  # fmt: skip
FILES = (
    "status/sky_last_action.json", "status/sky_heartbeat.json", "status/engine.json",
    "status/jobs/promote.json", "state/runs.json", "state/paused.json", "state/clock.json",
)  # fmt: skip


def strange(whole: Any) -> Iterator[Any]:
    """The document with each of its values, to the second depth, turned into something else."""
    yield from STRANGE
    for name in whole:
        for value in STRANGE:
            yield {**whole, name: value}
        if isinstance(whole[name], dict):
            for inner in whole[name]:
                for value in STRANGE:
                    changed = copy.deepcopy(whole)
                    changed[name][inner] = value
                    yield changed


@pytest.fixture
def kept(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A home that has such files."""
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    shell("remember", "tea", "--importance", "0.9")
    for words in (("promote",), ("pause", "prune")):
        assert shell(*words).code == 0
    home = open_home(str(shell.home))
    RunBook(home.paths, home.files, lambda error: pytest.fail(str(error))).see(["prune"], 1.0)
    home.status_files().write_heartbeat({"ts": 1.0, "state": "stopped", "pid": 1, "seq": 1})
    home.paths.engine_status.write_text(json.dumps(ENGINE))
    return shell


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_reads_ends_as_a_bug(kept: Shell, name: str) -> None:
    path: Path = kept.home / name
    whole = json.loads(path.read_bytes())
    for number, document in enumerate(strange(whole)):
        path.write_text(json.dumps(document))
        words = READING[number % len(READING)]
        told = kept(*words)
        assert told.code in ENDS, (words, document, told.err[-2000:])
