"""`skymem index`: the job over agents, its detail, and what it finds by looking only (row R8)."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import DiskError, EngineUnavailableError, SkymemError
from skymem.jobs import erase_end
from skymem.jobs.index import BATCH, COLLECTIONS, every_short, index_agents, is_owed
from skymem.jobs.indexed import Indexed
from skymem.jobs.stale import ids_of_index
from skymem.jobs.summary import building_words
from skymem.jobs.words import keep_words
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors, index_epoch, rag_pending
from skymem.stores.model_record import model_in_use
from skymem.stores.status import read_json
from skymem.stores.vectorless import vectorless
from skymem.stores.word_file import WordIndexError

if TYPE_CHECKING:  # a dry run needs no engine
    from skymem.engine.client import Engine

LOOK_SECONDS: Final = 0.2
"""Between two looks at an engine that makes an index anew."""

STILL_SECONDS: Final = 15.0
"""An index that has not moved for so long waits for something: room, or a pause after damage."""

SAMPLE: Final = 50
"""Memories that are asked to find themselves, of each agent."""

TOLD_IDS: Final = 20


def run(
    work: Workplace,
    agents: Sequence[str],
    *,
    dry_run: bool = False,
    only_if_owed: bool = False,
    force: bool = False,
    batch: int = BATCH,
) -> tuple[dict[str, Any], list[Indexed]]:
    """Embed what is owed, and wait until the index is whole.

    Args:
        work: the home.
        agents: whom for.
        dry_run: count what is owed; starts no engine.
        only_if_owed: leave agents alone whose index lacks nothing as far as the catalog knows.
        force: make each index anew from the cache and the lines.
        batch: memories handed to the engine at once, at most.
    """
    with reported(work) as report, work.catalog() as catalog:
        if work.engine is None:
            work.degrade("index: SKYMEM_ENGINE=off keeps the engine from being used")
        report.results = [_rehearsed(work, catalog, agent) for agent in agents]
        if not dry_run:
            erase_end.finish(work, catalog, agents)
            keep_words(work, catalog, agents, force=force)
        if not dry_run and work.engine is not None:
            whom = [one.agent for one in report.results if not only_if_owed or one.owed]
            done = _indexed(work, catalog, whom, report, force=force, batch=batch)
            report.results = [done.get(one.agent, one) for one in report.results]
        pending = sum(rag_pending(work.paths, catalog, agent) for agent in agents)
    detail = report.detail(pending, work.degraded)
    if dry_run:
        detail["dry_run"] = True
    return detail, report.results


def examine(work: Workplace, agents: Sequence[str]) -> tuple[dict[str, Any], list[Indexed]]:
    """Compare each index with the lines: ids on both sides, and a sample that must find itself."""
    found: dict[str, Any] = {}
    with reported(work) as report, work.catalog() as catalog:
        engine = engine_of(work)
        for agent in agents:
            report.results.append(_rehearsed(work, catalog, agent))
            found[agent] = _compared(work, catalog, engine, report.results[-1])
        report.look(engine)
        pending = sum(rag_pending(work.paths, catalog, agent) for agent in agents)
    detail = report.detail(pending, work.degraded)
    for agent, stats in found.items():
        detail["agents"][agent] |= stats
    detail["in_use"] = model_in_use(work.rules.engine, work.paths)._asdict()
    return detail, report.results


class Report:
    """What is gathered while a run goes on."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.clock = time.monotonic()
        self.results: list[Indexed] = []
        self.engine: dict[str, Any] = {}
        """What the engine said of itself, now or last."""

    def look(self, engine: "Engine") -> None:
        """Ask the engine what it holds now."""
        with suppress(SkymemError):
            self.engine = engine.overview()

    def _count(self) -> None:
        for result in self.results:
            index = (self.engine.get("agents") or {}).get(result.agent)
            if index is not None and "memory" in index:  # else it could not even be opened
                result.indexed = index["memory"] + index["recent"]

    def detail(self, pending: int, degraded: Sequence[str]) -> dict[str, Any]:
        """The job's detail (docs/daemon.md, "What a run reports")."""
        self._count()
        each = self.results
        known = [result.indexed for result in each if result.indexed is not None]
        detail: dict[str, Any] = {
            "ok": not any(result.error for result in each),
            "job": "index",
            "started": self.started,
            "duration_s": round(time.monotonic() - self.clock, 6),
            "eligible": sum(result.eligible for result in each),
            "acted": sum(result.embedded for result in each),
            "skipped": {},
            "quarantined": 0,
            "embedded": sum(result.embedded for result in each),
            "chunks": sum(result.chunks for result in each),
            "pending": sum(result.pending for result in each),
            "taken_out": sum(result.taken_out for result in each),
            "let_go": sum(result.let_go for result in each),
            "indexed": sum(known) if known else None,
            "model": self.engine.get("model"),
            "dimension": self.engine.get("dimension"),
            "rag_pending": pending,
            "degraded": list(degraded),
            "agents": {result.agent: result.to_json() for result in each},
        }
        if not detail["acted"]:
            detail["why"] = self._why_nothing()
        errors = dict.fromkeys(result.error for result in each if result.error)
        if errors:
            detail["error"] = "; ".join(errors)
        return detail

    def _why_nothing(self) -> str:
        if not self.results:
            return "there is no agent yet"
        if any(result.error for result in self.results):
            return "it failed"
        return "the index has everything" if not any(r.pending for r in self.results) else "not yet"


@contextmanager
def reported(work: Workplace) -> Iterator[Report]:
    """Gather what a run does, for its detail."""
    report = Report(work.now())
    report.engine = read_json(work.paths.engine_status) or {}
    yield report


def _indexed(
    work: Workplace,
    catalog: Catalog,
    agents: Sequence[str],
    report: Report,
    *,
    force: bool,
    batch: int,
) -> dict[str, Indexed]:
    if not agents:
        return {}
    engine = engine_of(work)
    results = index_agents(work, catalog, agents, engine, force=force, batch=batch)
    wait_until_whole(work, engine, results)
    report.look(engine)
    return {result.agent: result for result in results}


def engine_of(work: Workplace) -> "Engine":
    """Connect to the home's engine.

    Raises:
        EngineUnavailableError: it is not to be used here.
    """
    if work.engine is None:
        raise EngineUnavailableError("SKYMEM_ENGINE=off keeps it from being used; unset that")
    return work.engine()


def _rehearsed(work: Workplace, catalog: Catalog, agent: str) -> Indexed:
    """Count what is owed, by the catalog; short-term's share is known to the engine alone."""
    result = Indexed(agent)
    try:
        work.ask(catalog, work.shelf(agent), lambda: None)
        cursors = IndexCursors(catalog, agent, index_epoch(work.paths, agent))
        archive = cursors.owed("archive") if work.rules.engine.recent else 0
        result.pending = cursors.owed("long")
        result.eligible = result.pending + archive
        result.owed = is_owed(work, catalog, agent)
    except SkymemError as error:
        result.error, result.exit_code = str(error), error.exit_code
    return result


def wait_until_whole(work: Workplace, engine: "Engine", results: Sequence[Indexed]) -> None:
    """Wait while the engine makes an index anew: until then recall is degraded."""
    agents = {result.agent for result in results if not result.error}
    seen: Mapping[str, Any] = {}
    moved_at = time.monotonic()
    while True:
        indexes = engine.overview().get("agents", {})  # none yet, where it has just been started
        left = {
            agent: indexes[agent] for agent in agents & indexes.keys() if _has_more(indexes[agent])
        }
        if left != seen:
            seen, moved_at = left, time.monotonic()
        if not left:
            return
        if time.monotonic() > moved_at + STILL_SECONDS:
            for agent, index in left.items():
                work.degrade(f"{agent}: {['its index does not get on', *index['problems']][-1]}")
            return
        for agent, index in left.items():
            if index["building"]:
                work.tell(f"{agent}: {building_words(index['building'])}")
        work.check_stop()
        time.sleep(LOOK_SECONDS)


def _has_more(index: Mapping[str, Any]) -> bool:
    """Whether Chroma has yet to get vectors, or can't be asked what it has."""
    return bool(index.get("owed") or index.get("building") or index.get("away"))


def _compared(
    work: Workplace, catalog: Catalog, engine: "Engine", result: Indexed
) -> dict[str, Any]:
    """Hold the ids of each index and of the lines together, and ask some memories for themselves.

    The word index has what does not change under it: long-term and archives.
    """
    agent = result.agent
    try:
        stats = engine.stats(agent, SAMPLE)
        extra: dict[str, Any] = {}
        for collection in ("memory", "recent"):
            tiers = [tier for tier, name in COLLECTIONS.items() if name == collection]
            lines = _ids_of_lines(work, catalog, agent, tiers)
            index = set(chain.from_iterable(ids_of_index(engine, agent, collection)))
            extra[collection] = _held_together(lines, index)
        cursors = IndexCursors(catalog, agent, "")
        lines = {name for tier in ("long", "archive") for name in cursors.ids(tier)}
        words = _held_together(lines, _ids_of_words(work, agent))
    except SkymemError as error:
        result.error, result.exit_code = str(error), error.exit_code
        return {}
    return {"compared": extra, "words": words, "stats": stats}


def _held_together(lines: set[str], index: set[str]) -> dict[str, Any]:
    missing, stale = sorted(lines - index), sorted(index - lines)
    return {
        "lines": len(lines),
        "indexed": len(index),
        "missing": len(missing),
        "stale": len(stale),
        "missing_ids": missing[:TOLD_IDS],
        "stale_ids": stale[:TOLD_IDS],
    }


def _ids_of_words(work: Workplace, agent: str) -> set[str]:
    """What the word index has; nothing where there is none that can be read."""
    if not work.paths.words_of(agent).exists():
        return set()
    try:
        with work.words(agent) as words:
            return words.ids()
    except WordIndexError as error:
        work.degrade(f"word index: {error}")
        return set()


def _ids_of_lines(work: Workplace, catalog: Catalog, agent: str, tiers: Sequence[str]) -> set[str]:
    """The ids of what the tiers hold and is to be indexed; blank texts count as well."""
    cursors = IndexCursors(catalog, agent, "")
    found = {name for tier in tiers if tier != "short" for name in cursors.ids(tier)}
    if "short" in tiers:
        if not work.rules.engine.recent:
            return set()
        found |= {entry.id for entry in every_short(work.shelf(agent), catalog)}
    return found - vectorless(catalog, agent)


def export_onnx(work: Workplace, *, dry_run: bool = False) -> dict[str, Any]:
    """Write the model's fp32 ONNX file, in a process of its own: torch belongs to engines alone.

    Raises:
        EngineUnavailableError: the extra is missing, or the file is not as good as the model.
    """
    from skymem.engine.launch import engine_environment

    model, target = model_in_use(work.rules.engine, work.paths).model, work.paths.models
    if dry_run:
        from skymem.engine.models import directory_name

        return {"path": str(target / directory_name(model) / "model.onnx"), "dry_run": True}
    # `-P`, as the engine: whoever can write to where one stands must not decide what is imported.
    command = [sys.executable, "-P", "-m", "skymem.engine.export", model, str(target)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=engine_environment()
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        said = said.removeprefix("skymem: ").removeprefix("the engine is not available: ")
        if done.returncode == DiskError.exit_code:
            raise DiskError(*said.split(": ", 1))
        raise EngineUnavailableError(said)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if work.engine is not None:  # the one that runs has the old file open
        work.engine().leave()
    return told
