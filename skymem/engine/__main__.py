"""`python -m skymem.engine HOME`: the engine's process. Clients start it; nobody need by hand.

With `--detach` it goes to the background and ends, in front, when the engine listens (0), when
another engine has the home already (0), or when it can't start (its exit code).
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from skymem.errors import BusyError, HomeNotFoundError, SkymemError, UsageError
from skymem.model.harmless import harmless
from skymem.model.rules import EngineRules, RetentionRules
from skymem.stores.files import Files, Modes
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.lock import held

LOCK_SECONDS: Final = 0.1
"""Those who only look whether the lock is free hold it for a moment."""


def main(arguments: list[str], *, shadow: bool = False) -> int:
    """Run the engine of the home named last in `arguments`, or its shadow; the exit code."""
    os.umask(0o077)
    if not arguments or not os.path.isabs(arguments[-1]):
        print("usage: python -m skymem.engine [--detach] HOME", file=sys.stderr)  # noqa: T201
        return UsageError.exit_code
    ready = detach() if arguments[0] == "--detach" else _nothing
    root = Path(arguments[-1])
    return run(ShadowPaths(root) if shadow else HomePaths(root), ready, serve_home)


def run(
    paths: HomePaths,
    ready: Callable[[], None],
    serve: Callable[[HomePaths, Callable[[], None]], int],
) -> int:
    """Be the one engine of the home, or leave at once because another one is."""
    try:
        if not paths.root.is_dir():
            raise HomeNotFoundError(str(paths.root))
        files = Files()
        files.make_directory(paths.rag)
        files.make_directory(paths.run)
        with held(paths.engine_lock, "the engine", deadline_seconds=LOCK_SECONDS):
            return serve(paths, ready)
    except BusyError:
        return 0
    except SkymemError as error:
        print(harmless(str(error)), file=sys.stderr, flush=True)  # noqa: T201  (the log)
        return error.exit_code


def serve_home(paths: HomePaths, ready: Callable[[], None]) -> int:
    """Serve the home by its rules, under the lock; a shadow with the model wanted next."""
    import faulthandler
    import time
    from importlib.metadata import version

    from skymem.config.rules_file import read_rules
    from skymem.engine.settings import prepare_environment
    from skymem.stores.model_record import read_record, rules_in_use

    faulthandler.enable()  # a damaged index file may kill the process: the log says where
    rules = read_rules(paths.rules)
    settings = partial(_settings, paths)
    engine = settings()
    prepare_environment(engine, paths, os.environ)

    # With numpy, onnxruntime and chromadb, which read the environment once, as they are loaded.
    from skymem.engine.loading import Loaded, Successor
    from skymem.engine.operations import Index
    from skymem.engine.server import Server, Setting

    files = Files(_modes(rules, paths))
    clock = time.time  # noqa: TID251  (this process's composition root)

    def wanted() -> EngineRules:
        is_shadow = isinstance(paths, ShadowPaths)
        return engine if is_shadow else rules_in_use(engine, read_record(paths))

    def build(loaded: Loaded, between: Callable[[], None]) -> Index:
        from skymem.engine.index import HomeIndex

        return HomeIndex(
            paths, files, loaded.embedder, rules=loaded.rules, now=clock, between=between
        )

    successor = Successor(paths, files, wanted, build)
    setting = Setting(
        paths,
        files,
        engine,
        version("skymem"),
        read_rules=settings,
        open_index=successor.open,
        follow=successor.follow,
        now=clock,
    )
    return asyncio.run(Server(setting).run(ready))


def _settings(paths: HomePaths) -> EngineRules:
    """The rules as they are written now; of a shadow, with the model wanted next."""
    from skymem.config.rules_file import read_rules
    from skymem.engine.shadow import shadow_rules
    from skymem.stores.model_record import read_record

    found = read_rules(paths.rules).engine
    return shadow_rules(found, read_record(paths)) if isinstance(paths, ShadowPaths) else found


def _modes(rules: RetentionRules, paths: HomePaths) -> Modes:
    if rules.access != "group":
        return Modes()
    return Modes(file=0o660, directory=0o2770, group=os.stat(paths.root).st_gid)


def detach() -> Callable[[], None]:
    """Go to the background; gives back what tells the process in front that all is well.

    Before anything heavy is imported, while there is one thread. The process in front waits for
    that word or for the end of the one behind, so that whoever started it knows how it went, and
    nobody is left with a child to wait for.
    """
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child:
        os.close(write_end)
        if os.read(read_end, 1):
            os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    os.close(read_end)

    def ready() -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody waits in front any more
            os.write(write_end, b"\0")
        os.close(write_end)

    return ready


def _nothing() -> None:
    """Tell nobody."""


def end(code: int) -> None:
    """End this process at once: what the libraries do at an interpreter's end can only go wrong."""
    sys.stderr.flush()
    os._exit(code)  # all is closed and durable


if __name__ == "__main__":
    end(main(sys.argv[1:]))
