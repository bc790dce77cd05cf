"""The other backend: any model sentence-transformers can load, by path, without a network.

With `cross_encoder` and `export`, the one module that imports it or torch: it takes seconds and
half a gigabyte, so it is the extra `skymem[sentence-transformers]`, and is loaded in engine
processes alone (design §5).
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # and of loading weights, into the engine's log

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from skymem.engine.embedding import (
    WINDOW_CHARACTERS,
    ModelIdentity,
    Vectors,
    batches,
    cut,
    encode_in_batches,
    nothing,
    readable,
)
from skymem.engine.models import sha256_of
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules

TOKENS_MAX: Final = 512
"""Of a model that reads thousands, a chunk still has no more: memory grows with its square."""

TOKENS_PER_BATCH: Final = 1024


class TorchEmbedder:
    """A sentence-transformers model on the CPU, its own tokenizer and pooling with it."""

    def __init__(self, name: str, directory: Path, weights: Path, rules: EngineRules) -> None:
        """Load the model of `directory`; `weights` is the file that tells it from others.

        Raises:
            EngineUnavailableError: it can't be loaded.
        """
        self._rules = rules
        torch.set_num_threads(rules.threads)
        self.model = load(directory)
        self._tokenizer = self.model.tokenizer
        special = self._tokenizer.num_special_tokens_to_add(pair=False)
        self._tokens_max = _reads_at_most(self.model) - special
        precision = "fp32" if _is_fp32(self.model) else "unknown"
        self.identity = ModelIdentity(
            name, "sentence-transformers", sha256_of(weights), precision, _dimension(self.model)
        )

    def chunks(self, text: str) -> list[str]:
        """Cut `text` into pieces the model reads whole."""
        return cut(
            text, self._spans, tokens_max=self._tokens_max, chunks_max=self._rules.chunks_max
        )

    def encode(self, texts: Sequence[str], between: Callable[[], None] = nothing) -> Vectors:
        """Return the texts' vectors, in order."""
        short = [readable(text[:WINDOW_CHARACTERS]) for text in texts]
        groups = batches(
            [min(len(self._spans(text)), self._tokens_max) + 2 for text in short],
            texts_max=self._rules.batch_size,
            tokens_max=TOKENS_PER_BATCH,
        )
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        return encode_in_batches(
            groups, lambda group: self._run([short[index] for index in group]), vectors, between
        )

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        if not self._tokenizer.is_fast:  # knows no places: as many even pieces as it has tokens
            return _even(len(text), len(self._tokenizer.tokenize(text)))
        told = self._tokenizer(
            text,
            add_special_tokens=False,
            return_offsets_mapping=True,
            truncation=False,
            verbose=False,
        )
        spans: Sequence[tuple[int, int]] = told["offset_mapping"]
        return spans

    def _run(self, batch: list[str]) -> Vectors:
        vectors: Vectors = self.model.encode(
            batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(vectors, np.float32)


class TokenVectors(torch.nn.Module):  # type: ignore[misc]  # torch is untyped where it is missing
    """A model's transformer alone, its inputs in order: the part that is exported."""

    def __init__(self, inner: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.inner = inner
        self.names = names

    def forward(self, *inputs: Any) -> Any:
        """Return the vectors of the tokens."""
        given = dict(zip(self.names, inputs, strict=True))
        return self.inner(**given, return_dict=True).last_hidden_state


def load(directory: Path) -> Any:
    """Load a model by path, on the CPU, without running code that comes with it (hazard D16).

    Raises:
        EngineUnavailableError: it can't be loaded.
    """
    try:
        return SentenceTransformer(
            str(directory), device="cpu", local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError) as error:
        why = " ".join(str(error).split())[:200]
        raise EngineUnavailableError(
            f"{directory} can't be loaded by sentence-transformers: {why}"
        ) from error


def _reads_at_most(model: Any) -> int:
    told = model.max_seq_length
    return min(int(told), TOKENS_MAX) if told else TOKENS_MAX


def _is_fp32(model: Any) -> bool:
    return all(each.dtype == torch.float32 for each in model.parameters())


def _dimension(model: Any) -> int:
    return int(model.encode("x", convert_to_numpy=True, show_progress_bar=False).shape[0])


def _even(length: int, count: int) -> list[tuple[int, int]]:
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]
