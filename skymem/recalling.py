"""Recall as a user asks for it, by whatever door: what answers is counted, as `recall_log` says.

Which are recalled most is counted for canaries and prune (`stores/recall_log.py`); what answered
when, for what learns from it and tells of regret (`stores/recall_events.py`). A canary's own look
is asked for by nobody, and not counted.
"""

import contextlib
import time
from typing import TYPE_CHECKING, Final

from skymem.errors import SkymemError
from skymem.stores.recall_events import Answered, Question, note_events
from skymem.stores.recall_log import note_recalled

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.recall.request import Request
    from skymem.recall.result import Recall, Recalled

NOTED: Final = 5
"""Of an answer, how many of the first count as recalled."""

TEACHING: Final = 3
"""Of an answer, how many of the first teach that they are wanted: the rest were only near."""

TEXT_LEAST: Final = 0.5
COSINE_LEAST: Final = 0.4
"""What has neither half of the question's words nor its meaning was shown for want of better: in a
small home every answer has everything in it."""


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
