"""`python -m skymem.hooks HOME [AGENT]`: the process that keeps recall at hand. Hooks start it."""

import os
import sys
from pathlib import Path
from typing import Final

from skymem.errors import BusyError, SkymemError, UsageError
from skymem.model.harmless import harmless
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held

LOCK_SECONDS: Final = 0.1
"""Those who only look whether the lock is free hold it for a moment."""


def main(arguments: list[str]) -> int:
    """Answer the prompts of the home that is named, unless another process does; the exit code."""
    os.umask(0o077)
    if len(arguments) not in (1, 2) or not os.path.isabs(arguments[0]):
        print("usage: python -m skymem.hooks HOME [AGENT]", file=sys.stderr)  # noqa: T201
        return UsageError.exit_code
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # none, so that a fork leaves none behind
    paths = HomePaths(Path(arguments[0]))
    try:
        paths.must_be_there()
        Files().make_directory(paths.run)
        with held(paths.hook_lock, "recall for prompts", deadline_seconds=LOCK_SECONDS):
            from skymem.hooks.standby import Standby, load

            load()
            Standby(paths, *arguments[1:]).run()
    except BusyError:
        return 0
    except SkymemError as error:
        print(harmless(str(error)), file=sys.stderr, flush=True)  # noqa: T201  (the log)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
