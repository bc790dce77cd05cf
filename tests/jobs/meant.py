"""A home whose memories are told apart by what they mean, and an engine in this process."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skymem.jobs.train import train
from skymem.stores.recall_events import note_events
from tests.conftest import START, line
from tests.engine.fake_embedder import FakeEmbedder
from tests.jobs.indexing import Indexer
from tests.jobs.taught import DAY, named

SHIPS = ("anchor", "harbour", "mast", "keel", "rudder", "sail", "deck", "hull")
TEA = ("kettle", "cup", "leaf", "pot", "spoon", "saucer", "steam", "sugar")


class Sea(FakeEmbedder):
    """A text about ships points one way, one about tea another; each a little its own way."""

    def _vector(self, text: str) -> NDArray[np.float32]:
        first = re.sub(r"\d+", "", text.split(maxsplit=1)[0])
        topic = super()._vector("ships" if first in SHIPS else "tea")
        found = topic + 0.3 * super()._vector(text)
        return np.asarray(found / np.linalg.norm(found), np.float32)


def is_asked(number: int) -> bool:
    """Whether anybody ever asks for it: if it is about ships."""
    return number % 2 == 0


def text_of(number: int) -> str:
    """Words that no other has: they teach nothing by themselves."""
    words = SHIPS if is_asked(number) else TEA
    return f"{words[number * 3 % 8]}{number} {words[number * 5 % 8]}{number}"


def memory(number: int, ts: float | None = None) -> bytes:
    """A line without importance; its tag tells a little, as one in five has the wrong one."""
    tag = "deep" if is_asked(number) == (number % 10 < 8) else "flat"
    at = START - 40 * DAY + 60 * number if ts is None else ts
    return line(text_of(number), None, ts=at, tags=[tag])


def lived(home: Indexer, memories: int = 200) -> None:
    """Write memories, and ask for those about ships."""
    desk = home.desk
    home.engine.embedder = Sea()
    desk.shelf().ensure()
    desk.echo(*(memory(number) for number in range(memories)))
    ids = {entry.memory.content: name for name, entry in named(desk)}
    asked = [ids[text_of(number)] for number in range(memories) if is_asked(number)]
    for question in range(60):
        desk.clock += 60
        some = asked[question * 2 % len(asked) :][:3]
        note_events(desk.paths, desk.files, desk.agent, f"q{question}", some, at=desk.clock)
    desk.clock += 60


def trained(home: Indexer, **more: Any) -> dict[str, Any]:
    """Train, a second later, with the engine; gives what it came to."""
    home.desk.clock += 1
    detail, _ = train(home.work(), [home.desk.agent], **more)
    found: dict[str, Any] = detail["agents"][home.desk.agent]
    return found
