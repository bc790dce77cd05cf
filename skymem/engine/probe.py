"""Look at a generation in a process of its own: a damaged HNSW file kills who opens it (hazard D1).

`python -m skymem.engine.probe PATH AGENT` ends with 0 where every collection answers and sampled
vectors find themselves; anything else, a crash included, means damage.
"""

import ctypes
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from skymem.engine.chroma import ChromaIndex
from skymem.engine.items import COLLECTIONS
from skymem.engine.vectors import IndexDamageError

SAMPLE: Final = 8
COSINE_MIN: Final = 0.999
MISSES_MAX: Final = 0.25
"""Of the pieces that were asked, few as they are: damage misses nearly all of them. A graph that
is merely poor, the keeper finds with a larger sample."""

TIMEOUT_SECONDS: Final = 60.0
DAMAGED: Final = 20
PR_SET_PDEATHSIG: Final = 1


def start(path: Path, agent: str) -> subprocess.Popen[bytes]:
    """Begin to look at the generation at `path`; who asks waits for its end."""
    return subprocess.Popen(
        [sys.executable, "-m", "skymem.engine.probe", str(path), agent],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )


def sample(path: Path, agent: str) -> tuple[int, int]:
    """How many pieces were asked for themselves, and how many of them did not find themselves.

    Raises:
        IndexDamageError: it does not even answer.
        DiskError: the disk is full.
    """
    index = ChromaIndex(path, agent)
    asked = missed = 0
    try:
        for collection in COLLECTIONS:
            count = index.count(collection)
            steps = max(1, count // SAMPLE)
            for offset in range(0, count, steps):
                names = index.names(collection, offset, 1)
                for _, vector in index.vectors(collection, names):
                    asked += 1
                    missed += index.closest(collection, vector)[0] < COSINE_MIN
    finally:
        index.close()
    return asked, missed


def _die_with_parent() -> None:
    """Never be at a generation beside the next engine: the kernel ends us with who started us."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> int:
    """Probe what the command line names."""
    _die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it may well crash: that is what it is for
    try:
        asked, missed = sample(Path(sys.argv[1]), sys.argv[2])
    except IndexDamageError:
        return DAMAGED
    return DAMAGED if missed > asked * MISSES_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
