"""What compress lets stand together: by meaning where the engine tells it, else by words (row R9).

It only orders statements in a record, so that nothing waits long for it and none is lost by it. The
engine is asked before the job lock is taken, about what the run is to decide; under the lock that
answer is looked up. Only what has come in between, and the later rounds of a run over more than
`items_max` memories, is asked for under the lock, within what is left of the same few seconds
(design §4: no lock is held while waiting for the engine; here, at most so long).
"""

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from skymem.errors import InterruptedRunError, SkymemError
from skymem.policy.likeness import by_words

if TYPE_CHECKING:  # what needs no vectors must not pay for them
    from skymem.engine.client import Engine

WAIT_SECONDS: Final = 10.0
"""For all that is asked about one agent, the engine's start included."""

Pairs = list[tuple[int, int]]


class Grouping:
    """The likeness of texts for one run. After the first failure the engine is left alone."""

    def __init__(
        self,
        engine: "Callable[[], Engine] | None",
        least: float,
        degrade: Callable[[str], None],
    ) -> None:
        """Take up what is asked.

        Args:
            engine: connects to it; None where a person wants none, which is no reason to degrade.
            least: the cosine from which two texts are alike.
            degrade: told, once, why it goes by words.
        """
        self._engine = engine
        self._least = least
        self._degrade = degrade
        self._agent = ""
        self._left = 0.0
        self._answers: dict[bytes, Pairs] = {}

    def begin(self, agent: str) -> None:
        """Turn to an agent, whose planning may wait `WAIT_SECONDS`, however often it is done."""
        if agent != self._agent:
            self._agent, self._left = agent, WAIT_SECONDS

    def pairs(self, texts: Sequence[str]) -> Pairs:
        """Pair each text with the earlier one it is most like, if it is alike.

        Raises:
            InterruptedRunError: a signal came while waiting.
        """
        key = digest_of(texts)
        found = self._answers.get(key)
        if found is None and self._engine is not None:
            found = self._ask(self._engine, texts)
        if found is None:
            return list(by_words(texts))
        self._answers[key] = found
        return found

    def _ask(self, engine: "Callable[[], Engine]", texts: Sequence[str]) -> Pairs | None:
        begun = time.monotonic()
        try:
            answer = engine().alike(
                texts, self._least, agent=self._agent, deadline_seconds=self._left
            )
        except InterruptedRunError:
            raise
        except SkymemError as error:
            self._engine = None
            self._degrade(f"compress: like statements were put together by their words: {error}")
            return None
        finally:
            self._left -= time.monotonic() - begun
        return [(earlier, later) for earlier, later, _ in answer["pairs"]]


def digest_of(texts: Sequence[str]) -> bytes:
    """Name a list of texts without keeping it."""
    hashed = blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        hashed.update(len(raw).to_bytes(8, "big") + raw)
    return hashed.digest()
