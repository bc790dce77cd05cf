"""Canaries: pinned memories and those recalled most are looked for after each job (row X4).

Each is asked for by its own words, as a user would. One that was found before a job and is not
found after it says that the job did harm, whatever its plan said: `jobs/runner.py` undoes it.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.errors import SkymemError
from skymem.jobs.canary import Missed
from skymem.jobs.watched import WORDS_MAX, watched
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.recall.request import ask
from skymem.stores.files import disk_errors
from skymem.stores.recall_log import most_recalled

if TYPE_CHECKING:
    from skymem.engine.client import Engine
    from skymem.recall.result import Recall

AMONG_FIRST: Final = 10


class _Canary(NamedTuple):
    """A memory that was found before the job."""

    words: str
    mode: str
    """What found it, `hybrid` or `deterministic`: after the job the same is asked."""


@dataclass(slots=True)
class HomeCanaries:
    """The canaries of a home; each run has its own."""

    place: Callable[[], Workplace]
    """What each look at the home works with: one of its own, not the job's."""

    engine: "Callable[[], Engine]"
    _found: dict[str, dict[str, _Canary]] = field(default_factory=dict)
    """By agent: the ids that were found."""

    def noted(self, agent: str) -> bool:
        """Whether `before` was called for this agent."""
        return agent in self._found

    def before(self, agent: str) -> None:
        """Note which are recalled now; one that can't be asked for is not watched."""
        found = self._found[agent] = {}
        for name, memory in self._watched(agent).items():
            words = " ".join(memory.searchable.split()[:WORDS_MAX])
            with contextlib.suppress(SkymemError):
                answer = self._answer(agent, words, "auto")
                if words and any(one.id == name for one in answer):
                    found[name] = _Canary(words, answer.mode)

    def missed(self, agent: str) -> Missed:
        """Look for those that were recalled before, or for what has taken their place.

        A memory that was merged is found as what it became.
        """
        lost: list[str] = []
        unknown = ""
        try:
            heads = self._heads(agent, [*self._found[agent]])
        except SkymemError as error:
            return Missed([], str(error))
        for name, (words, mode) in self._found[agent].items():
            try:
                answer = self._answer(agent, words, "auto" if mode == "hybrid" else mode)
            except SkymemError as error:
                unknown = str(error)
                continue
            if any(one.id in {name, heads[name]} for one in answer):
                continue
            if answer.mode == mode:
                lost.append(name)
            else:  # the engine left meanwhile: what only meaning finds can't be asked for
                unknown = "; ".join(answer.degraded)
        return Missed(lost, unknown)

    def _answer(self, agent: str, words: str, mode: str) -> "Recall":
        from skymem.recall.search import recall  # with numpy: most jobs have no canary

        asked = ask(words, AMONG_FIRST, mode)
        return recall(self.place(), agent, asked, self.engine)

    def _heads(self, agent: str, names: list[str]) -> dict[str, str]:
        """What stands in the place of each now."""
        work = self.place()
        shelf = work.shelf(agent)
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            standings = work.ask(catalog, shelf, lambda: work.standings(shelf, catalog))
        return {name: standings.chains.head(name) for name in names}

    def _watched(self, agent: str) -> dict[str, Memory]:
        """Pinned memories and those recalled most, at most so many of each."""
        work = self.place()
        shelf = work.shelf(agent)
        often = most_recalled(work.paths, agent) if work.rules.recall_log else ()
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            return work.ask(catalog, shelf, lambda: watched(shelf, catalog, often))
