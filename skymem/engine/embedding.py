"""What every embedding backend shares: who it is, how texts are cut, and in which batches they go.

Nothing here loads a model. A backend brings `spans`, which says where the tokens of a short text
lie, and a function that encodes one batch; the rest is the same for all (design §5, row R8).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from skymem.model.regex import regex

Vectors = NDArray[np.float32]
Spans = Callable[[str], Sequence[tuple[int, int]]]
"""Where the tokens of a text begin and end, in characters, without the special ones."""

WINDOW_CHARACTERS: Final = 2048
"""The most that is given to a tokenizer at once, and so the longest chunk (hazard E5).

Eight characters a token: twice what English needs. Of text without spaces, a tokenizer makes one
unknown token of any length, so tokens alone would bound neither time nor memory.
"""

OVERLAP_TOKENS: Final = 32
"""What two neighbouring chunks share, so that a sentence on the cut is whole in one of them."""

_READABLE: Final = regex(r"[^\s\x00-\x1f\x7f-\x9f\ufffd]")
"""The next character a tokenizer may make something of."""

_SURROGATES: Final = regex("[\ud800-\udfff]")
_NOT_IN_A_NAME: Final = regex(r"[^A-Za-z0-9._-]+")


def nothing() -> None:
    """Do nothing: the `between` of who has nothing to do between batches."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model, run how, made a vector; vectors of two identities never mix (hazard D8)."""

    name: str
    backend: str
    """`onnx` or `sentence-transformers`."""

    sha256: str
    """Of the file with the weights."""

    precision: str
    """`int8`, `fp32` or `unknown`."""

    dimension: int

    @property
    def key(self) -> str:
        """The identity as a file name, like `all-MiniLM-L6-v2-int8-8199be6f699a`."""
        name = _NOT_IN_A_NAME.sub("-", self.name).lstrip(".-")[:100] or "model"
        return f"{name}-{self.precision}-{self.sha256[:12]}"


class Embedder(Protocol):
    """A loaded model. Used by one thread; `encode` may be called again from within `between`."""

    identity: ModelIdentity

    def chunks(self, text: str) -> list[str]:
        """Cut `text` into pieces the model reads whole; none for blank text. Never raises.

        Of a text of more than `chunks_max` pieces, the first three quarters of them are its
        beginning and the rest its end.
        """
        ...

    def encode(self, texts: Sequence[str], between: Callable[[], None] = nothing) -> Vectors:
        """Return one vector of length 1 for each text, in order; `between` runs between batches.

        A text longer than a chunk is read as far as one goes.
        """
        ...


def readable(text: str) -> str:
    """Put the replacement character in the place of lone surrogates: no tokenizer takes them."""
    return _SURROGATES.sub("\ufffd", text)


def cut(text: str, spans: Spans, *, tokens_max: int, chunks_max: int) -> list[str]:
    """Cut `text` into at most `chunks_max` pieces of at most `tokens_max` tokens each."""
    text = readable(text).strip()
    front_max = max(1, chunks_max * 3 // 4)
    front, rest = _from_the_beginning(text, spans, tokens_max, front_max)
    if rest >= len(text):
        return front
    return front + _from_the_end(text, rest, spans, tokens_max, chunks_max - len(front))


def _from_the_beginning(
    text: str, spans: Spans, tokens_max: int, chunks_max: int
) -> tuple[list[str], int]:
    """Return the first pieces, and where what they leave begins."""
    found: list[str] = []
    start = 0
    # A window may hold nothing the tokenizer knows; as many of those are passed over, no more.
    for _ in range(2 * chunks_max):
        next_readable = _READABLE.search(text, start)
        if next_readable is None:
            return found, len(text)
        if len(found) == chunks_max:
            return found, start
        start = next_readable.start()
        window = text[start : start + WINDOW_CHARACTERS]
        tokens = spans(window)
        is_last = start + len(window) >= len(text)
        end, resume = _first_cut(window, tokens, tokens_max, is_last=is_last)
        if tokens and window[:end].strip():
            found.append(window[:end].rstrip())
        start += resume
    return found, start


def _first_cut(
    window: str, tokens: Sequence[tuple[int, int]], tokens_max: int, *, is_last: bool
) -> tuple[int, int]:
    """Return where the window's first piece ends, and where the next piece begins."""
    if len(tokens) <= tokens_max and (is_last or not tokens):
        return len(window), len(window)
    last = _at_a_gap(tokens, min(tokens_max, len(tokens) - 1), downwards=True)
    end = tokens[last][0]
    if not last or not end:  # one token fills it: an unknown word of any length
        return len(window), len(window)
    first = _at_a_gap(tokens, last - min(OVERLAP_TOKENS, last // 4), downwards=False)
    return end, min(tokens[first][0], end) or end


def _at_a_gap(tokens: Sequence[tuple[int, int]], at: int, *, downwards: bool) -> int:
    """Move the index `at` to a token that begins a word, where one is near."""
    step = -1 if downwards else 1
    for index in range(at, at + step * min(OVERLAP_TOKENS, at // 4), step):
        if 0 < index < len(tokens) and tokens[index][0] > tokens[index - 1][1]:
            return index
    return at


def _from_the_end(
    text: str, stop: int, spans: Spans, tokens_max: int, chunks_max: int
) -> list[str]:
    """Return the last pieces of what lies after `stop`, in reading order."""
    found: list[str] = []
    end = len(text)
    for _ in range(2 * chunks_max):
        if end <= stop or len(found) >= chunks_max:
            break
        begin = max(stop, end - WINDOW_CHARACTERS)
        piece, tokens = _last_piece(text[begin:end], spans, tokens_max)
        if not tokens:
            end = begin
            continue
        found.append(piece.strip())
        start = end - len(piece)
        if start <= stop:
            break
        shared = _at_a_gap(tokens, min(OVERLAP_TOKENS, len(tokens) // 4), downwards=False)
        end = start + tokens[shared][0]
    return found[::-1]


def _last_piece(
    window: str, spans: Spans, tokens_max: int
) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the longest end of `window` that is not too long, and its tokens."""
    tokens = spans(window)
    while len(tokens) > tokens_max:
        first = _at_a_gap(tokens, len(tokens) - tokens_max, downwards=False)
        # A word cut at its front may come to more tokens than before: count again.
        window = window[max(1, tokens[first][0]) :]
        tokens = spans(window)
    return window, tokens


def batches(lengths: Sequence[int], *, texts_max: int, tokens_max: int) -> Iterator[list[int]]:
    """Group texts of like length, by index: at most `texts_max`, and `tokens_max` with padding."""
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) >= texts_max or (len(batch) + 1) * lengths[index] > tokens_max):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def encode_in_batches(
    groups: Iterator[list[int]],
    encode: Callable[[list[int]], Vectors],
    into: Vectors,
    between: Callable[[], None],
) -> Vectors:
    """Encode each group and normalise its vectors into its rows; `between` runs between groups."""
    for number, group in enumerate(groups):
        if number:
            between()
        into[group] = normalised(encode(group))
    return into


def normalised(vectors: Vectors) -> Vectors:
    """Give each row the length 1; a row that is all zero or not finite becomes zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    usable = np.isfinite(norms) & (norms > 0)
    return np.where(usable, vectors / np.where(usable, norms, 1), 0).astype(np.float32)
