"""An embedder for tests of the index: vectors that follow from the text alone, at no cost."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from skymem.engine.embedding import ModelIdentity, nothing

DIMENSION = 384


FAKE = ModelIdentity("fake", "onnx", "0" * 64, "fp32", DIMENSION)


@dataclass
class FakeEmbedder:
    """Each word has a direction of its own; a text points where its words do."""

    identity: ModelIdentity = FAKE
    chunk_words: int = 200
    encoded: int = 0
    """Texts encoded so far."""

    def chunks(self, text: str) -> list[str]:
        words = text.split()
        step = self.chunk_words
        return [" ".join(words[at : at + step]) for at in range(0, len(words), step)]

    def encode(
        self, texts: Sequence[str], between: Callable[[], None] = nothing
    ) -> NDArray[np.float32]:
        self.encoded += len(texts)
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        for number, text in enumerate(texts):
            vectors[number] = self._vector(text)
            if number % 32 == 31:
                between()
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        words = re.findall(r"\S+", text)
        total = np.zeros(self.identity.dimension, np.float32)
        for word in words:
            key = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            random = np.random.Generator(np.random.SFC64(int.from_bytes(key, "big")))
            total += random.standard_normal(self.identity.dimension, np.float32)
        # The whole text has a say too, so that word order matters.
        return np.asarray(total / np.linalg.norm(total), np.float32)
