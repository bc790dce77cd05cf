"""A cross-encoder: a model that reads a question and a passage together, and says how they fit.

Beside `sentence_transformers` and `export` the one module that imports torch: see there.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # and of loading weights, into the engine's log

import numpy as np
import torch
from safetensors import SafetensorError
from sentence_transformers import CrossEncoder as Model

from skymem.engine.embedding import readable
from skymem.errors import EngineUnavailableError

TOKENS_MAX: Final = 512
"""Of question and passage together, also of a model that reads more: time grows with its square."""

_BROKEN: Final = (
    OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, ImportError, EOFError,
    UnpicklingError, SafetensorError,
)  # fmt: skip
"""What loading damaged or foreign files raises."""


class CrossEncoder:
    """One that lies in a directory, on the CPU, without a network."""

    def __init__(self, directory: Path, threads: int) -> None:
        """Load it, without running code that comes with it (hazard D16).

        Raises:
            EngineUnavailableError: it can't be loaded, or is no model that gives one score.
        """
        torch.set_num_threads(threads)
        self._model = _load(directory)
        if self._model.num_labels != 1:
            raise EngineUnavailableError(
                f"{directory} gives {self._model.num_labels} values for a pair of texts; "
                "documents.reranker must be a cross-encoder with one"
            )
        _read_at_most(self._model, TOKENS_MAX)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text fits the question, 0 to 1, in order.

        Raises:
            EngineUnavailableError: the model gives what is no number.
        """
        if not texts:
            return []
        asked = readable(query)
        told = self._model.predict(
            [(asked, readable(text)) for text in texts],
            batch_size=len(texts),
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_numpy=True,
        )
        logits = np.asarray(told, np.float64).reshape(len(texts))
        if not np.isfinite(logits).all():
            raise EngineUnavailableError("the cross-encoder gives what is no number")
        found: list[float] = (1 / (1 + np.exp(-np.clip(logits, -500, 500)))).tolist()
        return found


def _load(directory: Path) -> Any:
    try:
        return Model(str(directory), device="cpu", local_files_only=True, trust_remote_code=False)
    except _BROKEN as error:
        why = " ".join(str(error).split())[:200]
        raise EngineUnavailableError(
            f"{directory} can't be loaded as a cross-encoder: {why}"
        ) from error


def _read_at_most(model: Any, tokens: int) -> None:
    """Bound what the model reads; some files that come with models name no bound."""
    # As it is called from release 6 on, and as it was before.
    name = "max_seq_length" if hasattr(model, "max_seq_length") else "max_length"
    places = getattr(model.config, "max_position_embeddings", None) or tokens
    setattr(model, name, min(getattr(model, name) or tokens, places, tokens))
