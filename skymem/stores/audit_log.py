"""Looking through the ledger for what was done to whom, by which run, since when (row M8)."""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from skymem.stores.ledger import Ledger

LISTS = ("ids", "decided", "added", "moved")
"""Keys under which an entry lists memories: the id itself, or a list that has it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries are asked for; what is None or 0 asks for nothing."""

    agent: str | None = None
    run: str | None = None
    id: str | None = None
    op: str | None = None
    since: float = 0.0
    """Epoch seconds."""

    def fits(self, entry: dict[str, Any]) -> bool:
        """Whether this entry is meant, its memories aside."""
        if self.agent is not None and entry.get("agent") != self.agent:
            return False
        if self.run is not None and entry.get("run") != self.run:
            return False
        if self.op is not None and entry["op"] != self.op:
            return False
        return self.since <= 0 or float(entry.get("ts", 0)) >= self.since


def log(ledger: Ledger, wanted: Wanted, limit: int) -> list[dict[str, Any]]:
    """Find the newest entries that are meant, oldest of them first.

    Of an entry about many memories only what concerns the one that was asked for is given. Reads
    the whole ledger; parses the lines that have the wanted words in them.
    """
    found: deque[dict[str, Any]] = deque(maxlen=limit)
    for entry in _candidates(ledger, wanted):
        if not wanted.fits(entry):
            continue
        told = {key: value for key, value in entry.items() if key not in ("prev", "hash")}
        if wanted.id is None or _narrowed(told, wanted.id):
            found.append(told)
    return list(found)


def _candidates(ledger: Ledger, wanted: Wanted) -> Iterable[dict[str, Any]]:
    words = (wanted.id, wanted.run, wanted.agent, wanted.op)
    word = next((one for one in words if one is not None), None)
    # As the ledger spells it; of an id the first letters are enough.
    quoted = b"" if word is None else json.dumps(word).encode()
    return ledger.mentioning(quoted[:-1] if word == wanted.id else quoted)


def _narrowed(entry: dict[str, Any], name: str) -> bool:
    """Leave in an entry what concerns one memory; False when nothing does."""
    concerns = False
    for key in LISTS:
        if key in entry:
            own = [one for one in entry[key] if _is_about(key, one, name)]
            entry[key] = own
            concerns = concerns or bool(own)
    return concerns


def _is_about(key: str, one: Any, name: str) -> bool:
    if key == "ids":
        return str(one).startswith(name)
    if key == "moved":
        return str(one[0]).startswith(name)
    if key == "decided":
        return str(one[1]).startswith(name)
    return any(str(own).startswith(name) for own in (one[1], *one[2], *one[3]))
