"""Erasing, as an owner does it, leaves no byte of text or vector in any file of the home (X5)."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skymem
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, line, wait_until, whole
from tests.jobs.erased import SECRET, traces

ODD = "zorblaxian"
"""A word that nothing else has."""

TOLD = f"{SECRET}, {ODD}"
DIMENSION = 384
DAY = 86_400


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has it everywhere, and in the index of a real engine, which has left."""
    made = Outside(HomePaths(tmp_path_factory.mktemp("template") / "home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SKYMEM_ENGINE", raising=False)
        made("init", str(made.paths.root))
        try:
            fill(made)
        finally:
            made.close()
    return made.paths.root


@pytest.fixture
def home(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """A copy of it."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    shutil.copytree(template, made.paths.root, ignore=shutil.ignore_patterns("*.sock"))
    yield made
    made.close()


def fill(home: Outside) -> None:
    old: dict[str, Any] = {"ts": time.time() - 9 * DAY, "importance": 0.2, "kind": "preference"}
    home.echo(line(f"{TOLD} (archived).", **old), line("Ann likes tea.", **old))
    home.done("compress")
    home.echo(line(f"{TOLD} (promoted)"), line("Backups run at two in the morning"))
    home.echo(line(f"{TOLD} (thrown away)"), line("The printer is on the second floor"))
    home.echo(line(f"{TOLD} (torn)")[:-30] + b"\n")
    home.done("promote")
    home.done("index")
    ids = ids_of(home)
    home.done("forget", ids[f"{TOLD} (thrown away)"])
    home.done("pin", ids[f"{TOLD} (promoted)"])
    home.done("recall", "the code of the safe", "--limit", "5")
    home.echo(line(f"{TOLD} (new)"), line("It rains a lot in November", importance=0.2))
    assert home("promote", "--plan", str(home.paths.root / "plan.json")).code == 0
    home.done("index")


def ids_of(home: Outside) -> dict[str, str]:
    found = home.done("recent", "--limit", "100")["results"]
    return {one["content"]: one["id"] for one in found}


def vectors(home: Outside) -> dict[bytes, list[bytes]]:
    """Every vector of the cache: as it is there, and as narrower caches might spell it."""
    found = {}
    for path in home.paths.embeddings.rglob("vectors*.f32"):
        for row in np.fromfile(path, np.float32).reshape(-1, DIMENSION):
            narrow = np.round(row * 127).astype(np.int8)
            found[row.tobytes()] = [row.astype(np.float16).tobytes(), narrow.tobytes()]
    return found


def odd_words(home: Outside) -> list[str]:
    """The files that have the odd word, in either case, alone as well."""
    return [
        str(path.relative_to(home.paths.root))
        for path in home.paths.root.rglob("*")
        if path.is_file() and ODD.encode() in path.read_bytes().lower()
    ]


def check_gone(home: Outside, before: dict[bytes, list[bytes]], *, rows: int) -> None:
    """No text, no word and no vector of it is anywhere; `rows` vectors of others are."""
    assert traces(home.paths.root, TOLD) == []
    assert odd_words(home) == []
    kept = vectors(home)
    assert len(before.keys() & kept.keys()) == rows
    for row in before.keys() - kept.keys():
        assert traces(home.paths.root, raw=(row, *before[row])) == []
    assert [*home.paths.state.glob("erasures/*/*")] == []


def test_by_a_pattern_it_is_gone_from_every_place_and_does_not_come_back(home: Outside) -> None:
    before = vectors(home)
    assert len(traces(home.paths.root, TOLD)) >= 5
    assert len(odd_words(home)) >= 5  # the word index has it alone
    planned = home.done("erase", "--match", ODD, "--dry-run")["receipt"]
    assert len(planned["erased"]) == 4
    receipt = home.done("erase", "--match", ODD)["receipt"]

    assert (receipt["complete"], sorted(receipt["erased"])) == (True, sorted(planned["erased"]))
    told = {one["place"]: (one["before"], one["after"]) for one in receipt["places"]}
    for place, count in {"short-term": 1, "long-term": 2, "archives": 1, "trash": 1}.items():
        assert told[place] == (count, 0)
    assert told["quarantine"] == (1, 0)
    assert told["vectors"][0] >= 3
    assert receipt["proof"]["found_in"] == []
    assert {one["what"] for one in receipt["unreachable"]} >= {"backups", "journal", "plans"}
    check_gone(home, before, rows=4)
    assert whole(home.done("index", "--stats")) == []
    home.echo(line(f"{TOLD} (promoted)"), line(f"{TOLD} (new)"))
    assert home.done("promote")["erased"] == 2
    home.done("promote")
    check_gone(home, before, rows=4)
    assert home.done("fsck")["problems"] == []
    assert any(one["op"] == "erased" for one in home.done("audit", "log")["entries"])
    assert home("apply", str(home.paths.root / "plan.json")).code == 22


def test_killed_while_it_is_at_it_the_next_run_ends_it(home: Outside) -> None:
    before = vectors(home)
    process = home.start("erase", "--match", ODD)
    record = home.paths.state / "erasures" / "sky"
    wait_until(lambda: process.poll() is not None or [*record.glob("*.json")], "it has begun")
    os.kill(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.communicate()
    home.end_engine(signal.SIGKILL)
    home.done("index")

    check_gone(home, before, rows=4)
    assert home.done("fsck")["problems"] == []
    again = home.done("erase", "--match", ODD)["receipt"]
    assert (again["erased"], again["complete"]) == ([], True)


def test_in_python_it_gives_the_receipt(home: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    before = vectors(home)
    memory = skymem.open_memory(agent="sky", home=str(home.paths.root))
    own = ids_of(home)["The printer is on the second floor"]
    planned = memory.erase(own, dry_run=True)
    receipt = memory.erase(own)

    assert planned["erased"] == receipt["erased"] == [own]
    assert json.dumps(receipt)
    assert traces(home.paths.root, "The printer is on the second floor") == []
    assert traces(home.paths.root, raw=(*before,)) == []  # without its engine: all of them
    monkeypatch.delenv("SKYMEM_ENGINE")
    assert home.done("index")["pending"] == 0
    assert whole(home.done("index", "--stats")) == []
