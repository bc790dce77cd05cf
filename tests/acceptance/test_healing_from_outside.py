"""An index damaged behind everybody's back: recall goes on, and no person has to help.

Everything is a process of its own, with the real model. Each damage is done to an agent of its own,
of one home, so that one engine has to bear all of them. Of each it is shown first that it is real:
Chroma alone, on a copy, crashes, refuses or misses, or what was there is gone.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from skymem.stores.home import AgentPaths, HomePaths
from tests.acceptance.homes import ROOT, START, Outside, line, whole

FACTS = {
    "The user wants the weekly report at 7am": "when should the report be delivered?",
    "Her daughter is allergic to peanuts": "what must her daughter avoid to eat?",
    "The car's brakes were replaced in March": "when did somebody repair those brakes?",
    "The router password hangs behind the fridge": "where do I find the wifi password?",
}
"""Facts, and questions that share a word or two with them: without its vectors words must do."""

MANY = 1_010
"""More than Chroma keeps in its queue: from 1,000 on HNSW is in files that can be damaged."""

FEW = 40
HEALED_SECONDS = 60.0

FILL = """
import sys
from skymem import app
from skymem.engine.embedding import nothing
from skymem.engine.index import HomeIndex
from skymem.engine.items import Item
from skymem.engine.models import open_embedder
from skymem.model.identity import digest
from skymem.model.spelling import read_line
from benchmarks.filled_index import MadeUp

home = app.open_home(sys.argv[1])
made_up = MadeUp(open_embedder(home.rules.engine, home.paths.models).identity)
index = HomeIndex(
    home.paths, home.files, made_up, rules=home.rules.engine, now=app.now, between=nothing
)
for agent in home.agents():
    with home.paths.agent(agent).long_term.open("rb") as stream:
        found = [read_line(raw) for raw in stream]
    items = [Item(one.source_id, digest(one).hex(), one.content) for one in found]
    index.put(agent, "memory", items)
while index.tend():
    pass
index.close()
"""
"""As `benchmarks.filled_index` does, for every agent: what is damaged need not mean anything."""

RAW = """
import sys
from pathlib import Path
from skymem.engine import probe
print(*probe.sample(Path(sys.argv[1]), sys.argv[2]))
"""


# -- what is done to an agent's index -------------------------------------------------------------


def generation(paths: HomePaths, agent: str) -> Path:
    (found,) = (paths.chroma_store / agent).glob("g*")
    return found


def hnsw(paths: HomePaths, agent: str, name: str) -> Path:
    """A file of the collection that has one: memory."""
    (found,) = generation(paths, agent).glob(f"*/{name}")
    return found


def cache(paths: HomePaths, agent: str, name: str) -> Path:
    (found,) = (paths.embeddings / agent).glob(f"*/{name}")
    return found


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def overwritten(path: Path, pattern: bytes) -> None:
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.write((pattern * (size // len(pattern) + 1))[:size])


def of_another_version(manifest: Path) -> None:
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "chromadb": "0.4.24"}))


NOISE = bytes(range(1, 256))
LEVEL0 = "data_level0.bin"
Damage = Callable[[HomePaths, str], object]
TO_CHROMA: dict[str, Damage] = {
    "level_0_cut": lambda p, a: cut(hnsw(p, a, LEVEL0)),
    "level_0_zeroed": lambda p, a: overwritten(hnsw(p, a, LEVEL0), b"\0"),
    "level_0_garbage": lambda p, a: overwritten(hnsw(p, a, LEVEL0), NOISE),
    "header_cut": lambda p, a: cut(hnsw(p, a, "header.bin")),
    "segment_deleted": lambda p, a: shutil.rmtree(hnsw(p, a, LEVEL0).parent),
    "pickle_deleted": lambda p, a: hnsw(p, a, "index_metadata.pickle").unlink(),
    "sqlite_emptied": lambda p, a: (generation(p, a) / "chroma.sqlite3").write_bytes(b""),
}
AROUND: dict[str, Damage] = {
    "generation_deleted": lambda p, a: shutil.rmtree(generation(p, a)),
    "current_garbage": lambda p, a: (p.chroma_store / a / "current.json").write_bytes(NOISE),
    "another_chromadb": lambda p, a: of_another_version(generation(p, a) / "manifest.json"),
    "register_garbage": lambda p, a: overwritten(cache(p, a, "register.db"), NOISE),
    "vectors_cut": lambda p, a: cut(cache(p, a, "vectors.f32")),
    "cache_deleted": lambda p, a: shutil.rmtree(p.embeddings / a),
}
DAMAGES = {**TO_CHROMA, **AROUND}
UNDER_AN_ENGINE = (
    *("level_0_garbage", "segment_deleted", "sqlite_emptied", "generation_deleted"),
    *("current_garbage", "register_garbage", "vectors_cut", "cache_deleted"),
)
"""As many as an engine has open at once."""


# -- a home with an agent for each ----------------------------------------------------------------


def remember(home: Outside, agent: str, fillers: int) -> None:
    tiers: AgentPaths = home.paths.agent(agent)
    tiers.directory.mkdir(exist_ok=True)
    lines = [line(f"made up {n}", ts=START + n, id=f"f{n:04}") for n in range(fillers)]
    tiers.long_term.write_bytes(b"".join(lines))
    tiers.short_term.write_bytes(b"".join(line(fact) for fact in FACTS))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A home that is whole, and its engine gone; copied for every test."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("SKYMEM_ENGINE", raising=False)
        home = Outside(HomePaths(tmp_path_factory.mktemp("filled") / "home"))
        home("init", str(home.paths.root))
        (home.paths.memory / "sky").rmdir()
        for agent in DAMAGES:
            remember(home, agent, MANY if agent in TO_CHROMA else FEW)
        command = [sys.executable, "-c", FILL, str(home.paths.root)]
        subprocess.run(command, check=True, cwd=ROOT)
        try:
            assert home.done("promote")["degraded"] == []
            indexed = home.done("index")  # a promotion waits for its index no longer than a while
            assert (indexed["pending"], indexed["degraded"]) == (0, [])
            heals(home, DAMAGES)
        finally:
            home.close()
        yield home


@pytest.fixture
def home(filled: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    monkeypatch.delenv("SKYMEM_ENGINE")
    shutil.copytree(filled.paths.root, tmp_path / "home")
    made = Outside(HomePaths(tmp_path / "home"))
    assert made.done("index")["embedded"] == 0  # the catalog has to see that it was moved
    yield made
    made.close()


def damage_all(home: Outside, agents: Iterable[str], place: Path) -> None:
    """Do to each agent what it is named after, and assert that it does harm."""
    for agent in agents:
        DAMAGES[agent](home.paths, agent)
    raw = {}
    for agent in TO_CHROMA.keys() & {*agents}:
        shutil.copytree(generation(home.paths, agent), place / agent)
        command = [sys.executable, "-c", RAW, str(place / agent), agent]
        pipe = subprocess.PIPE
        raw[agent] = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    harmless = []
    for agent, process in raw.items():
        out, _ = process.communicate(timeout=60)
        asked, missed = map(int, out.split()) if not process.returncode else (0, 0)
        harmless += [agent] * (asked > 0 and missed == 0)
    assert harmless == []


def answers(home: Outside, agents: Iterable[str], turn: int) -> dict[str, list[str]]:
    """Ask each agent for one fact by a paraphrase; why it was degraded, where it was."""
    degraded = {}
    for number, agent in enumerate(agents, turn):
        fact, question = list(FACTS.items())[number % len(FACTS)]
        told = home("--agent", agent, "recall", question, "--json")
        assert told.code == 0, (agent, told)
        assert told.firsts() == [fact], (agent, told)
        if told.json["degraded"]:
            degraded[agent] = told.json["degraded"]
    return degraded


def wrong_with(home: Outside, agents: Iterable[str]) -> list[str]:
    """What index and status say is not as it should be."""
    stats, status = home.done("index", "--stats"), home.done("status")
    wrong = [f"{agent}: {one}" for agent in agents for one in whole(stats, agent)]
    pending = status["engine"]["rag_pending"]
    wrong += [
        *(one["text"] for one in status["alarms"]),
        *([f"pending: {pending}"] if pending else []),
    ]
    return wrong if wrong or status["health"] == "healthy" else ["it is not healthy"]


def heals(home: Outside, agents: Iterable[str]) -> None:
    """All is well again within a minute; nobody helps but the schedule's entry, as often as due."""
    deadline = time.monotonic() + HEALED_SECONDS
    while True:
        assert home("trigger", "index").code == 0
        wrong = wrong_with(home, agents)
        while wrong and not any("pending" in one for one in wrong):
            assert time.monotonic() < deadline, wrong
            time.sleep(0.3)
            wrong = wrong_with(home, agents)
        if not wrong:
            return
        assert time.monotonic() < deadline, wrong  # what is damaged shows late where it was open


# -- what is promised -----------------------------------------------------------------------------


def test_damage_while_no_engine_runs_heals(home: Outside, tmp_path: Path) -> None:
    home.end_engine()
    damage_all(home, DAMAGES, tmp_path / "copies")
    degraded = answers(home, DAMAGES, 0)
    assert "not indexed yet" in degraded["cache_deleted"][0]
    heals(home, DAMAGES)
    assert answers(home, DAMAGES, 1) == {}


def test_damage_under_a_running_engine_heals(home: Outside, tmp_path: Path) -> None:
    assert answers(home, UNDER_AN_ENGINE, 0) == {}
    pid = home.engine_pid()
    damage_all(home, UNDER_AN_ENGINE, tmp_path / "copies")
    answers(home, UNDER_AN_ENGINE, 1)
    heals(home, UNDER_AN_ENGINE)
    # What a running engine has open it may not notice; the next one must not suffer from it.
    home.end_engine()
    answers(home, UNDER_AN_ENGINE, 2)
    assert home.engine_pid() not in (0, pid)
    heals(home, UNDER_AN_ENGINE)
    assert answers(home, UNDER_AN_ENGINE, 3) == {}


@pytest.mark.parametrize("running", [False, True], ids=["stopped", "running"])
@pytest.mark.parametrize("directory", ["rag", "state"])
def test_a_derived_directory_that_is_deleted_whole_comes_back(
    directory: str, running: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")
    home = Outside(HomePaths(tmp_path / "home"))
    home("init", str(home.paths.root))
    remember(home, "sky", FEW)
    try:
        assert home.done("promote")["rag_pending"] == 0
        if not running:
            home.end_engine()
        shutil.rmtree(home.paths.root / directory)
        answers(home, ["sky"], 0)
        heals(home, ["sky"])
        assert (home.paths.root / directory).is_dir()
        home.end_engine()
        assert answers(home, ["sky"], 1) == {}
        heals(home, ["sky"])
    finally:
        home.close()
