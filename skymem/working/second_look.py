"""What a cross-encoder makes of a search's candidates, where one is configured (row W8)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.errors import BusyError, DiskError, EngineUnavailableError, UsageError

if TYPE_CHECKING:
    from skymem.app import Home

ANSWER_SECONDS: Final = 20.0
"""What it may take: to start the engine, to load the model, and for it to read the candidates."""

CROSS_ENCODER: Final = "cross-encoder"
WEIGHTS: Final = "weights"


class Weighed(NamedTuple):
    """How well the candidates fit, as the cross-encoder has it."""

    scores: list[float]
    """0 to 1, of the first candidates, in order; empty where nothing has weighed them."""

    reranked: str
    """`cross-encoder`, or `weights` where there is none."""

    degraded: list[str]
    """Why there is none, though one is configured."""


def weigh(home: "Home", query: str, texts: Sequence[str], most: int) -> Weighed:
    """Have the candidates read beside the question, the first `most` of them."""
    model = home.rules.documents.reranker
    if model is None or not texts:
        return Weighed([], WEIGHTS, [])
    try:
        scores = home.engine().rerank(model, query, texts[:most], deadline_seconds=ANSWER_SECONDS)
    except (BusyError, DiskError, EngineUnavailableError, UsageError) as error:
        return Weighed([], WEIGHTS, [f"ranked without the cross-encoder: {error}"])
    return Weighed(scores, CROSS_ENCODER, [])
