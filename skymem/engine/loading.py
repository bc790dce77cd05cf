"""Which model an engine loads, and how a running one goes over to another (row X10).

Each model's cache has a lock, held by the process that has it loaded: the engine and its shadow
never write to one cache. The engine goes by the home's record of the model in use, and looks at it
before each request; another one is loaded on a thread of its own while the old one answers.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from skymem.engine.embedding import Embedder, nothing
from skymem.engine.models import open_embedder
from skymem.engine.operations import Index
from skymem.engine.shadow import dismiss_shadow
from skymem.errors import BusyError, EngineUnavailableError, SkymemError, UsageError
from skymem.model.harmless import harmless
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.lock import held
from skymem.stores.stamp import Stamp, stamp_of

LOCK_SECONDS: Final = 10.0
"""How long another process may take to let go of a cache that it is done with."""

AGAIN_SECONDS: Final = 10.0
"""Before a model that could not be loaded is tried again; its cache may have been held."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is loaded; its cache is ours until `lock` is closed."""

    rules: EngineRules
    embedder: Embedder
    lock: ExitStack


def load(rules: EngineRules, paths: HomePaths, files: Files) -> Loaded:
    """Load the model that the rules name; the shadow gives its cache up to the engine.

    Raises:
        EngineUnavailableError: there is no such model here, or its cache is not let go.
        UsageError: this is the shadow, and its model is the one in use.
        DiskError: the disk refuses.
    """
    embedder = open_embedder(rules, paths.models)
    home = HomePaths(paths.root)
    files.make_directory(home.run)
    name = home.run / f"model-{embedder.identity.key}.lock"
    is_shadow = isinstance(paths, ShadowPaths)
    lock = ExitStack()
    for seconds in (0.0, LOCK_SECONDS):
        try:
            lock.enter_context(held(name, "the model's engine", deadline_seconds=seconds))
        except BusyError as error:
            if not is_shadow and not seconds:
                dismiss_shadow(home, files)
            elif is_shadow and seconds:
                raise UsageError(f"{rules.model} is the model in use already") from error
            elif seconds:
                raise EngineUnavailableError(str(error)) from error
        else:
            break
    return Loaded(rules, embedder, lock)


class Successor:
    """Opens the index with the model in use, and again with another one; for the worker alone."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        wanted: Callable[[], EngineRules],
        build: Callable[[Loaded, Callable[[], None]], Index],
    ) -> None:
        """Go by `wanted`, which is asked when the home's record of the model has changed."""
        self._paths = paths
        self._files = files
        self._wanted = wanted
        self._build = build
        self._between = nothing
        self._current: Loaded | None = None
        self._seen: Stamp | None = None
        self._loading: Future[Loaded] | None = None
        self._not_before = 0.0

    def open(self, between: Callable[[], None]) -> Index:
        """Open the index with the model in use; long work calls `between` between its steps.

        Raises:
            EngineUnavailableError, UsageError, DiskError: see `load`.
        """
        self._between = between
        self._seen = self._look()
        loaded = load(self._wanted(), self._paths, self._files)
        index = self._built(loaded)
        self._current = loaded
        return index

    def follow(self, index: Index) -> tuple[Index, bool]:
        """The index to answer with now, this one or its successor; and whether one is coming.

        Where the other model can't be loaded, the log says why and this one goes on.
        """
        changed = self._look() != self._seen and time.monotonic() >= self._not_before
        if self._loading is None and changed:
            self._seen = self._look()
            rules = self._wanted()
            if self._current is not None and rules != self._current.rules:
                pool = ThreadPoolExecutor(1, thread_name_prefix="engine-model")
                self._loading = pool.submit(load, rules, self._paths, self._files)
                pool.shutdown(wait=False)
        if self._loading is None or not self._loading.done():
            return index, self._loading is not None
        loaded, self._loading = self._loading, None
        try:
            return self._go_over(index, loaded.result()), False
        except SkymemError as error:
            told = f"the old model goes on: {harmless(str(error))}"
            print(told, file=sys.stderr, flush=True)  # noqa: T201  (the log)
            self._seen, self._not_before = None, time.monotonic() + AGAIN_SECONDS
            return index, False

    def _go_over(self, index: Index, loaded: Loaded) -> Index:
        if loaded.rules != self._wanted():  # another one is in use by now
            loaded.lock.close()
            self._seen = None
            return index
        successor = self._built(loaded)
        with suppress(SkymemError):  # what it had is durable
            index.close()
        if self._current is not None:
            self._current.lock.close()
        self._current = loaded
        return successor

    def _built(self, loaded: Loaded) -> Index:
        try:
            return self._build(loaded, self._between)
        except BaseException:
            loaded.lock.close()
            raise

    def _look(self) -> Stamp | None:
        """What tells one record from the next; cheap, as every request looks."""
        return stamp_of(self._paths.model_record)
