"""What a client asks of the engine about texts that are in no index: nothing of it is kept."""

import sys
import time
from abc import ABC, abstractmethod
from array import array
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final

from skymem.engine.items import (
    ALIKE_CHARACTERS,
    ALIKE_TEXTS_MAX,
    RERANKED_CHARACTERS,
    RERANKED_MAX,
)
from skymem.errors import EngineUnavailableError, InterruptedRunError, UsageError

ASK_SECONDS: Final = 30.0
"""Default deadline of a question, the engine's start and its first query included."""

LOADING_SECONDS: Final = 0.2
"""Between two questions whether a cross-encoder is loaded by now."""


class Asking(ABC):
    """The part of an engine's client that has texts compared."""

    _stop: Callable[[], str]

    @abstractmethod
    def _call(
        self, name: str, arguments: dict[str, Any], deadline_seconds: float
    ) -> dict[str, Any]:
        """Ask, and wait for the answer."""

    def alike(
        self,
        texts: Sequence[str],
        least: float,
        *,
        agent: str = "",
        deadline_seconds: float = ASK_SECONDS,
    ) -> dict[str, Any]:
        """Each text with the earlier one nearest to it by meaning, by place; `pairs`.

        `pairs` are `[earlier, later, cosine]` with a cosine of at least `least`. Of each text the
        first `ALIKE_CHARACTERS` count; a blank one is like none. Nothing is kept; what `agent`'s
        index has need not be encoded again.

        Raises:
            UsageError: more texts than `ALIKE_TEXTS_MAX`, or `least` is not over 0, to 1.
        """
        arguments = {"texts": _beginnings(texts), "least": least, "agent": agent}
        return self._call("alike", arguments, deadline_seconds)

    def likeness(
        self,
        text: str,
        texts: Sequence[str],
        *,
        agent: str = "",
        deadline_seconds: float = ASK_SECONDS,
    ) -> dict[str, Any]:
        """The cosine of a text to each of some others, None where one is blank; `cosines`.

        Of each the first `ALIKE_CHARACTERS` count. Nothing is kept; what `agent`'s index has need
        not be encoded again.

        Raises:
            UsageError: more texts than `ALIKE_TEXTS_MAX`.
        """
        texts = _beginnings(texts)
        arguments = {"text": text[:ALIKE_CHARACTERS], "texts": texts, "agent": agent}
        return self._call("likeness", arguments, deadline_seconds)

    def near(
        self,
        texts: Sequence[str],
        least: float,
        *,
        agent: str,
        deadline_seconds: float = ASK_SECONDS,
    ) -> dict[str, Any]:
        """What of `agent`'s long-term is near to some texts, and which are near to each other.

        `near` are `[place of the text, id, cosine]`, `among` two places and their cosine, each of
        at least `least`. Of each text the first `ALIKE_CHARACTERS` count; nothing is kept.

        Raises:
            UsageError: more texts than `ALIKE_TEXTS_MAX`, or `least` is not over 0, to 1.
        """
        arguments = {"texts": _beginnings(texts), "least": least, "agent": agent}
        return self._call("near", arguments, deadline_seconds)

    def vectors(
        self, texts: Sequence[str], *, agent: str, deadline_seconds: float = ASK_SECONDS
    ) -> "tuple[str, list[array[float] | None]]":
        """The key of the model in use, and each text's vector by it, None where one is blank.

        Of each the first `ALIKE_CHARACTERS` count. Nothing is kept; what `agent`'s index has is not
        encoded again.

        Raises:
            UsageError: more texts than `ALIKE_TEXTS_MAX`.
        """
        arguments = {"texts": _beginnings(texts), "agent": agent}
        told = self._call("vectors", arguments, deadline_seconds)
        return told["model"], [None if one is None else floats(one) for one in told["vectors"]]

    def rerank(
        self,
        model: str,
        text: str,
        texts: Sequence[str],
        *,
        deadline_seconds: float = ASK_SECONDS,
    ) -> list[float]:
        """How well each of some texts fits `text`, 0 to 1, as the cross-encoder `model` has it.

        It is loaded for the first question, which is waited for; after the deadline that goes on,
        for the next one. Of each text the first `RERANKED_CHARACTERS` count. They are asked about a
        few at a time, as others wait for the engine, too.
        """
        deadline = time.monotonic() + deadline_seconds
        scores: list[float] = []
        while len(scores) < len(texts):
            some = [
                one[:RERANKED_CHARACTERS] for one in texts[len(scores) : len(scores) + RERANKED_MAX]
            ]
            arguments = {"model": model, "text": text[:RERANKED_CHARACTERS], "texts": some}
            found = self._call("rerank", arguments, deadline - time.monotonic())["scores"]
            if found is None:
                self._wait_for_loading(deadline)
            else:
                scores += found
        return scores

    def _wait_for_loading(self, deadline: float) -> None:
        if name := self._stop():
            raise InterruptedRunError(name)
        if time.monotonic() + LOADING_SECONDS >= deadline:
            raise EngineUnavailableError("the cross-encoder is still being loaded")
        time.sleep(LOADING_SECONDS)


def _beginnings(texts: Sequence[str]) -> list[str]:
    """What counts of each of some texts, of which there are not too many."""
    if len(texts) > ALIKE_TEXTS_MAX:
        raise UsageError(f"{len(texts)} texts are more than are compared ({ALIKE_TEXTS_MAX})")
    return [text[:ALIKE_CHARACTERS] for text in texts]


def floats(spelled: str) -> "array[float]":
    """Read base64 of 32-bit floats, of which the least significant byte comes first."""
    found = array("f", b64decode(spelled))
    if sys.byteorder == "big":
        found.byteswap()
    return found
