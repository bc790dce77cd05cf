"""mem0's verbs over one agent's memory: `from skymem.adapters.mem0 import Memory`.

Code written for `mem0.Memory` calls the same names with the same arguments and gets the same
shapes. No language model is asked: each message is kept as it was said, as mem0 does with
`infer=False`. An update is a new memory that supersedes the old one, under the same id; what is
deleted lies in trash. mem0 itself is not needed, so there is no extra for it.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Self

from skymem.adapters import mem0_filters as asked_for
from skymem.adapters import mem0_shapes as shapes
from skymem.adapters.mem0_messages import messages_of
from skymem.adapters.refusal import UnfitCallError, quoted
from skymem.adapters.states import New, Scored, States, name_of, newest
from skymem.app import now
from skymem.model.memory import IN_THE_TABLE
from skymem.model.memory import Memory as Line
from skymem.policy.trust import most, trust_of
from skymem.recall.request import LIMIT_MAX, Filters
from skymem.stores.shelf import Kept

AGENT: Final = "agent"
USUAL_THRESHOLD: Final = 0.1

_UNSET: Final = object()
_ORIGINS: Final = {"user": "user", "assistant": "agent", "tool": "tool"}
"""Where what is said in a role comes from; in any other role it is the agent's."""

_STAYING: Final = ("stability", "sensitivity", "scope", "tenant", "pinned", "importance")
"""Fields that are not about a memory's text: its next state has them as well."""


class Memory:
    """One agent's memory, with the verbs of `mem0.Memory`."""

    def __init__(self, agent: str | None = None, *, home: str | None = None) -> None:
        """Open an agent's memory; where its rules can't be used it warns, as `open_memory` does.

        Args:
            agent: its name; `$SKYMEM_AGENT`, else `sky`, when left out.
            home: the home's directory; found as the CLI finds it when left out.

        Raises:
            HomeNotFoundError, NotAllowedError, AgentNameError.
        """
        self._states = States.opened(agent, home)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open by a configuration: of mem0's nothing is needed, of `skymem` `agent` and `home`."""
        own = config_dict.get("skymem", {})
        return cls(own.get("agent"), home=own.get("home"))

    def add(  # noqa: PLR0913  (mem0's)
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Keep messages as they were said, each as one memory; those of the system are not kept.

        Args:
            messages: a text, a message (`role`, `content`, `name`), or several.
            user_id: whom it concerns; this, `agent_id` or `run_id` has to be said.
            agent_id: which agent of mem0's.
            run_id: which conversation.
            metadata: anything else; filterable.
            timestamp: refused, as mem0 does.
            expiration_date: the last day it is good for.
            infer: no matter: nothing is inferred.
            memory_type: refused: it takes a language model.
            prompt: no matter.

        Raises:
            UsageError: an argument can't be; it is a `ValueError` as well.
            InvalidMemoryError: a message can't be kept; then none is.
            DiskError.
        """
        _refuse(timestamp=timestamp, memory_type=memory_type)
        about: dict[str, Any] = {
            **asked_for.named(user_id=user_id, agent_id=agent_id, run_id=run_id)
        }
        about["expiration_date"] = shapes.expiration(expiration_date)
        told: list[dict[str, Any]] = []
        news: dict[str, New] = {}
        for message in messages_of(messages):
            name, role = str(uuid.uuid4()), message["role"]
            said: dict[str, Any] = {"role": role, "actor_id": message.get("name") or None}
            fields = shapes.fields_of({**about, **said}, shapes.settable(metadata or {}))
            news[name] = New(message["content"], fields, _ORIGINS.get(role, AGENT))
            told.append({"id": name, "event": "ADD", **said})
        kept = self._states.add(news)
        return {"results": [{**one, "memory": kept[one["id"]]} for one in told]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Give one memory as it is now; None when it is not there.

        Raises:
            NotAllowedError, DiskError.
        """
        kept = self._states.present(memory_id, expired=True)
        return None if kept is None else shapes.item(kept, score=None)

    def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """List memories, newest first.

        Args:
            filters: whose, and what else has to hold; see `mem0_filters`.
            top_k: how many, at most.
            show_expired: those whose last day is over as well, while they are there.
            kwargs: refused where it says whose.

        Raises:
            UsageError, NotAllowedError, DiskError.
        """
        wanted = asked_for.scoped(filters, kwargs)
        _check_count(top_k)
        found = self._states.every(_filters(wanted, expired=show_expired), expired=show_expired)
        return {"results": [shapes.item(kept) for kept in found[:top_k]]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Find memories by words and meaning, best first.

        Args:
            query: what to look for.
            top_k: how many, at most.
            filters: whose, and what else has to hold.
            threshold: the least cosine; where there is no engine, the least score.
            rerank: no matter: the order is recall's.
            explain: the parts of each score as well, under `score_details`.
            reference_date: refused, as mem0 does.
            show_expired: refused: what is expired is not found, only listed.
            kwargs: refused where it says whose.

        Raises:
            UsageError, NotAllowedError, DiskError.
        """
        _refuse(reference_date=reference_date, show_expired=show_expired or None)
        wanted = asked_for.scoped(filters, kwargs)
        _check_count(top_k)
        least = _threshold(threshold)
        words = _query(query)
        if top_k == 0:
            return {"results": []}
        found = self._states.recall(words, top_k, _filters(wanted))
        near = [one for one in found if _likeness(one) >= least]
        return {"results": [_found(one, explain=explain) for one in near]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Put another text in the place of a memory's, or other metadata beside it.

        What stood there stays as history. The new text is believed no more than the old one.

        Args:
            memory_id: which.
            text: the new text; the old one when left out.
            metadata: names to set; the others stay.
            expiration_date: the last day it is good for; None takes it away.
            data: the old name of `text`.

        Raises:
            UsageError: there is nothing to change, or no such memory; a `ValueError` as well.
            InvalidMemoryError, NotAllowedError, BusyError, DiskError: nothing is changed.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise UnfitCallError(
                "At least one of text, metadata, or expiration_date must be provided."
            )
        until = {} if expiration_date is _UNSET else {"expiration_date": expiration_date}
        until = {name: shapes.expiration(value) for name, value in until.items()}

        def change(present: Kept | None, _moment: float) -> New:
            if present is None:
                raise _unknown(memory_id)
            return self._next(present, text, shapes.settable(metadata or {}), until)

        self._states.write({memory_id: change}, expired=True)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Move a memory to trash, with what it was before.

        Raises:
            UsageError: there is no such memory; a `ValueError` as well.
            NotAllowedError: it is pinned.
            BusyError, DiskError.
        """
        if self._states.present(memory_id, expired=True) is None:
            raise _unknown(memory_id)
        self._states.forget([memory_id])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Move all memories of a user, an agent or a run to trash: those all of these concern.

        Raises:
            UsageError: nobody is named.
            NotAllowedError: one is pinned; the others are gone.
            BusyError, DiskError.
        """
        wanted = asked_for.named(user_id=user_id, agent_id=agent_id, run_id=run_id)
        found = self._states.every(_filters(wanted, expired=True), expired=True)
        self._states.forget([name_of(kept.id) for kept in found])
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Tell what a memory was, oldest first, and whether it was deleted.

        It is told from the memories themselves: what trash has is known until trash is emptied.

        Raises:
            NotAllowedError, DiskError.
        """
        states = self._states.of([memory_id])[memory_id]
        gone = self._states.gone(memory_id)
        lines = {one.kept.id: one.kept.memory for one in states}
        lines |= {own: memory for own, (memory, _) in gone.items()}
        story = shapes.told(memory_id, lines)
        if story and newest(states, expired=True) is None and gone:
            story.append(shapes.deleted(story[-1], max(at for _, at in gone.values())))
        return story

    def close(self) -> None:
        """Let go of nothing: no file stays open between calls."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(
        self, present: Kept, text: str | None, metadata: dict[str, Any], until: dict[str, Any]
    ) -> New:
        """The next state of a memory, which any door may have written."""
        memory = present.memory
        about = {**shapes.about_of(memory), **until, "created_at": shapes.born(memory)}
        fields = {name: value for name, value in memory.fields.items() if name not in IN_THE_TABLE}
        fields |= {name: memory.field(name) for name in _STAYING}
        fields |= {"kind": memory.kind, "tags": [*memory.tags] or None}
        if not until and memory.expires_us is not None:
            fields["expires_at"] = memory.expires_us / 1_000_000
        fields |= shapes.fields_of(about, {**shapes.metadata_of(memory), **metadata})
        rules = self._states.home.rules.trust
        trust = min(most(AGENT, rules), trust_of(memory, rules))
        stated = {name: value for name, value in fields.items() if value is not None}
        return New(memory.content if text is None else text, stated, AGENT, trust)


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise UnfitCallError(f"{name} is not supported here; leave it out")


def _filters(wanted: Mapping[str, Any], *, expired: bool = False) -> Filters:
    """What may answer: texts, by whatever door they came; records have verbs of their own."""
    moment = now()

    def let(memory: Line) -> bool:
        if memory.record_type is not None or (not expired and shapes.is_over(memory, moment)):
            return False
        return asked_for.fits(shapes.payload_of(memory), wanted)

    return replace(Filters(), besides=let)


def _found(one: Scored, *, explain: bool) -> dict[str, Any]:
    told = shapes.item(one.kept, score=min(one.score, 1.0))
    return {**told, "score_details": one.parts._asdict()} if explain else told


def _likeness(one: Scored) -> float:
    return one.score if one.parts.semantic is None else one.parts.semantic


def _query(query: Any) -> str:
    if not isinstance(query, str) or not query.strip():
        raise UnfitCallError("Invalid query: must be a non-empty string.")
    return query.strip()


def _check_count(top_k: Any) -> None:
    if type(top_k) is not int or not 0 <= top_k <= LIMIT_MAX:
        raise UnfitCallError(f"Invalid top_k: {quoted(top_k)}. Must be in 0 to {LIMIT_MAX}.")


def _threshold(threshold: Any) -> float:
    least = USUAL_THRESHOLD if threshold is None else threshold
    if type(least) not in (int, float) or not 0 <= least <= 1:
        raise UnfitCallError(f"Invalid threshold: {quoted(threshold)}. Must be between 0 and 1.")
    return float(least)


def _unknown(memory_id: str) -> UnfitCallError:
    return UnfitCallError(f"Memory with id {quoted(memory_id)} not found")
