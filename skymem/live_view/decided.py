"""What was decided, from the ledger's entries: a line each, of ids and reasons (promise 6)."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from skymem.model.plan import Reason
from skymem.stores.history import job_of


class Decided(NamedTuple):
    """One thing that was decided or done."""

    ts: float
    agent: str
    what: str
    """An action as the ledger names it: `promote`, `trash`, `came in` …"""

    id: str
    """Of the memory it is about, "" where it is about none."""

    why: str
    run: str = ""

    seq: int = 0
    """Number of its entry in the ledger, and which of it: by these two it is told from others."""

    at: int = 0


def decided_in(entry: Mapping[str, Any]) -> list[Decided]:
    """Tell what an entry records, in its order; [] of one that is about the record itself."""
    tell = _TELLERS.get(str(entry["op"]))
    if tell is None:
        return []
    agent, run, seq = str(entry.get("agent", "")), str(entry.get("run", "")), entry.get("seq", 0)
    seq = seq if isinstance(seq, int) else 0
    return [
        Decided(entry["ts"], agent, what, name, why, run, seq, at)
        for at, (what, name, why) in enumerate(tell(entry))
    ]


_Told = Iterator[tuple[str, str, str]]
"""What, id and why."""


def _decided(entry: Mapping[str, Any]) -> _Told:
    job = job_of(str(entry.get("run", "")))
    for action, name, *rest in entry["decided"]:
        why = Reason(*rest[:4]).words()
        yield action, name, f"{job}: {why}" if job and job != action else why


def _made(entry: Mapping[str, Any]) -> _Told:
    for what, name, evidence, supersedes in entry["added"]:
        basis = len({*evidence, *supersedes})
        yield "made", name, f"{what} of {basis:,} memor{'y' if basis == 1 else 'ies'}"


def _likened(entry: Mapping[str, Any]) -> _Told:
    for name, by, value, threshold in entry["likened"]:
        yield "likened", name, f"says the same as {by}: {value:g} against {threshold:g}"


def _named(entry: Mapping[str, Any]) -> _Told:
    """One line however many there are: a run sees thousands for the first time."""
    what = _AS.get(entry["op"], entry["op"])
    ids, whom = entry["ids"], entry.get("with")
    more = f"and {len(ids) - 1:,} more" if len(ids) > 1 else ""
    by = f"by {entry['by']}" if entry["op"] in ("pin", "unpin", "erase") and "by" in entry else ""
    told = (f"with {whom}" if whom else "", more, by)
    yield what, ids[0] if ids else "", ", ".join(one for one in told if one)


def _quarantined(entry: Mapping[str, Any]) -> _Told:
    yield "quarantine", "", f"{len(entry['pieces']):,} unreadable piece(s)"


def _refused(entry: Mapping[str, Any]) -> _Told:
    yield "refused", "", f"reached for {entry['whose']}, by {entry['door']}"


_AS: Final[Mapping[str, str]] = MappingProxyType(
    {"adopt": "was there", "remember": "came in", "edited outside": "edited", "erase": "erased"}
)

_TELLERS: Final[Mapping[str, Callable[[Mapping[str, Any]], _Told]]] = MappingProxyType(
    {
        "decide": _decided,
        "add": _made,
        "scratchpad": _made,
        "likened": _likened,
        **dict.fromkeys(
            ("adopt", "remember", "edited outside", "erase", "pin", "unpin", "share", "withdraw"),
            _named,
        ),
        "quarantine": _quarantined,
        "violation": _refused,
    }
)
