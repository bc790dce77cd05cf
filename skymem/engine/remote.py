"""A generation on a Chroma server: two collections that the server holds for one home (row R14).

What it is sent is vectors under sealed names, and nothing else: no text, no id, no digest. What it
says counts for as little as what a Chroma on this disk says: it proposes, and the matrix decides.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import numpy as np
import orjson

from skymem.engine.chroma import BATCH_MAX, CONFIGURATION, apart
from skymem.engine.embedding import nothing
from skymem.engine.items import COLLECTIONS
from skymem.engine.link import Answer, Link
from skymem.engine.sealing import Seal
from skymem.engine.vectors import IndexAwayError, IndexDamageError, Piece, Vectors
from skymem.model.rules import RemoteRules

WORK_SECONDS: Final = 10.0
"""For a call nobody waits for, in whose pauses the engine answers questions."""

BODY_BYTES: Final = 768 * 1024
"""Of what is sent at once: proxies let 1 MiB through unless they are told otherwise."""

NAME_BYTES: Final = 256
PAGE: Final = 10_000
"""Names in one answer, at most: a page costs 40 ms and its names 10 µs each."""

QUOTED_MAX: Final = 200

T = TypeVar("T")

_GOOD: Final = (HTTPStatus.OK, HTTPStatus.CREATED)
_REFUSALS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "refuses the token, or wants one (token_file, token_env)",
    HTTPStatus.FORBIDDEN: "refuses the token, or wants one (token_file, token_env)",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "takes no body of 1 MiB (nginx: client_max_body_size 2m)",
}


class Server:
    """The collections of one tenant's database."""

    def __init__(
        self,
        remote: RemoteRules,
        environment: Mapping[str, str],
        between: Callable[[], None],
    ) -> None:
        """Call `between` in the pauses of what takes long; nothing is sent yet."""
        self.remote = remote
        self._environment = environment
        self._between = between
        self._link: Link | None = None
        database = f"{quote(remote.tenant, safe='')}/databases/{quote(remote.database, safe='')}"
        self._path = f"/tenants/{database}/collections"

    def create(self, name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Make a collection where there is none of this name, and say what it is.

        Raises:
            IndexAwayError: the server does not do it.
        """
        wanted = {
            "name": name,
            "get_or_create": True,
            "metadata": metadata,
            "configuration": CONFIGURATION,
        }
        return self._read_object(self._call("POST", self._path, wanted))

    def find(self, name: str) -> dict[str, Any]:
        """Say what a collection is.

        Raises:
            IndexDamageError: there is none.
            IndexAwayError: the server does not say.
        """
        answer = self._call("GET", f"{self._path}/{name}", None)
        if _is_missing(answer):
            raise IndexDamageError(f"the server has no collection {name}")
        return self._read_object(answer)

    def delete(self, name: str) -> None:
        """Delete a collection, where it is there.

        Raises:
            IndexAwayError: the server does not do it.
        """
        answer = self._call("DELETE", f"{self._path}/{name}", None)
        if not _is_missing(answer):
            self._read(answer)

    def limits(self) -> dict[str, Any]:
        """What the server takes at once, and how."""
        answer = self._opened().call(
            "GET", "/pre-flight-checks", None, seconds=WORK_SECONDS, meanwhile=self._between
        )
        return self._read_object(answer)

    def ask(self, identity: str, what: str, body: Any, *, quick: bool = False) -> Any:
        """Ask something of a collection that is there.

        Args:
            identity: of the collection.
            what: count, get, query, upsert or delete.
            body: what goes along; None for a question without.
            quick: somebody waits, so that it gets its share of `timeout` and no more.

        Raises:
            IndexDamageError: the collection is not there.
            IndexAwayError: the server does not answer as it should.
        """
        method = "GET" if body is None else "POST"
        answer = self._call(method, f"{self._path}/{identity}/{what}", body, quick=quick)
        if _is_missing(answer):
            raise IndexDamageError("the server has its collection no more")
        return self._read(answer)

    def close(self) -> None:
        """Let the connections go; the next call makes others."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _opened(self) -> Link:
        if self._link is None:
            self._link = Link(self.remote, self._environment)
        return self._link

    def _call(self, method: str, path: str, body: Any, *, quick: bool = False) -> Answer:
        data = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        # A question is put to each of the collections in turn, and has `timeout` for all of them.
        seconds = self.remote.timeout_seconds / len(COLLECTIONS) if quick else WORK_SECONDS
        meanwhile = nothing if quick else self._between
        return self._opened().call(method, path, data, seconds=seconds, meanwhile=meanwhile)

    def _read(self, answer: Answer) -> Any:
        if answer.status in _GOOD:
            try:
                return orjson.loads(answer.body)
            except ValueError:
                raise self.not_chroma() from None
        why = _REFUSALS.get(answer.status, f"answers with {answer.status}")
        message = _message(answer)
        raise self._opened().away(f"{why}: {message}" if message else why)

    def _read_object(self, answer: Answer) -> dict[str, Any]:
        found = self._read(answer)
        if not isinstance(found, dict):
            raise self.not_chroma()
        return found

    def not_chroma(self) -> IndexAwayError:
        """Make the error that says so of this server."""
        return self._opened().away("answers, but not as Chroma does")


class RemoteIndex:
    """One generation on a server. A `VectorIndex` that asks nothing until it is used."""

    def __init__(
        self,
        server: Server,
        seal: Seal,
        collections: Sequence[str],
        metadata: Mapping[str, Any],
        *,
        create: bool,
    ) -> None:
        """Use `collections`, in the order of COLLECTIONS, made with `metadata` where allowed to."""
        self._server = server
        self._seal = seal
        self._names = dict(zip(COLLECTIONS, collections, strict=True))
        self._metadata = metadata
        self._create = create
        self._known: dict[str, str] = {}
        self._limits: dict[str, Any] = {}

    def upsert(self, collection: str, pieces: Sequence[Piece], vectors: Vectors) -> None:
        """Put pieces in, in the place of those of the same name; their digests stay at home."""
        vectors = apart(pieces, vectors)
        sealed = [self._seal.close(piece.name) for piece in pieces]
        if not self._limits:
            self._limits = self._server.limits()
        packed = self._limits.get("supports_base64_encoding") is True
        batch = self._batch(vectors.shape[1] * (6 if packed else 14))
        for start in range(0, len(sealed), batch):
            part = vectors[start : start + batch]
            body = {
                "ids": sealed[start : start + batch],
                "embeddings": [_packed(one) for one in part] if packed else part,
            }
            self._ask(collection, "upsert", body, lambda _: None)

    def _batch(self, vector_bytes: int) -> int:
        told = self._limits.get("max_batch_size")
        most = told if isinstance(told, int) else BATCH_MAX
        return max(1, min(most, BATCH_MAX, BODY_BYTES // (vector_bytes + NAME_BYTES)))

    def delete(self, collection: str, names: Sequence[str]) -> None:
        """Take pieces out; unknown names are passed over."""
        for start in range(0, len(names), BATCH_MAX):
            part = [self._seal.close(name) for name in names[start : start + BATCH_MAX]]
            self._ask(collection, "delete", {"ids": part}, lambda _: None)

    def nearest(self, collection: str, vectors: Vectors, limit: int) -> list[str]:
        """Names of the pieces nearest to each of `vectors`; those of others are passed over."""
        body = {"query_embeddings": np.atleast_2d(vectors), "n_results": limit, "include": []}

        def read(found: Any) -> list[str]:
            opened = (self._seal.open(name) for names in found["ids"] for name in names)
            return [name for name in opened if name is not None]

        return self._ask(collection, "query", body, read, quick=True)

    def closest(self, collection: str, vectors: Vectors) -> list[float]:
        """The cosine of each of `vectors` to the piece nearest to it, -1.0 where there is none."""
        asked = np.atleast_2d(vectors)
        body = {"query_embeddings": asked, "n_results": 1, "include": ["distances"]}

        def read(found: Any) -> list[float]:
            each = zip(asked, found["distances"], strict=True)
            return [1.0 - float(far[0]) if far else -1.0 for _, far in each]

        return self._ask(collection, "query", body, read)

    def count(self, collection: str) -> int:
        """How many pieces it says it holds."""
        return self._ask(collection, "count", None, int)

    def names(self, collection: str, offset: int, limit: int) -> list[str]:
        """Names of the pieces it holds, a page of them; what we did not seal stays as it is."""
        body = {"limit": min(limit, PAGE), "offset": offset, "include": []}

        def read(found: Any) -> list[str]:
            return [self._seal.open(name) or name for name in found["ids"]]

        return self._ask(collection, "get", body, read)

    def close(self) -> None:
        """Let the connections go."""
        self._known = {}
        self._server.close()

    def _ask(
        self,
        collection: str,
        what: str,
        body: Any,
        read: Callable[[Any], T],
        *,
        quick: bool = False,
    ) -> T:
        """Ask a collection, and take out of the answer what `read` takes out of it."""
        try:
            return read(self._server.ask(self._identity(collection), what, body, quick=quick))
        except (AttributeError, LookupError, TypeError, ValueError):
            self._known.clear()
            raise self._server.not_chroma() from None
        except IndexAwayError:
            self._known.clear()  # looked at anew once it is back: it may be another one then
            raise

    def _identity(self, collection: str) -> str:
        """The collection's own id, once it is clear that it is ours and as it should be."""
        if collection not in self._known:
            name = self._names[collection]
            if self._create:
                found = self._server.create(name, self._metadata)
            else:
                found = self._server.find(name)
            _check(found, self._metadata)
            self._known[collection] = quote(found["id"], safe="")
        return self._known[collection]


def _check(found: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Refuse a collection of another model, space or dimension: Chroma itself says nothing (D8)."""
    configuration = found.get("configuration_json") or {}
    kind = configuration.get("hnsw") or configuration.get("spann") or {}
    told = {
        **(found.get("metadata") or {}),
        "space": kind.get("space"),
        "dimension": found.get("dimension") or metadata["dimension"],  # none while it is empty
    }
    for key, expected in metadata.items():
        if told.get(key) != expected:
            raise IndexDamageError(f"its {key} is {told.get(key)!r}, and {expected!r} is wanted")


def _packed(vector: Vectors) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _is_missing(answer: Answer) -> bool:
    """Whether a Chroma says that something is not there: others say 404 as well."""
    return answer.status == HTTPStatus.NOT_FOUND and _said(answer).get("error") == "NotFoundError"


def _message(answer: Answer) -> str:
    """What a Chroma says is wrong, in what a terminal prints; "" where it is none that answers."""
    said = _said(answer)
    message = str(said.get("message") or said.get("error") or "")[:QUOTED_MAX]
    return "".join(each for each in message if each.isprintable())


def _said(answer: Answer) -> dict[str, Any]:
    try:
        said = orjson.loads(answer.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
