"""Do two texts say the same? By their words, and without a model (rows P15, P16)."""

import re
from hashlib import blake2b
from typing import Final

WORD_KEY_BYTES: Final = 8
_WORDS: Final = re.compile(r"\w+")


def word_key(text: str) -> bytes:
    """Hash a text's words in their order: equal for texts that differ in case and punctuation."""
    words = " ".join(_WORDS.findall(text.casefold()))
    return blake2b(words.encode("utf-8", "replace"), digest_size=WORD_KEY_BYTES).digest()
