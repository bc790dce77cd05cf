"""Our own export: every tier of an agent, byte for byte, in a container with its hashes (X12).

For each agent there are its short-term as readers see it (what drains still hold, then the file),
its long-term, archives, trash, quarantine, pins and `agent.md`. No key, no ledger: it is memories
that go, and not the home (that is a backup).
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from skymem.app import Home
from skymem.exchange.backup import format_of, new_file, publish
from skymem.exchange.container import Piece, Reading, packed
from skymem.exchange.snapshot import Opened, Snapshot, snapshot_of
from skymem.jobs.workplace import DEFAULT_AGENT
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.lines import TIER_LINE_BYTES_MAX, last_newline_end

KIND: Final = "skymem export"
TOP: Final = "agents"
SHORT: Final = "short_term.jsonl"
FLAT: Final = "memory/short_term.jsonl"
"""The first source's path; a job adopts it, until then its lines are the default agent's."""


class Stretch(NamedTuple):
    """Some bytes of a file."""

    file: Opened
    start: int
    stop: int


def export(home: Home, agents: Sequence[str], target: Path, now: float) -> dict[str, Any]:
    """Write an export into a file, which gets its name when it has been read back.

    Raises:
        UsageError: there is such a file already.
        BusyError, DiskError: there is no such file.
    """
    target = new_file(target, home)
    with snapshot_of(home.workplace(), agents) as snapshot:
        pieces = pieces_of(snapshot, agents)
        blocks = packed(pieces, _about(home, agents, now), now)
        publish(target, blocks, check)
    return {"file": str(target), **_told(pieces, agents)}


def export_to(home: Home, agents: Sequence[str], stream: IO[bytes], now: float) -> dict[str, Any]:
    """Write an export into a stream as it goes; that it came over whole, its manifest shows."""
    with snapshot_of(home.workplace(), agents) as snapshot:
        pieces = pieces_of(snapshot, agents)
        for block in packed(pieces, _about(home, agents, now), now):
            stream.write(block)
    stream.flush()
    return {"file": "-", **_told(pieces, agents)}


def _about(home: Home, agents: Sequence[str], now: float) -> dict[str, Any]:
    about = {"kind": KIND, "version": 1, "made": now, "agents": list(agents)}
    return about | format_of(home.paths)


def _told(pieces: Sequence[Piece], agents: Sequence[str]) -> dict[str, Any]:
    whole = sum(one.size for one in pieces)
    return {"format": "skymem", "agents": list(agents), "files": len(pieces), "bytes": whole}


def check(path: Path) -> dict[str, Any]:
    """Read an export from end to end against its hashes; returns its manifest.

    Raises:
        ArchiveDamagedError: it is not whole.
    """
    with path.open("rb") as stream:
        return Reading(stream, str(path), (TOP,)).whole(KIND)


def pieces_of(snapshot: Snapshot, agents: Sequence[str]) -> list[Piece]:
    """What goes in: the living before what was removed, for an import that is killed between."""
    pieces: list[Piece] = []
    for agent in agents:
        own = f"memory/{agent}/"
        mine = (one for one in snapshot.files if one.name.startswith(own))
        files = {one.name.removeprefix(own): one for one in mine}
        flat = [one for one in snapshot.files if one.name == FLAT and agent == DEFAULT_AGENT]
        files |= {one.name: one for one in flat}
        tiers = [name for name in files if _is_tier(name)]
        trash = [name for name in files if name.startswith("trash/") and name.endswith(".jsonl")]
        rest = [name for name in files if _is_rest(name)]
        pieces += [_whole(agent, name, files[name]) for name in sorted(tiers)]
        pieces.append(_short(agent, snapshot, files))
        pieces += [_whole(agent, name, files[name]) for name in (*sorted(trash), *sorted(rest))]
    return pieces


def _is_tier(name: str) -> bool:
    archive = name.startswith("short_term_archive_") and name.endswith(".jsonl")
    return name == "long_term.jsonl" or archive


def _is_rest(name: str) -> bool:
    return name in ("protected.json", "agent.md") or name.startswith("quarantine/")


def _whole(agent: str, name: str, one: Opened) -> Piece:
    return Piece(f"{TOP}/{agent}/{name}", one.size, 0o600, lambda: one.blocks(one.size))


def _short(agent: str, snapshot: Snapshot, files: dict[str, Opened]) -> Piece:
    """Short-term in one piece: what drains still hold, then the file, each to its last line."""
    stretches: list[Stretch] = []
    ended: list[bytes] = []
    for name, one in sorted(files.items(), key=lambda pair: pair[0] == SHORT):
        start = 0 if name in (SHORT, FLAT) else snapshot.starts.get(one.name, -1)
        if start < 0:
            continue
        start += len(BOM) if start == 0 and os.pread(one.fd, len(BOM), 0) == BOM else 0
        stop = max(start, last_newline_end(one.fd, one.size))
        stretches.append(Stretch(one, start, stop))
        if rest := _unterminated(one, stop):
            ended.append(rest)
    size = sum(one.stop - one.start for one in stretches) + sum(map(len, ended))

    def blocks() -> Iterator[bytes]:
        for one in stretches:
            yield from one.file.blocks(one.stop, one.start)
        yield from ended

    return Piece(f"{TOP}/{agent}/{SHORT}", size, 0o600, blocks)


def _unterminated(one: Opened, start: int) -> bytes:
    """A last line that only lacks its newline, with it; what a writer is still at is left."""
    if not 0 < one.size - start <= TIER_LINE_BYTES_MAX:
        return b""
    raw = os.pread(one.fd, one.size - start, start)
    try:
        read_line(raw)
    except LineDamage:
        return b""
    return raw + b"\n"
