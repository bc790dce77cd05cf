"""The index of a home: what the engine's process does for its clients, agent by agent.

A put is durable when it returns, in matrix and register; Chroma gets it in `tend`. A query is
answered from the matrix, through Chroma only where that is quicker, so that damage to either costs
time and never an answer (promise 7, rows R7 and R14).
"""

import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from skymem.engine import search
from skymem.engine.agent import Agent, degraded, overview, renew, search_agent, stats
from skymem.engine.asked import Asked
from skymem.engine.at_work import NAME, AtWork
from skymem.engine.changing import Changing
from skymem.engine.embedding import Embedder
from skymem.engine.generations import Generations
from skymem.engine.items import COLLECTIONS, Item, collection_code
from skymem.engine.keeper import Keeper
from skymem.engine.register import RegisterDamageError
from skymem.engine.remote_generations import generations_of
from skymem.engine.room import index_bytes, limit_file_size, require_room
from skymem.engine.store import REGISTER, Store, set_aside_register, text_hash
from skymem.engine.vectors import Vectors
from skymem.errors import DiskError, EngineUnavailableError, UsageError
from skymem.model.rules import EngineRules
from skymem.policy.admit import agent_name_fault
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey
from skymem.stores.tombstones import Graveyard

OPEN_MAX: Final = 8
"""Agents open at once: each has a Chroma client with its vectors in memory."""

OPEN_SECONDS: Final = 10.0
"""How long `stats` waits for a generation to be opened and verified."""

ATTEMPTS: Final = 3

T = TypeVar("T")


class HomeIndex(Changing):
    """The vectors of all agents of a home. One thread, one process: the holder of `engine.lock`."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        embedder: Embedder,
        *,
        rules: EngineRules,
        now: Callable[[], float],
        between: Callable[[], None],
    ) -> None:
        """Call `between` in the pauses of long work; it may ask this index back.

        Raises:
            DiskError: the home can't be written to.
        """
        self._paths = paths
        self._files = files
        self._embedder = embedder
        self._rules = rules
        self._now = now
        self._between = between
        self._open: OrderedDict[str, Agent] = OrderedDict()
        self._in_use: list[str] = []
        self._seen: dict[str, dict[str, Any]] = {}
        self._visited: set[str] = set()
        # Used since `tend` last found nothing to do for them: it comes back to those.
        self._unsettled: set[str] = set()
        self._lost: dict[str, str] = {}
        self._asked = Asked(embedder)
        self._graveyard = Graveyard(paths, lambda: HomeKey.of(paths, files))
        self._rows_max = 0
        files.make_directory(paths.run)
        self._at_work = AtWork(paths.run / NAME, files)
        left = self._at_work.left_behind
        if left is not None and agent_name_fault(left.agent) is None:
            with contextlib.suppress(DiskError):
                self._generations(left.agent).note_crash(left.generation)

    # -- agents ---------------------------------------------------------------------------------

    def _generations(self, agent: str) -> Generations:
        identity, remote = self._embedder.identity, self._rules.remote
        return generations_of(
            self._paths, agent, self._files, identity, remote=remote, between=self._between
        )

    def _agent(self, name: str) -> Agent:
        """The agent, opened where it is not; another one leaves for it where too many are."""
        found = self._open.get(name)
        if found is not None and not found.store.is_there():
            found.close()
            del self._open[name]
            found = None
        if found is None:
            found = self._open_agent(name)
        self._open.move_to_end(name)
        self._rows_max = max(self._rows_max, found.store.size)
        return found

    def _open_agent(self, name: str) -> Agent:
        for other in list(self._open):
            if len(self._open) >= OPEN_MAX and other not in self._in_use:
                self._see(other)
                self._open.pop(other).close()
                if other in self._unsettled:
                    self._visited.discard(other)
        identity = self._embedder.identity
        directory = self._paths.embeddings / name / identity.key
        store = Store(directory, identity.dimension, self._files, self._rules.threads)
        keeper = Keeper(
            name,
            self._generations(name),
            self._at_work,
            now=self._now,
            room_rows=lambda: self._rows_max,
        )
        keeper.problems.extend(store.problems)
        if name in self._lost:
            keeper.problems.append(self._lost.pop(name))
        with contextlib.suppress(DiskError):  # what is owed then stays so
            keeper.generations.tidy()
            keeper.announce(store)
        self._open[name] = Agent(store, keeper)
        self._visited.add(name)
        return self._open[name]

    def _with(self, name: str, work: Callable[[Agent], T]) -> T:
        """Do something with an agent; where its register turns out damaged, again on a new one."""
        self._in_use.append(name)
        self._unsettled.add(name)
        why = ""
        try:
            for _ in range(ATTEMPTS):
                try:
                    return work(self._agent(name))
                except RegisterDamageError as damage:
                    why = str(damage)
                    self._lose_register(name, why)
        finally:
            self._in_use.remove(name)
        raise EngineUnavailableError(f"the register of {name} can't be kept: {why}")

    def _lose_register(self, name: str, why: str) -> None:
        """Put a damaged register out of the way: the next opening makes another, of a new epoch."""
        if (found := self._open.pop(name, None)) is not None:
            found.close()
        directory = self._paths.embeddings / name / self._embedder.identity.key
        set_aside_register(directory, self._files)
        self._lost[name] = f"{directory / REGISTER} could not be read ({why}); it was made anew"

    # -- writing --------------------------------------------------------------------------------

    def put(self, agent: str, collection: str, items: Sequence[Item]) -> dict[str, Any]:
        """Index memories, durable when it returns; and each in this collection only.

        What was erased meanwhile, and is handed over late, is passed over (row X5).

        Raises:
            DiskError: no room; everything is as before.
            EngineUnavailableError: the model is broken.
        """
        code = collection_code(collection)
        erased = self._graveyard.of(agent)
        given = dict.fromkeys(item.id for item in items)
        last = {
            item.id: item
            for item in items
            if not erased or not erased.has_line(bytes.fromhex(item.digest))
        }
        pieces = {item.id: self._embedder.chunks(item.text) for item in last.values()}
        texts = {text_hash(text): text for found in pieces.values() for text in found}
        entries = [
            (item.id, item.digest, [text_hash(text) for text in pieces[item.id]])
            for item in last.values()
        ]
        encoded: dict[bytes, Vectors] = {}

        def keep(found: Agent) -> str:
            if _left(found, texts, encoded):
                return ""  # the cache was lost meanwhile, and made anew
            limit_file_size(self._rows_max + sum(map(len, pieces.values())), found.store.dimension)
            found.store.put(encoded, entries, code)
            found.keeper.announce(found.store)
            return found.store.register.epoch

        epoch = ""
        while not epoch:
            self._encode_missing(agent, texts, len(entries), encoded)
            epoch = self._with(agent, keep)
        return {
            "embedded": len(encoded),
            "cached": len(texts) - len(encoded),
            "epoch": epoch,
            "done": list(given),
        }

    def _encode_missing(
        self, agent: str, texts: dict[bytes, str], entries: int, encoded: dict[bytes, Vectors]
    ) -> None:
        """Encode those texts that the cache has not; queries may be answered meanwhile."""

        def missing(found: Agent) -> list[bytes]:
            left = _left(found, texts, encoded)
            needed = found.store.bytes_of(len(left) + len(encoded), entries)
            for place in (self._paths.rag, self._paths.embeddings):
                require_room(place, needed)
            return left

        # Again, as what `between` does may find the cache damaged and lose rows.
        while left := self._with(agent, missing):
            vectors = self._embedder.encode([texts[one] for one in left], self._between)
            encoded.update(zip(left, vectors, strict=True))

    def drop(self, agent: str, ids: Sequence[str]) -> dict[str, Any]:
        """Take memories out of the index."""
        return {"dropped": self._with(agent, lambda found: found.store.drop(ids))}

    # -- reading --------------------------------------------------------------------------------

    def missing(
        self, agent: str, collection: str, items: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        """Tell which memories (id, digest) are not indexed there so, and how many are at all."""

        def ask(found: Agent) -> dict[str, Any]:
            register = found.store.register
            known = register.known(collection_code(collection), [one for one, _ in items])
            left = [one for one, digest in items if known.get(one) != digest]
            return {"missing": left, "epoch": register.epoch, "held": [*register.counts()]}

        return self._with(agent, ask)

    def ids(self, agent: str, collection: str, after: str, limit: int) -> dict[str, Any]:
        """A page of the ids that are indexed, in order."""
        code = collection_code(collection)
        if limit < 1:
            raise UsageError(f"limit: {limit} is not 1 or more")

        def ask(found: Agent) -> dict[str, Any]:
            register = found.store.register
            return {"ids": register.page(code, after, limit), "epoch": register.epoch}

        return self._with(agent, ask)

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = COLLECTIONS,
        also: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Find the memories nearest to `text`, best first, and compare it with those of `also`.

        Raises:
            UsageError: no such collection, or a limit below 0.
        """
        if limit < 0:
            raise UsageError(f"limit: {limit} is not 0 or more")
        for name in collections:
            collection_code(name)
        pieces = self._embedder.chunks(text)
        asked = {text_hash(piece): piece for piece in pieces}

        def answer(found: Agent) -> dict[str, Any]:
            store = found.store
            counts = dict(zip(COLLECTIONS, store.register.counts(), strict=True))
            hits: search.Hits = []
            compared: dict[str, float] = {}
            if asked and store.count:
                vectors = self._asked.vectors(store, asked)
                query = search.Query(vectors, list(asked), limit, tuple(dict.fromkeys(collections)))
                hits = search_agent(found, query) if limit else []
                compared = search.compared(store, query, also)
            return {
                "hits": [list(hit) for hit in hits],
                "also": compared,
                "degraded": degraded(found),
                "epoch": store.register.epoch,
                "indexed": sum(counts[name] for name in set(collections)),
            }

        return self._with(agent, answer)

    # -- care -----------------------------------------------------------------------------------

    def rebuild(self, agent: str) -> dict[str, Any]:
        """Begin a new generation from the cache; `tend` fills it, and encodes nothing.

        Raises:
            DiskError: no room for a second one.
        """
        return self._with(agent, renew)

    def purge(self, agent: str) -> dict[str, Any]:
        """Keep no vector that no memory needs, and begin a new generation; see `Store.purge`.

        Raises:
            DiskError: no room for a second one.
        """

        def purge(found: Agent) -> dict[str, Any]:
            found.store.purge()
            return renew(found)

        return self._with(agent, purge)

    def tend(self) -> bool:
        """One slice of what there is to do between requests; True while there is more."""
        for name in list(self._open) + self._unvisited()[:1]:
            try:
                if self._with(name, self._tend_agent):
                    return True
                self._unsettled.discard(name)
            except (DiskError, EngineUnavailableError) as error:
                self._visited.add(name)
                self._unsettled.discard(name)
                self._seen.setdefault(name, {})["problems"] = [str(error)]
        return bool(self._unvisited())

    def _tend_agent(self, found: Agent) -> bool:
        if found.keeper.step(found.store) or found.coarsen():
            return True
        if found.keeper.is_waiting:
            return False
        return found.compact(self._paths)

    def _unvisited(self) -> list[str]:
        """Agents with a register of this model that this process has not looked at."""
        key = self._embedder.identity.key
        try:
            names = sorted(os.listdir(self._paths.embeddings))
        except FileNotFoundError:
            return []
        return [
            name
            for name in names
            if name not in self._visited
            and agent_name_fault(name) is None
            and (self._paths.embeddings / name / key).is_dir()
        ]

    def stats(self, agent: str, sample: int) -> dict[str, Any]:
        """Compare register and Chroma piece by piece, and have `sample` pieces find themselves."""
        self._with(agent, self._open_whole)
        size = index_bytes(self._paths, agent)
        return self._with(agent, lambda found: stats(found, sample, size))

    def _open_whole(self, found: Agent) -> None:
        """Give a generation that is whole, but was not open, the time to be opened and verified."""
        deadline = time.monotonic() + OPEN_SECONDS
        while not found.keeper.usable and found.keeper.building(found.store) is None:
            if time.monotonic() > deadline or not found.keeper.step(found.store):
                return
            self._between()

    def overview(self) -> dict[str, Any]:
        """What there is, for the status: by agent, of those this process has looked at."""
        for name in list(self._open):
            self._see(name)
        identity = self._embedder.identity
        return {
            "model": identity.name,
            "model_key": identity.key,
            "backend": identity.backend,
            "precision": identity.precision,
            "sha256": identity.sha256,
            "dimension": identity.dimension,
            "agents": {name: dict(seen) for name, seen in sorted(self._seen.items())},
        }

    def _see(self, name: str) -> None:
        found = self._open[name]
        with contextlib.suppress(RegisterDamageError, DiskError):
            self._seen[name] = {**overview(found), "bytes": index_bytes(self._paths, name)}

    def close(self) -> None:
        """Close every agent's files; what was put stays."""
        for found in self._open.values():
            found.close()
        self._open.clear()
        self._at_work.close()


def _left(found: Agent, texts: dict[bytes, str], encoded: dict[bytes, Vectors]) -> list[bytes]:
    """Texts whose vectors are neither in the cache nor at hand."""
    there = found.store.register.rows_of(list(texts))
    return [one for one in texts if one not in there and one not in encoded]
