"""The floors: what the same work costs as a bare script that keeps nothing safe."""

import fcntl
import hashlib
import json
import os
from pathlib import Path
from typing import Any

LINE_BYTES_MAX = 1024 * 1024


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def promote(directory: Path, threshold: float) -> int:
    """Read, parse each line with the same checks, hash ids, write atomically."""
    short, long = directory / "short_term.jsonl", directory / "long_term.jsonl"
    kept: list[bytes] = []
    promoted: list[bytes] = []
    for raw in short.read_bytes().split(b"\n"):
        if not raw or len(raw) > LINE_BYTES_MAX:
            continue
        fields = json.loads(raw.decode("utf-8"), object_pairs_hook=_refuse_duplicates)
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        name = hashlib.blake2b(canonical, digest_size=12).hexdigest()
        if fields["importance"] >= threshold:
            promoted.append(json.dumps({**fields, "type": "long", "id": name}).encode() + b"\n")
        else:
            kept.append(raw + b"\n")
    _write(long, promoted, os.O_APPEND)
    temporary = directory / ".new"
    _write(temporary, kept, os.O_TRUNC)
    temporary.rename(short)
    return len(promoted)


def _write(path: Path, lines: list[bytes], flag: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    try:
        os.write(fd, b"".join(lines))
        os.fsync(fd)
    finally:
        os.close(fd)


def remember(path: Path, line: bytes, *, synced: bool = True) -> None:
    """Open, flock, append, fsync unless it is not to be waited for, close."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, line)
        if synced:
            os.fsync(fd)
    finally:
        os.close(fd)
