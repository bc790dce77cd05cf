"""Canaries: pinned memories and those recalled most are looked for after each job (row X4).

Each is asked for by its own words, as a user would. One that was found before a job and is not
found after it says that the job did harm, whatever its plan said: it is undone.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from skymem.errors import SkymemError
from skymem.model.memory import Memory
from skymem.recall.request import ask
from skymem.recall.search import recall
from skymem.stores.files import disk_errors
from skymem.stores.protection import read_protection
from skymem.stores.recall_log import MOST, most_recalled, note_recalled
from skymem.stores.standings import Standings

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.recall.request import Request
    from skymem.recall.result import Recall

WORDS_MAX: Final = 30
"""Of a memory's text, the words it is asked for by."""

AMONG_FIRST: Final = 10
NOTED: Final = 5
"""Of an answer, how many of the first count as recalled."""


@dataclass(slots=True)
class HomeCanaries:
    """The canaries of a home; each run has its own."""

    home: "Home"
    _found: dict[str, dict[str, str]] = field(default_factory=dict)
    """By agent: the ids that were found, each with its words."""

    def before(self, agent: str) -> None:
        """Note which are recalled now; what was noted before an earlier round of the run stands."""
        if agent in self._found:
            return
        asked = {name: _words(memory) for name, memory in self._watched(agent).items()}
        self._found[agent] = {
            name: words
            for name, words in asked.items()
            if words and self._finds(agent, name, words)
        }

    def lost(self, agent: str) -> list[str]:
        """Ids of those that were recalled before and are not now, nor what has taken their place.

        A memory that was merged is found as what it became.
        """
        found = self._found.get(agent, {})
        missing = [name for name, words in found.items() if not self._finds(agent, name, words)]
        if not missing:
            return []
        heads = self._heads(agent, missing)
        return [
            name
            for name in missing
            if heads[name] == name or not self._finds(agent, heads[name], found[name])
        ]

    def _heads(self, agent: str, names: list[str]) -> dict[str, str]:
        """What stands in the place of each now."""
        work, shelf = self.home.workplace(), self.home.shelf(agent)
        now_us = round(work.now() * 1_000_000)
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            standings = work.ask(
                catalog, shelf, lambda: Standings.of(shelf, catalog, now_us, work.rules.kinds)
            )
        return {name: standings.chains.head(name) for name in names}

    def _watched(self, agent: str) -> dict[str, Memory]:
        """Pinned memories and those recalled most, at most so many of each."""
        work, shelf = self.home.workplace(), self.home.shelf(agent)
        pinned = sorted(read_protection(shelf.paths.protected).pinned)[:MOST]
        often = most_recalled(self.home.paths, agent) if self.home.rules.recall_log else ()
        names = dict.fromkeys([*pinned, *sorted(often)])
        found: dict[str, Memory] = {}
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            for name in names:
                kept = work.ask(catalog, shelf, lambda name=name: shelf.find(name, catalog))  # type: ignore[misc]
                found |= {one.id: one.memory for one in kept if one.id == name}
        return found

    def _finds(self, agent: str, name: str, words: str) -> bool:
        asked = ask(words, AMONG_FIRST, "auto")
        try:
            answer = recall(self.home.workplace(), agent, asked, self.home.engine)
        except SkymemError:
            return False
        return any(one.id == name for one in answer)


def recall_and_note(home: "Home", agent: str, asked: "Request") -> "Recall":
    """Answer a request, and count what it found, as `recall_log` says.

    Raises:
        AgentNameError, NotAllowedError, DiskError, EngineUnavailableError: see `recall`.
    """
    found = recall(home.workplace(), agent, asked, home.engine)
    if home.rules.recall_log:
        note_recalled(home.paths, home.files, agent, (one.id for one in found[:NOTED]))
    return found


def _words(memory: Memory) -> str:
    return " ".join(memory.searchable.split()[:WORDS_MAX])
