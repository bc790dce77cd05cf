"""The chain of the ledger's entries: how one is spelled, and whether each follows the one before.

A walk over all entries, in the order they stand in, names what was changed, removed, inserted or
reordered, by number, file and line (row M8). It holds no more than what it has found.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from skymem.stores.segments import Segment

GENESIS: Final = "0" * 64
PROBLEMS_MAX: Final = 1000

CUT_OFF: Final = "cut off"
"""The operation of an entry that records that the end of the ledger was found missing."""


def spell(entry: Mapping[str, Any], seq: int, previous: str, now: float) -> tuple[bytes, str]:
    """Spell an entry as a line of the ledger; returns its hash as well."""
    chained = {"seq": seq, "ts": now, **entry, "prev": previous}
    own = hash_of(chained)
    line = json.dumps({**chained, "hash": own}, allow_nan=False, separators=(",", ":"))
    return line.encode() + b"\n", own


def hash_of(entry: Mapping[str, Any]) -> str:
    """Hash an entry without its own hash."""
    text = json.dumps(entry, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def true_hash(entry: Mapping[str, Any]) -> str:
    """Hash an entry that was read; "" for what can't be spelled again, as we did not spell it."""
    try:
        return hash_of(entry)
    except (ValueError, RecursionError):
        return ""


def parse(raw: bytes | None) -> dict[str, Any] | None:
    """Read a line of the ledger; None when it is none."""
    try:
        value = json.loads(raw or b"", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(value, dict) and type(value.get("seq")) is int
    return value if whole and isinstance(value.get("hash"), str) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # we write no NaN


class ChainCheck:
    """One walk over the whole ledger."""

    def __init__(self, recorded: tuple[int, str] | None) -> None:
        """Start before the first entry.

        Args:
            recorded: number and hash of the last entry, as they were noted when it was written.
        """
        self.entries = 0
        self._recorded = recorded
        self._recorded_seen = recorded is None
        self._problems: list[str] = []
        self._more = 0
        self._seq = 0
        self._fitting = {GENESIS}
        """What the next entry may give as the hash of the one before."""

        self._missing: list[tuple[int, int, str]] = []
        """Numbers not met yet, first to last, and where they should have stood."""

        self._late: tuple[int, int, str, int] | None = None
        """Numbers that stand behind a later one: first, last, where, and behind which."""

        self._file: Segment | None = None
        self._line = 0

    def open(self, segment: Segment) -> None:
        """Go on with the next file."""
        self._file, self._line = segment, 0

    def take(self, raw: bytes | None) -> dict[str, Any] | None:
        """Take in the next line; gives the entry, without its hash, or None when it is none."""
        self._line += 1
        entry = parse(raw)
        if entry is None:
            self._tell(f"{self._here()} is no entry")
            return None
        self.entries += 1
        claimed = entry.pop("hash")
        self._place(entry, claimed, true_hash(entry))
        return entry

    def _place(self, entry: Mapping[str, Any], claimed: str, true: str) -> None:
        seq, before = entry["seq"], str(entry.get("prev"))
        if claimed != true and before in self._fitting:
            self._changed(seq)
        elif seq == self._seq + 1:
            self._next(seq, before, sound=claimed == true)
        elif seq > self._seq:
            self._gap(seq, sound=claimed == true)
        else:
            self._behind(seq, claimed, sound=claimed == true)
            return
        self._fitting = {claimed, true}
        if entry.get("op") == CUT_OFF:
            self._told_cut(entry)
        self._compare(claimed)

    def problems(self) -> list[str]:
        """What is wrong, now that everything was taken in."""
        self._tell_late()
        for first, last, where in self._missing:
            self._tell(f"{_numbers(first, last)} missing: {where}")
        self._missing.clear()
        if self._recorded is not None and self._recorded[0] > self._seq:
            lost = _numbers(self._seq + 1, self._recorded[0])
            self._tell(f"{lost} missing: the end of the ledger was cut off")
        if self._more:
            return [*self._problems, f"… and {self._more:,} more"]
        return self._problems

    def _changed(self, seq: int) -> None:
        """An entry that stands where it was, and isn't what it was."""
        calls = f", and calls itself {seq}" if seq != self._seq + 1 else ""
        self._seq += 1
        self._tell(f"{self._here()}: entry {self._seq} was changed{calls}")

    def _next(self, seq: int, before: object, *, sound: bool) -> None:
        self._tell_late()
        if not sound:
            self._tell(f"{self._here()}: entry {seq} was changed")
        elif before not in self._fitting:
            self._tell(
                f"{self._here()}: entry {seq} does not follow entry {self._seq}: "
                f"one of the two was changed together with its hash"
            )
        self._seq = seq

    def _gap(self, seq: int, *, sound: bool) -> None:
        self._tell_late()
        if not sound:
            self._tell(f"{self._here()}: entry {seq} was changed")
        self._missing.append((self._seq + 1, seq - 1, self._why_missing(seq)))
        self._seq = seq

    def _why_missing(self, seq: int) -> str:
        if self._line == 1 and self._file is not None:
            if self._file.first == seq:
                return f"a file of the ledger is gone that stood before {self._file.name}"
            if not self._file.first:
                return f"a file before {self._file.name} is gone, or the beginning of it"
        return f"removed before {self._here()}"

    def _behind(self, seq: int, claimed: str, *, sound: bool) -> None:
        """An entry whose number should have come before."""
        if not sound:
            self._tell(f"{self._here()}: entry {seq} was changed")
        for at, (first, last, where) in enumerate(self._missing):
            if first <= seq <= last:
                rest = [(first, seq - 1, where), (seq + 1, last, where)]
                self._missing[at : at + 1] = [one for one in rest if one[0] <= one[1]]
                self._is_late(seq)
                return
        self._tell_late()
        self._tell(f"{self._here()}: entry {seq} was inserted: its number is taken")
        if seq == self._seq:  # which of the two was there first, the next one knows
            self._fitting.add(claimed)

    def _is_late(self, seq: int) -> None:
        if self._late is not None and self._late[1] == seq - 1:
            self._late = (self._late[0], seq, *self._late[2:])
            return
        self._tell_late()
        self._late = (seq, seq, self._here(), self._seq)

    def _tell_late(self) -> None:
        if self._late is not None:
            first, last, where, behind = self._late
            self._late = None
            stand = "stands" if first == last else "stand"
            self._tell(f"{where}: {_entries(first, last)} {stand} behind entry {behind}: reordered")

    def _told_cut(self, entry: Mapping[str, Any]) -> None:
        """The ledger itself says that its end was found missing."""
        lost = entry.get("lost")
        if isinstance(lost, list) and len(lost) == 2:
            which = f"{_entries(*lost)} as written before"
            self._tell(f"{self._here()}: {which} had been cut off when entry {self._seq} came")

    def _compare(self, claimed: str) -> None:
        """Hold the entry that was noted as the last one against what stands here."""
        if self._recorded is None or self._seq != self._recorded[0] or self._recorded_seen:
            return
        self._recorded_seen = True
        if claimed != self._recorded[1]:
            self._tell(f"{self._here()}: entry {self._seq} is not the one that was written")

    def _here(self) -> str:
        name = self._file.name if self._file is not None else "?"
        return f"{name}: line {self._line}"

    def _tell(self, problem: str) -> None:
        if len(self._problems) < PROBLEMS_MAX:
            self._problems.append(problem)
        else:
            self._more += 1


def _entries(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first}–{last}"


def _numbers(first: int, last: int) -> str:
    return f"{_entries(first, last)} {'is' if first == last else 'are'}"
