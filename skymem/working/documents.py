"""Documents: the business context of a tenant, or of an agent by itself (rows W8, W9).

One code path for the CLI and the Python API. What is taken in are memories of the tenant's own
directory, of kind `chunk`; they are looked up by explicit call, and never come into a recall.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import ConfigurationError, NotAllowedError, SecretRefusedError, UsageError
from skymem.model.chunk import CHUNK, citation_of
from skymem.policy.rerank import Candidate, rerank
from skymem.policy.secrets import guard_of
from skymem.recall import request
from skymem.stores.counts import note_redacted
from skymem.working import agent_md
from skymem.working.documents_kept import Kept, kept_documents
from skymem.working.ingesting import Ingested, Ingesting
from skymem.working.second_look import WEIGHTS, weigh
from skymem.working.tenancy import of_tenant

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.recall.result import Recalled

LIMIT: Final = 10
CANDIDATES: Final = 100
"""What a search looks at twice: so many by words and meaning, before they are ranked again."""

CANDIDATES_TIMES: Final = 3
"""The same for each result that is wanted."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers, and where it stands."""

    id: str
    content: str
    score: float
    file: str
    place: dict[str, str | int]
    ts: float | None
    """When it was written or said, else when its file was last changed; epoch seconds."""

    cite: str
    """File and place in a line."""

    def as_json(self) -> dict[str, Any]:
        """Spell it with the keys of `skymem docs search --json`."""
        return {
            "id": self.id,
            "content": self.content,
            "score": round(self.score, 6),
            "file": self.file,
            "place": self.place,
            "ts": self.ts,
            "cite": self.cite,
        }


class Passages(list[Passage]):
    """The chunks that answer, best first; a list that also knows how it came about."""

    def __init__(
        self,
        found: Iterable[Passage],
        mode: str,
        degraded: Iterable[str] = (),
        reranked: str = WEIGHTS,
    ) -> None:
        super().__init__(found)
        self.mode = mode
        """What found the candidates: `fusion`, or `deterministic` without an engine."""

        self.degraded = list(degraded)
        self.reranked = reranked
        """What ranked them again: `cross-encoder`, or `weights`: rank, words and meaning."""

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem docs search --json` prints it."""
        return {
            "results": [one.as_json() for one in self],
            "mode": self.mode,
            "reranked": self.reranked,
            "degraded": self.degraded,
        }


class Documents:
    """What an agent's tenant has in documents; of an agent in none, its own."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._agent = agent
        self._tenant = home.rules.tenants.of(agent)
        self._home, self.owner = of_tenant(home, agent)
        """The directory of `memory/` they are in is an agent in every respect."""

    def add(self, *paths: "str | os.PathLike[str]", dry_run: bool = False) -> Ingested:
        """Take in files, and all documents below directories; returns what came of each.

        Those that are as they were cost a look at their times. Of one that changed, what it says no
        more goes to trash, and so does all of one that is not there any more.

        Args:
            paths: files and directories.
            dry_run: read and plan, and write nothing.

        Raises:
            UsageError: a path is not there, or no format is known for it; nothing was taken in.
            ConfigurationError, NotAllowedError, BusyError, DiskError.
        """
        if not paths:
            raise UsageError("no path was given; give a file or a directory")
        return self._ingesting(dry_run=dry_run).add([os.fspath(path) for path in paths])

    def remove(self, *paths: "str | os.PathLike[str]", dry_run: bool = False) -> Ingested:
        """Move documents to trash, by their paths, or all below a directory, be it there or not.

        Raises:
            UsageError: nothing was taken in from there; nothing was removed.
        """
        ingesting = self._ingesting(dry_run=dry_run)
        known = kept_documents(self._home.workplace(dry_run=dry_run), self.owner)
        gone: dict[str, Kept] = {}
        for path in paths:
            found = _of_path(known, os.fspath(path))
            if not found:
                raise UsageError(f"no document was taken in from {path}; see: skymem docs list")
            gone |= {one.path: one for one in found}
        ingesting.drop([*gone.values()])
        return ingesting.done

    def list(self) -> "list[Kept]":
        """The documents that were taken in, by path.

        Raises:
            NotAllowedError, DiskError.
        """
        self._home.only_owner("read documents")
        return kept_documents(self._home.workplace(), self.owner)

    def search(self, query: str, *, limit: int = LIMIT, user_id: str | None = None) -> Passages:
        """Find what documents say to a question, best first, each with where it says so.

        Some hundred chunks are found by words and meaning together; these are ranked again by a
        cross-encoder, where `documents.reranker` names one, else by both, and by how little they
        repeat each other.

        Args:
            query: the question.
            limit: how many, at most.
            user_id: whom it is for; a tenant with users has documents for no one else.

        Raises:
            UsageError, DiskError.
            NotAllowedError: the tenant does not have this user.
        """
        from skymem.recall.search import recall

        self._home.only_owner("search documents")
        self._check_user(user_id)
        request.check_limit(limit)
        wanted = min(request.LIMIT_MAX, max(CANDIDATES, CANDIDATES_TIMES * limit))
        filters = request.filters_of(kind=CHUNK)
        # No recency: a document that was touched today says no more than another.
        asked = request.ask(query, wanted, recency_bias=0.0, filters=filters)
        found = recall(self._home.workplace(), self.owner, asked, self._home.engine)
        candidates = [Candidate(one.content, one.score, one.parts.semantic) for one in found]
        weighed = weigh(self._home, query, [one.text for one in candidates], max(limit, CANDIDATES))
        chosen = rerank(query, candidates[: len(weighed.scores) or None], limit, weighed.scores)
        passages = (_passage(found[one.place], one.weight) for one in chosen)
        degraded = [*found.degraded, *weighed.degraded, *self._home.faults]
        return Passages(passages, found.mode, degraded, weighed.reranked)

    @property
    def agent_md(self) -> str:
        """The text of `agent.md`; "" where there is none (row W9)."""
        return agent_md.read(self._home, self._agent)

    def upload_agent_md(self, text: str, *, dry_run: bool = False) -> bool:
        """Put a text in the place of `agent.md`; what was promoted into it is taken along.

        Secrets are redacted, as at any door (row X11).

        Returns:
            Whether anything changed.

        Raises:
            InvalidMemoryError, NotAllowedError, DiskError.
        """
        clean, secrets = self.without_secrets(text)
        done = agent_md.upload(self._home, self._agent, clean.encode(), dry_run=dry_run)
        if done and not dry_run:
            note_redacted(self._home.paths, self._home.files, self.owner, secrets)
        return done

    def without_secrets(self, text: str) -> tuple[str, dict[str, int]]:
        """A text as `upload_agent_md` writes it, and what is taken out of it, by kind.

        Raises:
            SecretRefusedError: the home wants none to come.
        """
        rules = self._home.rules.secrets
        clean, kinds = guard_of(rules).text(text)
        if kinds and rules.on == "refuse":
            raise SecretRefusedError(", ".join(sorted(kinds)))
        return clean, dict(kinds)

    def _ingesting(self, *, dry_run: bool) -> Ingesting:
        if self._home.faults:
            raise ConfigurationError("\n".join(self._home.faults))
        self._home.only_owner("take documents in")
        tenant = None if self._tenant is None else self._tenant.name
        return Ingesting(self._home, self.owner, tenant, dry_run=dry_run)

    def _check_user(self, user_id: str | None) -> None:
        if user_id is None or self._tenant is None or not self._tenant.users:
            return
        if user_id not in self._tenant.users:
            raise NotAllowedError(
                f"user {user_id} is none of tenant {self._tenant.name}; its users are under "
                f"tenants: {self._tenant.name}: users: in retention_rules.yaml"
            )


def _of_path(known: Sequence[Kept], path: str) -> "list[Kept]":
    """The documents a path means: as it is written, and as it resolves; or all below it."""
    names = {os.path.abspath(path), os.path.realpath(path)}
    below = tuple(name.rstrip("/") + "/" for name in names)
    return [one for one in known if one.path in names or one.path.startswith(below)]


def _passage(one: "Recalled", weight: float) -> Passage:
    citation = citation_of(one.memory) if one.memory is not None else None
    return Passage(
        one.id,
        one.content,
        weight,
        citation.file if citation else "",
        dict(citation.place) if citation else {},
        one.ts,
        citation.words() if citation else "",
    )
