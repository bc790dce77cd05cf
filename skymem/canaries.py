"""Canaries: pinned memories and those recalled most are looked for after each job (row X4).

Each is asked for by its own words, as a user would. One that was found before a job and is not
found after it says that the job did harm, whatever its plan said: it is undone.
"""

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.errors import SkymemError
from skymem.jobs.canary import Missed
from skymem.jobs.watched import WORDS_MAX, watched
from skymem.model.memory import Memory
from skymem.recall.request import ask
from skymem.stores.files import disk_errors
from skymem.stores.recall_events import Answered, Question, note_events
from skymem.stores.recall_log import most_recalled, note_recalled

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.recall.request import Request
    from skymem.recall.result import Recall, Recalled

AMONG_FIRST: Final = 10
NOTED: Final = 5
"""Of an answer, how many of the first count as recalled."""

TEACHING: Final = 3
"""Of an answer, how many of the first teach that they are wanted: the rest were only near."""

TEXT_LEAST: Final = 0.5
COSINE_LEAST: Final = 0.4
"""What has neither half of the question's words nor its meaning was shown for want of better: in a
small home every answer has everything in it."""


class _Canary(NamedTuple):
    """A memory that was found before the job."""

    words: str
    mode: str
    """What found it, `hybrid` or `deterministic`: after the job the same is asked."""


@dataclass(slots=True)
class HomeCanaries:
    """The canaries of a home; each run has its own."""

    home: "Home"
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
        return recall(self.home.workplace(), agent, asked, self.home.engine)

    def _heads(self, agent: str, names: list[str]) -> dict[str, str]:
        """What stands in the place of each now."""
        work, shelf = self.home.workplace(), self.home.shelf(agent)
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            standings = work.ask(catalog, shelf, lambda: work.standings(shelf, catalog))
        return {name: standings.chains.head(name) for name in names}

    def _watched(self, agent: str) -> dict[str, Memory]:
        """Pinned memories and those recalled most, at most so many of each."""
        work, shelf = self.home.workplace(), self.home.shelf(agent)
        often = most_recalled(self.home.paths, agent) if self.home.rules.recall_log else ()
        with work.catalog() as catalog, disk_errors(shelf.paths.directory):
            return work.ask(catalog, shelf, lambda: watched(shelf, catalog, often))


def recall_and_note(home: "Home", agent: str, asked: "Request") -> "Recall":
    """Answer a request, and count what it found, as `recall_log` says.

    Raises:
        AgentNameError, NotAllowedError, DiskError, EngineUnavailableError: see `recall`.
    """
    from skymem.recall.search import recall

    work = home.workplace()
    begun = time.perf_counter()
    found = recall(work, agent, asked, home.engine)
    took_ms = 1000 * (time.perf_counter() - begun)
    if home.rules.recall_log and asked.at_us is None:  # of what was then, some is superseded now
        note_recalled(home.paths, home.files, agent, (one.id for one in found[:NOTED]))
        if teaching := [one.id for one in found[:TEACHING] if _answers(one)]:
            answered = Answered(work.now(), asked.query, tuple(teaching), took_ms)
            _note_events(home, agent, answered)
    return found


def _answers(one: "Recalled") -> bool:
    """Whether it has to do with what was asked."""
    cosine = one.parts.semantic
    return one.parts.text >= TEXT_LEAST or (cosine is not None and cosine >= COSINE_LEAST)


def _note_events(home: "Home", agent: str, answered: Answered) -> None:
    """Keep that these answered; a question that can't be hashed is let go, as a count would be."""
    at, query, ids, took_ms = answered
    with contextlib.suppress(SkymemError):
        question = Question.of(home.paths, home.files)
        if question is not None:
            hashed = question.hash(query)
            note_events(home.paths, home.files, agent, hashed, ids, at=at, took_ms=took_ms)
