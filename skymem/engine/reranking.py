"""Passages weighed by a cross-encoder, in the engine: found on this machine, loaded when asked.

It is loaded on a thread of its own, which takes seconds; who asks meanwhile is told so and asks
again, so that the engine's one worker answers everybody else. Row W8.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from skymem.engine.hub import snapshots
from skymem.engine.models import EXTRA, holds_weights, missing_extra
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules
from skymem.stores.home import HomePaths

OWNER: Final = "cross-encoder"
"""Whose model a name without an owner is, on the hub."""

AGAIN_SECONDS: Final = 30.0
"""Before a model that could not be loaded is tried again."""


class Scoring(Protocol):
    """A cross-encoder that is loaded."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text fits the question, 0 to 1, in order."""


@dataclass(slots=True)
class _Known:
    """The cross-encoder that was asked for last."""

    model: str
    coming: "Future[Scoring]"
    since: float = field(default_factory=time.monotonic)

    def failed(self) -> bool:
        """Whether it can't be loaded, and that is long enough ago to try once more."""
        if not self.coming.done() or self.coming.exception() is None:
            return False
        return time.monotonic() >= self.since + AGAIN_SECONDS


class Reranking:
    """The part of a home's index that weighs texts by a cross-encoder; nothing of it is kept."""

    _paths: HomePaths
    _rules: EngineRules
    _cross_encoder: _Known | None = None

    def rerank(self, model: str, text: str, texts: Sequence[str]) -> dict[str, Any]:
        """How well each of the texts fits `text`; `scores`, None while the model is being loaded.

        Args:
            model: name or absolute path of the cross-encoder; another one takes its place.
            text: the question.
            texts: at most `RERANKED_MAX`, which the caller sees to.

        Raises:
            EngineUnavailableError: there is no such model here, it can't be loaded, or the packages
                it needs are not installed.
        """
        known = self._cross_encoder
        if known is None or known.model != model or known.failed():
            if package := missing_extra():
                raise EngineUnavailableError(
                    f"documents.reranker needs the package {package}; {EXTRA}"
                )
            directory = find(model, self._rules, self._paths.models)
            pool = ThreadPoolExecutor(1, thread_name_prefix="engine-reranker")
            known = _Known(model, pool.submit(_load, directory, self._rules.threads))
            pool.shutdown(wait=False)
            self._cross_encoder = known
        if not known.coming.done():
            return {"scores": None}
        return {"scores": known.coming.result().scores(text, texts)}


def find(model: str, rules: EngineRules, models_directory: Path) -> Path:
    """Return the directory of a cross-encoder; nothing is downloaded.

    Args:
        model: its absolute path; or its name, for the cache of the model hub on this machine.
        rules: the engine's.
        models_directory: whose `hub` is such a cache, too.

    Raises:
        EngineUnavailableError: it is not there; says where was looked, and the way out.
    """
    looked: list[str] = []
    if os.path.isabs(model):
        looked.append(model)
        places = [Path(model)]
    else:
        name = model if "/" in model else f"{OWNER}/{model}"
        places = [*snapshots(rules._replace(model=name), models_directory, looked)]
    for place in places:
        if (place / "config.json").is_file() and holds_weights(place):
            return place
    raise EngineUnavailableError(
        f"no cross-encoder {model}: looked in {', '.join(looked)}; set documents.reranker to the "
        "path of a directory with one, or to none"
    )


def _load(directory: Path, threads: int) -> Scoring:
    from skymem.engine.cross_encoder import CrossEncoder

    return CrossEncoder(directory, threads)
