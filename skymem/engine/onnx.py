"""The default backend: a sentence model run by onnxruntime, its text cut up by tokenizers.

The one module that imports either (design §5). onnxruntime 1.32 calls its maker unless it is told
not to before it is imported, and the tokenizers' threads do not survive a fork (hazard E4).
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from tokenizers import BertWordPieceTokenizer, Tokenizer
from tokenizers.implementations.base_tokenizer import BaseTokenizer

from skymem.engine.coarse import Product
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
from skymem.engine.models import ModelFiles
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules

TOKENS_MAX: Final = 256
"""What the model reads of a text, with the token before and the one after it."""

TOKENS_PER_BATCH: Final = 512
"""Padding included. Measured on two cores, int8, 800 real memories of 61 tokens on average: peak of
the process 262 MB at 512, 485 MB at 1024, 820 MB at 2048, 900 MB without a limit. Smaller batches
of long texts are as fast or faster (256 tokens: 22/s alone, 17/s in pairs, 11/s in 32s); short
ones gain from going together (31 tokens: 225/s at 512, 215/s at no limit, 180/s alone)."""

TEXTS_PER_TOKENIZING: Final = 256
"""Encodings are large (30 KB a text) until only their ids are kept."""

_QUIET: Final = 3  # errors alone

INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

LOAD_ERRORS: Final = (
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NoSuchFile,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
)
"""What loading a file that is no model raises; they share no class but Exception."""

Ids = NDArray[np.int64]


class OnnxEmbedder:
    """A sentence model in an ONNX file: mean of the tokens' vectors (or the first's), length 1."""

    def __init__(self, files: ModelFiles, rules: EngineRules) -> None:
        """Load the model of `files`.

        Raises:
            EngineUnavailableError: the file is no model, or not one of sentences.
        """
        self._rules = rules
        self._session = _open_session(files.weights, rules.threads)
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._output, dimension = _output_of(self._session, files.weights)
        self._takes_first_token = files.pooling == "cls"
        self._tokenizer = _open_tokenizer(files.tokenizer)
        special = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self._tokens_max = min(TOKENS_MAX, files.reads_tokens) - special
        self.identity = ModelIdentity(files.name, "onnx", files.sha256, files.precision, dimension)

    def chunks(self, text: str) -> list[str]:
        """Cut `text` into pieces the model reads whole."""
        return cut(
            text, self._spans, tokens_max=self._tokens_max, chunks_max=self._rules.chunks_max
        )

    def encode(self, texts: Sequence[str], between: Callable[[], None] = nothing) -> Vectors:
        """Return the texts' vectors, in order."""
        ids = self._tokenized(texts)
        groups = batches(
            [len(each) for each in ids],
            texts_max=self._rules.batch_size,
            tokens_max=TOKENS_PER_BATCH,
        )
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        return encode_in_batches(
            groups, lambda group: self._run([ids[index] for index in group]), vectors, between
        )

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokenizer.encode(text, add_special_tokens=False).offsets

    def _tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's ids, special ones and all."""
        ids: list[list[int]] = []
        for start in range(0, len(texts), TEXTS_PER_TOKENIZING):
            some = texts[start : start + TEXTS_PER_TOKENIZING]
            cut_short = [readable(text[:WINDOW_CHARACTERS]) for text in some]
            for each in self._tokenizer.encode_batch(cut_short, add_special_tokens=False):
                each.truncate(self._tokens_max)
                ids.append(self._tokenizer.post_process(each).ids)
        return ids

    def _run(self, batch: list[list[int]]) -> Vectors:
        """Encode a batch, padded to its longest text."""
        longest = max(len(each) for each in batch)
        ids: Ids = np.zeros((len(batch), longest), np.int64)
        mask: Ids = np.zeros_like(ids)
        for row, each in enumerate(batch):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {name: value for name, value in feed.items() if name in self._inputs}
        tokens: Vectors = self._session.run([self._output], wanted)[0]
        if self._takes_first_token:
            return tokens[:, 0]
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        mean: Vectors = np.matmul(weights[:, None, :], tokens)[:, 0]  # without a copy of tokens
        return mean


def byte_product(dimension: int) -> Product:
    """The product of `coarse`: a graph of one operation, which does it in a byte a number.

    Raises:
        EngineUnavailableError: the runtime has no such operation.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = _QUIET
    try:
        session = ort.InferenceSession(
            _graph(dimension), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except LOAD_ERRORS as error:
        raise EngineUnavailableError(f"no product of bytes: {error}") from error

    def product(row: NDArray[np.uint8], columns: NDArray[np.int8]) -> NDArray[np.int32]:
        found: NDArray[np.int32] = session.run(None, {"row": row, "columns": columns})[0][0]
        return found

    return product


def _graph(dimension: int) -> bytes:
    """The model `sums = MatMulInteger(row, columns)`, in the format of ONNX (protobuf)."""

    def field(number: int, value: bytes | str | int) -> bytes:
        if isinstance(value, int):
            return _varint(number << 3) + _varint(value)
        data = value.encode() if isinstance(value, str) else value
        return _varint(number << 3 | 2) + _varint(len(data)) + data

    def tensor(name: str, kind: int, *sizes: int | str) -> bytes:
        each = (field(1, field(1, one) if isinstance(one, int) else field(2, one)) for one in sizes)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, b"".join(each))))

    node = field(1, "row") + field(1, "columns") + field(2, "sums") + field(4, "MatMulInteger")
    graph = field(1, node) + field(2, "coarse")
    graph += field(11, tensor("row", 2, 1, dimension))  # of uint8
    graph += field(11, tensor("columns", 3, dimension, "count"))  # of int8
    graph += field(12, tensor("sums", 6, 1, "count"))  # of int32
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def _varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _open_session(weights: Path, threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The arena keeps what the largest batch needed: 1.5 GB after one of 32 x 256 tokens, against
    # 280 MB without it in our batches, as fast within the noise. Patterns are planned for
    # shapes that never come again.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = _QUIET
    try:
        return ort.InferenceSession(
            str(weights), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except LOAD_ERRORS as error:
        why = " ".join(str(error).split())[:200]
        raise EngineUnavailableError(f"{weights} can't be loaded: {why}") from error


def _output_of(session: Any, weights: Path) -> tuple[str, int]:
    """Return the name of the output with the tokens' vectors, and their dimension."""
    inputs = {each.name for each in session.get_inputs()}
    if {"input_ids", "attention_mask"} <= inputs <= INPUTS:
        for output in session.get_outputs():
            if len(output.shape) == 3 and isinstance(output.shape[2], int):
                return output.name, output.shape[2]
    raise EngineUnavailableError(
        f"{weights} is no sentence model: it takes {', '.join(sorted(inputs))} "
        f"and gives no vectors of tokens; configure one exported for feature extraction"
    )


def _open_tokenizer(path: Path) -> Tokenizer | BaseTokenizer:
    try:
        if path.suffix == ".json":
            tokenizer = Tokenizer.from_file(str(path))
        else:
            tokenizer = BertWordPieceTokenizer(str(path), lowercase=True)
    except Exception as error:
        if type(error) in {Exception, TypeError}:  # what the library raises itself
            raise EngineUnavailableError(f"{path} is no tokenizer: {error}") from error
        raise
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
