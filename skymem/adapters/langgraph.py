"""LangGraph's store over one agent's memory: `graph.compile(store=SkymemStore("sky"))`.

Each item is a memory, with its namespace and key in the line's metadata. A put writes the item's
next state, which supersedes the one before; a delete moves it to trash, from where `restore` brings
it back; search finds by words and meaning as `recall` does. The rules of the home hold as for all
memories: secrets are left out, origin says how far an item is believed, jobs move its line.

It needs the extra `langgraph`, and is the one module that imports it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from skymem.adapters.conditions import fits, matches
from skymem.adapters.json_values import plain, readable
from skymem.adapters.refusal import UnfitCallError, quoted
from skymem.adapters.states import Change, New, States, name_of, newest
from skymem.app import now
from skymem.errors import InvalidMemoryError, SecretRefusedError
from skymem.model.caution import TrustRules
from skymem.model.memory import SECONDS_MAX, Memory
from skymem.model.strict_json import canonical
from skymem.policy.secrets import guard_of
from skymem.policy.trust import trust_of
from skymem.recall.request import Filters
from skymem.stores.shelf import Kept

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] == "skymem":
        raise
    raise ModuleNotFoundError(
        f"SkymemStore needs {missing.name}: pip install 'skymem[langgraph]'", name=missing.name
    ) from None

KIND: Final = "item"
"""The kind of the memories that are items."""

ITEM_KEY: Final = "item"
"""Where a line's metadata has an item's key. Not `key`: a line in which that stands may hold a
secret by its looks, and is read far more slowly."""

IMPORTANCE: Final = 0.7
"""What an item is worth when nobody says: enough to be promoted, as rules are by default."""

WHOLE: Final = "$"
"""The path of the whole value."""

REFRESHED_AFTER: Final = 0.1
"""A read gives an item its time to live anew once this share of it is over: not each read writes a
line, and no item ends earlier than by that."""

MINUTE: Final = 60.0

_REFRESHED: Final[tuple[str, ...]] = ("kind", "importance", "scope")


class SkymemStore(BaseStore):
    """A store of one agent, as LangGraph's graphs and tools use it."""

    supports_ttl = True

    def __init__(
        self,
        agent: str | None = None,
        *,
        home: str | None = None,
        fields: Sequence[str] = (WHOLE,),
        ttl: TTLConfig | None = None,
        importance: float = IMPORTANCE,
        origin: str = "agent",
    ) -> None:
        """Open an agent's memory; where its rules can't be used it warns, as `open_memory` does.

        Args:
            agent: its name; `$SKYMEM_AGENT`, else `sky`, when left out.
            home: the home's directory; found as the CLI finds it when left out.
            fields: paths of what of a value is searched when `put` doesn't say.
            ttl: of it `default_ttl` (minutes) and `refresh_on_read` count; expired items are
                left out at once, and leave with the home's `prune`.
            importance: of the items' memories, 0 to 1: whether jobs promote them.
            origin: where the items come from: user, agent, tool, document or import.

        Raises:
            HomeNotFoundError, NotAllowedError, AgentNameError.
        """
        self.ttl_config = ttl
        self._states = States.opened(agent, home)
        self._fields = [*fields]
        self._importance = importance
        self._origin = origin

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer reads as it was before, then write: of several puts of an item the last.

        Raises:
            InvalidMemoryError: a value can't be kept; then nothing is written.
            NotAllowedError: an item to be deleted is pinned.
            UsageError, BusyError, DiskError.
        """
        asked = [*ops]
        reading = _Reading(self._states, asked)
        results = [reading.answer(op) for op in asked]
        puts: dict[str, PutOp] = {_named(op): op for op in asked if isinstance(op, PutOp)}
        changes = {name: self._change(op) for name, op in puts.items() if op.value is not None}
        rules = self._states.home.rules.trust
        changes |= {
            name: _refreshed(own, rules)
            for name, own in reading.refreshed.items()
            if name not in puts
        }
        if changes:
            self._states.write(changes)
        self._states.forget([name for name, op in puts.items() if op.value is None])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same on a thread: the disk is waited for there, and other tasks go on."""
        return await asyncio.to_thread(self.batch, [*ops])

    # -- writing --------------------------------------------------------------------------------

    def _change(self, op: PutOp) -> Change:
        """What a put makes of an item.

        Raises:
            InvalidMemoryError: it can't be kept.
        """
        namespace = [*op.namespace]
        self._check_name(namespace, op.key)
        value = plain(op.value)
        if op.ttl is not None and not 0 < op.ttl < SECONDS_MAX:
            raise InvalidMemoryError(f"ttl {op.ttl!r:.40} is no time above 0, in minutes")
        text = self._text(value, op.index)
        about = {"namespace": namespace, ITEM_KEY: op.key, "value": value}
        about |= {} if text else {"searched": False}
        about |= {} if op.ttl is None else {"ttl": op.ttl}
        name = _named(op)

        def change(present: Kept | None, moment: float) -> New:
            born = moment if present is None else _born(present.memory)
            fields = {
                "kind": KIND,
                "importance": self._importance,
                "scope": name,  # an item is like no other: no job makes one of two
                "metadata": {**about, "created_at": born},
                **_life(op.ttl, moment),
            }
            return New(text or "/".join([*namespace, op.key]), fields, self._origin)

        return change

    def _text(self, value: dict[str, Any], index: Any) -> str:
        """What of a value is searched; "" when nothing is."""
        if index is False:
            return ""
        found: list[str] = []
        for path in self._fields if index is None else index:
            found += [readable(value)] if path == WHOLE else get_text_at_path(value, path)
        return "\n".join(found).strip()

    def _check_name(self, namespace: list[str], key: str) -> None:
        """Refuse a name with a secret in it: without it, it would be another's name as well."""
        guard = guard_of(self._states.home.rules.secrets)
        _, kinds = guard.fields({"namespace": namespace, "key": key})
        if kinds:
            raise SecretRefusedError(f"{', '.join(sorted(kinds))}, in a namespace or key")


class _Reading:
    """The reads of one batch: each item is looked up once."""

    def __init__(self, states: States, ops: Sequence[Op]) -> None:
        self._states = states
        names = {_named(op) for op in ops if isinstance(op, GetOp)}
        self._got = states.of(names)
        self.refreshed: dict[str, str] = {}
        """Items whose time to live begins anew, each with the id of the state it is in."""

    def answer(self, op: Op) -> Result:
        """Answer one read; None of a put."""
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise UnfitCallError(f"unknown operation: {quoted(op)}")

    def _get(self, op: GetOp) -> Item | None:
        kept = newest(self._got[_named(op)])
        if kept is None or not _has_form(kept.memory.metadata):
            return None
        self._refresh(kept, wanted=op.refresh_ttl)
        return Item(**_item(kept.memory))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        def wanted(memory: Memory) -> bool:
            if not is_item(memory):
                return False
            namespace, value = memory.metadata["namespace"], memory.metadata["value"]
            within = tuple(namespace[: len(op.namespace_prefix)]) == tuple(op.namespace_prefix)
            return within and fits(value, op.filter or {})

        filters = replace(Filters(), kind=KIND, besides=wanted)
        last = op.offset + op.limit
        found: list[tuple[Kept, float | None]] = []
        if op.query and last > 0:
            searched = replace(filters, besides=lambda one: wanted(one) and _is_searched(one))
            scored = self._states.recall(op.query, last, searched)
            found += [(one.kept, one.score) for one in scored]
        if len(found) < last:  # as LangGraph's own: what has no score comes after what has
            met = {kept.id for kept, _ in found}
            rest = self._states.every(filters)
            found += [(kept, None) for kept in rest if kept.id not in met]
        shown = found[op.offset : last]
        for kept, _ in shown:
            self._refresh(kept, wanted=op.refresh_ttl)
        return [SearchItem(**_item(kept.memory), score=score) for kept, score in shown]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        kept = self._states.every(replace(Filters(), kind=KIND, besides=is_item))
        found = {tuple(one.memory.metadata["namespace"]) for one in kept}
        conditions = op.match_conditions or ()
        found = {
            one for one in found if all(matches(one, by.match_type, by.path) for by in conditions)
        }
        cut = sorted({one[: op.max_depth] for one in found})
        return cut[op.offset : op.offset + op.limit]

    def _refresh(self, kept: Kept, *, wanted: bool) -> None:
        ttl = _ttl(kept.memory)
        ends_us = kept.memory.expires_us
        if not wanted or ttl is None or ends_us is None:
            return
        left_us = ends_us - now() * 1_000_000
        if left_us < (1 - REFRESHED_AFTER) * ttl * 60_000_000:
            self.refreshed[name_of(kept.id)] = kept.id


def is_item(memory: Memory) -> bool:
    """Whether a memory is the item that its line says: what a hand copied is not twice there."""
    about = memory.metadata
    return _has_form(about) and name_of(memory.source_id or "") == _name(
        about["namespace"], about[ITEM_KEY]
    )


def _has_form(about: Mapping[str, Any]) -> bool:
    return (
        isinstance(about.get("value"), dict)
        and isinstance(about.get(ITEM_KEY), str)
        and isinstance(about.get("namespace"), list)
        and all(isinstance(label, str) for label in about["namespace"])
    )


def _is_searched(memory: Memory) -> bool:
    return memory.metadata.get("searched") is not False


def _named(op: GetOp | PutOp) -> str:
    return _name(op.namespace, op.key)


def _name(namespace: Sequence[str], key: str) -> str:
    """The name of an item; it tells nothing of namespace and key, as ids stand in the ledger."""
    return f"{KIND}-{blake2b(canonical([*namespace, key]), digest_size=16).hexdigest()}"


def _life(ttl: float | None, moment: float) -> dict[str, Any]:
    """How long an item is to stay: for good, or so many minutes."""
    return {"stability": "permanent"} if ttl is None else {"expires_at": moment + ttl * MINUTE}


def _refreshed(own: str, rules: TrustRules) -> Change:
    """Give an item its time to live anew, while it is in that state."""

    def change(present: Kept | None, moment: float) -> New | None:
        if present is None or present.id != own:
            return None
        memory = present.memory
        kept: dict[str, Any] = {name: memory.field(name) for name in _REFRESHED}
        about = {**memory.metadata, "updated_at": _changed(memory)}
        fields: dict[str, Any] = {**kept, "metadata": about, **_life(_ttl(memory), moment)}
        stated = {name: value for name, value in fields.items() if value is not None}
        trust = None if memory.origin is None else trust_of(memory, rules)
        return New(memory.content, stated, memory.origin, trust)

    return change


def _born(memory: Memory) -> float:
    return _seconds(memory, "created_at") or _changed(memory)


def _changed(memory: Memory) -> float:
    return _seconds(memory, "updated_at") or (memory.time_us or 0) / 1_000_000


def _ttl(memory: Memory) -> float | None:
    return _seconds(memory, "ttl")


def _seconds(memory: Memory, name: str) -> float | None:
    """A number of the metadata; of what a hand put there, none that can't be meant."""
    value: Any = memory.metadata.get(name)
    meant = isinstance(value, int | float) and 0 < value < SECONDS_MAX
    return float(value) if meant else None


def _item(memory: Memory) -> dict[str, Any]:
    about = memory.metadata
    return {
        "namespace": tuple(about["namespace"]),
        "key": about[ITEM_KEY],
        "value": deepcopy(about["value"]),  # what was read is kept for the next reader
        "created_at": datetime.fromtimestamp(_born(memory), UTC),
        "updated_at": datetime.fromtimestamp(_changed(memory), UTC),
    }
