"""An engine's process with an index that only remembers: the real server, lock, socket and client.

Started as the real one is, by file name; what differs is read from `stand_in.json` in the home.
The text of a query may be an order: `sleep 0.5`, `until go` (a file's name), `bug`, `die`.
"""

import asyncio
import errno
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skymem.engine.__main__ import detach, run
from skymem.engine.client import own_version
from skymem.engine.items import Item
from skymem.engine.server import Limits, Server, Setting
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths


class Remembering:
    """Keeps ids in a file, a line for each time one is put, so that repeats can be counted."""

    def __init__(self, home: Path, between: Callable[[], None], put_seconds: float) -> None:
        self.journal = home / "puts.txt"
        self._between = between
        self._put_seconds = put_seconds
        self._tended = 0

    def put(self, agent: str, collection: str, items: Sequence[Item]) -> dict[str, Any]:
        for item in items:
            self._between()
            time.sleep(self._put_seconds)
            with self.journal.open("a") as stream:
                stream.write(f"{agent} {collection} {item.id}\n")
        return {"embedded": len(items), "cached": 0, "done": [each.id for each in items]}

    def drop(self, agent: str, ids: Sequence[str]) -> dict[str, Any]:
        return {"dropped": len(ids)}

    def missing(self, agent: str, collection: str, items: Sequence[Any]) -> dict[str, Any]:
        return {"missing": [each[0] for each in items], "epoch": "e"}

    def ids(self, agent: str, collection: str, after: str, limit: int) -> dict[str, Any]:
        return {"ids": [after] * limit, "epoch": "e"}

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = (),
        also: Sequence[str] = (),
    ) -> dict[str, Any]:
        order, _, rest = text.partition(" ")
        if order == "sleep":
            time.sleep(float(rest))
        while order == "until" and not (self.journal.parent / rest).exists():
            time.sleep(0.005)
        if order == "bug":
            raise ValueError(text)
        if order == "die":
            os._exit(9)
        return {"hits": [[text, 1.0]], "pid": os.getpid()}

    def likeness(self, text: str, texts: Sequence[str], agent: str) -> dict[str, Any]:
        return {"cosines": [1.0 if one == text else 0.0 for one in texts]}

    def rerank(self, model: str, text: str, texts: Sequence[str]) -> dict[str, Any]:
        """As a cross-encoder that is loaded at once, or, by the name `never`, not at all."""
        if model == "never":
            return {"scores": None}
        if not model.startswith("/"):
            raise EngineUnavailableError(f"no cross-encoder {model}")
        return {"scores": [1.0 if one == text else 0.5 for one in texts]}

    def alike(self, texts: Sequence[str], least: float, agent: str) -> dict[str, Any]:
        for text in texts:
            self._between()
            order, _, rest = text.partition(" ")
            if order == "sleep":
                time.sleep(float(rest))
        with (self.journal.parent / "compared.txt").open("a") as stream:
            stream.write(f"{len(texts)}\n")
        return {"pairs": [[0, len(texts) - 1, least]]}

    def near(self, texts: Sequence[str], least: float, agent: str) -> dict[str, Any]:
        return {"near": [], "among": []}

    def vectors(self, texts: Sequence[str], agent: str) -> dict[str, Any]:
        return {"model": "stand-in", "vectors": [None] * len(texts)}

    def exact(self, agent: str, text: str, limit: int) -> dict[str, Any]:
        return {"hits": [[text, 1.0]] * limit}

    def follow(self) -> dict[str, Any]:
        return {"setting": "stand-in", "model_key": "stand-in"}

    def stats(self, agent: str, sample: int) -> dict[str, Any]:
        time.sleep(sample)
        return {}

    def rebuild(self, agent: str) -> dict[str, Any]:
        self._tended = -20
        return {}

    def purge(self, agent: str) -> dict[str, Any]:
        return self.rebuild(agent)

    def tend(self) -> bool:
        self._tended += 1
        if self._tended < 0:
            time.sleep(0.05)
        return self._tended < 0

    def overview(self) -> dict[str, Any]:
        return {"agents": {}, "tended": self._tended}

    def close(self) -> None:
        with (self.journal.parent / "closed.txt").open("a") as stream:
            stream.write(f"{os.getpid()}\n")


class FullDisk(Files):
    """A disk without room for another byte, which notes where one was to be written."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home

    def write(self, fd: int, data: bytes | memoryview) -> int:
        where = Path(os.readlink(f"/proc/self/fd/{fd}")).parent.name
        with (self._home / "full.txt").open("a") as stream:
            stream.write(f"{where}\n")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def serve(paths: HomePaths, ready: Callable[[], None]) -> int:
    """Serve the home with the stand-in."""
    said = json.loads((paths.root / "stand_in.json").read_text())
    with (paths.root / "started.txt").open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    if said.get("broken_start"):
        sys.stderr.write("the start is broken on purpose\n")
        sys.stderr.flush()
        os._exit(3)

    def read_rules() -> EngineRules:
        again = json.loads((paths.root / "stand_in.json").read_text())
        return EngineRules(**again.get("rules", {}))

    def open_index(between: Callable[[], None]) -> Remembering:
        time.sleep(said.get("open_seconds", 0.0))
        if said.get("no_model"):
            raise EngineUnavailableError("no model on this machine")
        return Remembering(paths.root, between, said.get("put_seconds", 0.0))

    setting = Setting(
        paths,
        FullDisk(paths.root) if said.get("full_disk") else Files(),
        read_rules(),
        said.get("version", own_version()),
        read_rules=read_rules,
        open_index=open_index,
        now=time.time,
        limits=Limits(**said.get("limits", {})),
    )
    return asyncio.run(Server(setting).run(ready))


if __name__ == "__main__":
    os.umask(0o077)
    in_front = detach() if sys.argv[1] == "--detach" else lambda: None
    os._exit(run(HomePaths(Path(sys.argv[-1])), in_front, serve))
