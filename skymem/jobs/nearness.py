"""Which memories are near to each other, as the engine tells it for one run (row P15).

It is asked before the job lock is taken, and what it told is looked up under the lock (design §4).
Where it is away, or takes too long, nothing becomes one by its meaning: no job fails for it, and
`merge` looks at what was not asked about with its next run.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from skymem.errors import InterruptedRunError, SkymemError
from skymem.policy.uniting import Pair

if TYPE_CHECKING:  # what needs no vectors must not pay for them
    from skymem.engine.client import Engine

WAIT_SECONDS: Final = 60.0
"""For all that merge asks about one agent; it goes on there with the next run."""

PROMOTION_SECONDS: Final = 10.0
"""For all that promote asks about one agent, the engine's start included."""

AT_ONCE: Final = 256
"""Texts in one question: with 100,000 vectors it takes about a second."""


class Nearness:
    """What the engine told in one run. After the first failure it is left alone."""

    def __init__(
        self, engine: "Callable[[], Engine] | None", least: float, degrade: Callable[[str], None]
    ) -> None:
        """Take up what is asked.

        Args:
            engine: connects to it; None where there is to be none.
            least: the cosine from which two memories are near.
            degrade: told, once, why nobody was asked.
        """
        self._engine = engine
        self._least = least
        self._degrade = degrade
        self.told: dict[tuple[str, str], list[Pair]] = {}
        """By job and agent; what is in here is not asked again."""

        self.ends: dict[str, int] = {}
        """By agent, up to where in long-term merge has asked."""

        self.waits: dict[str, frozenset[str]] = {}
        """By agent, those that merge has not asked about, for a reason that passes."""

    @property
    def is_there(self) -> bool:
        """Whether there is anybody to ask."""
        return self._engine is not None

    def ask(
        self, agent: str, named: Sequence[tuple[str, str]], *, seconds: float
    ) -> tuple[list[Pair], int]:
        """Ask about memories, each with its text; gives the pairs, and how many were asked about.

        Raises:
            InterruptedRunError: a signal came while waiting.
        """
        deadline = time.monotonic() + seconds
        pairs: list[Pair] = []
        asked = 0
        while asked < len(named) and self._engine is not None:
            lot = named[asked : asked + AT_ONCE]
            left = deadline - time.monotonic()
            if left <= 0:
                break
            found = self._ask(self._engine, agent, lot, left)
            if found is None:
                break
            pairs += found
            asked += len(lot)
        return pairs, asked

    def _ask(
        self,
        engine: "Callable[[], Engine]",
        agent: str,
        lot: Sequence[tuple[str, str]],
        seconds: float,
    ) -> list[Pair] | None:
        texts = [text for _, text in lot]
        try:
            answer = engine().near(texts, self._least, agent=agent, deadline_seconds=seconds)
        except InterruptedRunError:
            raise
        except SkymemError as error:
            self._engine = None
            self._degrade(f"duplicates: not looked for: {error}; merge does it later")
            return None
        names = [name for name, _ in lot]
        near = [Pair(names[place], name, cosine) for place, name, cosine in answer["near"]]
        among = [Pair(names[one], names[two], cosine) for one, two, cosine in answer["among"]]
        return near + among
