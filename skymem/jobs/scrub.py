"""Taking what was erased out of vectors: index, cache, and what other models have left (row X5).

Chroma leaves the bytes of what it deletes, so the index is made anew, from a cache without them.
Its owner does that, and is waited for; no lock is held meanwhile. Where there is no engine to be
had, and none runs, everything an agent has of vectors is removed under the engine's lock: the next
one makes it anew from the lines.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from skymem.engine.caches import model_of
from skymem.engine.left_behind import left_on_servers, note_left
from skymem.engine.room import set_aside_root
from skymem.engine.shadow import dismiss_shadow
from skymem.errors import BusyError, EngineUnavailableError, SkymemError
from skymem.jobs.erase_derived import remove
from skymem.jobs.index_run import wait_until_whole
from skymem.jobs.indexed import Indexed
from skymem.jobs.stale import IDS_AT_ONCE, ids_of_index
from skymem.jobs.workplace import Workplace
from skymem.stores.erasures import Erasure, Erasures
from skymem.stores.files import disk_errors
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.lock import held
from skymem.stores.status import read_json

if TYPE_CHECKING:
    from skymem.engine.client import Engine

VECTORS: Final = "vectors"
LOCK_SECONDS: Final = 5.0


class VectorsLeftError(SkymemError):
    """vectors of what was erased are still there: {0}"""

    exit_code = 40
    hint = "erase again, or run skymem index: it goes on where it was"


def scrub(work: Workplace, erasure: Erasure) -> None:
    """Take an erasure's vectors away; no lock may be held.

    Raises:
        VectorsLeftError: that is not done; do it again.
        DiskError, InterruptedRunError: likewise.
    """
    agent = erasure.agent
    place = erasure.count(VECTORS)
    directories = directories_of(work.paths, agent)
    if not directories:
        place.done, place.action = True, "there were none"
        return
    _note_servers(work.paths, erasure)
    try:
        if work.engine is None:
            raise EngineUnavailableError("SKYMEM_ENGINE=off keeps it from being used")
        _by_engine(work, work.engine(), erasure)
        place.action = "made anew without them"
    except EngineUnavailableError as error:
        _without_engine(work, agent, str(error))
        place.action = "removed; the next index run makes them anew from the lines"
    place.done = True


def directories_of(paths: HomePaths, agent: str) -> list[Path]:
    """Everything of an agent's vectors: generations, caches, what is kept, made, or set aside."""
    tops = (paths.chroma_store, *paths.generations_beside)
    found = [one for top in tops for one in sorted((top / agent).glob("g*")) if one.is_dir()]
    found += [one for one in sorted((paths.embeddings / agent).glob("*")) if one.is_dir()]
    return found + sorted(set_aside_root(paths).glob(f"{agent}-g*"))


def _note_servers(paths: HomePaths, erasure: Erasure) -> None:
    """Note which servers have, or had, vectors of it."""
    here = paths.chroma_store / erasure.agent
    manifests = (read_json(one / "manifest.json") or {} for one in here.glob("g*"))
    urls = {str(one["server"]) for one in (*manifests, *left_on_servers(here)) if one.get("server")}
    erasure.remote = sorted(urls | {*erasure.remote})


# -- by its owner ----------------------------------------------------------------------------


def _by_engine(work: Workplace, engine: "Engine", erasure: Erasure) -> None:
    agent = erasure.agent
    targets = Erasures(work.paths, work.files, agent).targets(erasure)
    ids = [*_all_ids(engine, agent)] if erasure.everything else [one.name for one in targets]
    for first in range(0, len(ids), IDS_AT_ONCE):
        work.check_stop()
        dropped = engine.drop(agent, ids[first : first + IDS_AT_ONCE])
        erasure.count(VECTORS).before += int(dropped["dropped"])
    engine.purge(agent)
    degraded = [*work.degraded]
    wait_until_whole(work, engine, [Indexed(agent)])
    overview = engine.overview()
    key = str(overview.get("model_key", ""))
    fresh = str(overview.get("agents", {}).get(agent, {}).get("generation", ""))
    _remove_others(work, agent, key)
    old = [one for one in directories_of(work.paths, agent) if one.name not in (fresh, key)]
    if old:
        why = "; ".join(one for one in work.degraded if one not in degraded)
        work.degraded[:] = degraded
        raise VectorsLeftError(why or f"{old[0].relative_to(work.paths.root)} is there still")


def _all_ids(engine: "Engine", agent: str) -> Sequence[str]:
    pages = (page for name in ("memory", "recent") for page in ids_of_index(engine, agent, name))
    return [name for page in pages for name in page]


def _remove_others(work: Workplace, agent: str, key: str) -> None:
    """Remove what models that are not in use have, and what was set aside as damaged."""
    paths = work.paths
    others = [one for one in (paths.embeddings / agent).glob("*") if one.name != key]
    others += [one for top in paths.generations_beside for one in (top / agent).glob("g*")]
    others += [*set_aside_root(paths).glob(f"{agent}-g*")]
    if others:
        _under_shadow_lock(work, agent, others)


def _under_shadow_lock(work: Workplace, agent: str, directories: Sequence[Path]) -> None:
    """Remove directories that an engine beside may use; one that makes an index begins anew."""
    dismiss_shadow(work.paths, work.files)
    lock = ShadowPaths(work.paths.root).engine_lock
    work.files.make_directory(lock.parent)
    with held(lock, "erase", deadline_seconds=LOCK_SECONDS, stop=work.stop):
        _remove(work, agent, directories)


# -- where it is away ------------------------------------------------------------------------


def _without_engine(work: Workplace, agent: str, why: str) -> None:
    """Remove all vectors of an agent, where no engine runs.

    Raises:
        VectorsLeftError: one does.
    """
    paths = work.paths
    work.files.make_directory(paths.rag)
    try:
        with held(paths.engine_lock, "erase", deadline_seconds=LOCK_SECONDS, stop=work.stop):
            _under_shadow_lock(work, agent, directories_of(paths, agent))
            here = paths.chroma_store / agent  # else the cursors would hold for what is gone
            remove([here / name for name in ("current.json", "closed.json", "crashes.json")], work)
    except BusyError as busy:
        raise VectorsLeftError(f"{why}; and {busy}") from busy


def _remove(work: Workplace, agent: str, directories: Sequence[Path]) -> None:
    """Remove directories; what a server has of a generation is noted, and told by `doctor`."""
    here = work.paths.chroma_store / agent
    for directory in directories:
        if model_of(directory) and not directory.is_relative_to(work.paths.embeddings):
            work.files.make_directory(here)
            note_left(here, read_json(directory / "manifest.json"), work.files)
        with disk_errors(directory):
            shutil.rmtree(directory)
