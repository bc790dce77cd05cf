"""Homes to break, and the oracle: where each acknowledged memory is, read with nothing of ours."""

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skymem import app
from skymem.stores.files import Files

ROOT = Path(__file__).parents[2]
LINE_BYTES_MAX = 2048
AGENT = Path("memory/sky")
OLD = 1_700_000_000  # the homes' files are older than any writer could be slow

BROKEN = b'{"ts": 1699999990, "type": "short", "content": "bro'
TORN = b'{"ts": 1699999999, "type": "short", "conte'
HUGE = json.dumps({"ts": 1, "content": "x" * (LINE_BYTES_MAX + 10)}).encode()


def line(name: str, importance: float, **more: Any) -> bytes:
    """A memory in the `ts` spelling; its content is its name."""
    fields = {"ts": 1_699_999_000 + len(name), "type": "short", "content": name, **more}
    return json.dumps({**fields, "importance": importance}).encode() + b"\n"


def other_line(name: str, score: int, **more: Any) -> bytes:
    """A memory in the `timestamp` spelling."""
    fields = {"timestamp": "2025-11-08T12:34:56.789Z", "content": name, "score": score}
    return json.dumps({**fields, "metadata": {"type": "insight"}, **more}).encode() + b"\n"


def short_term() -> bytes:
    """Both spellings, repeats, damage in the middle, a huge line, a taken id, a torn tail."""
    return b"".join(
        [
            line("kept-first", 0.1),
            line("worth-1", 0.9),
            line("worth-1", 0.9),
            BROKEN + b"\n",
            other_line("worth-2", 9),
            line("in-long-already", 0.8),
            line("taken-id", 0.95, id="x1"),
            b"\r\n",
            line("kept-middle", 0.2),
            line("kept-middle", 0.2),
            HUGE + b"\n",
            line("glued-worth", 0.7).rstrip() + line("glued-kept", 0.3),
            other_line("kept-last", 2),
            line("own-id", 0.75, id="x2"),
            TORN,
        ]
    )


def long_term() -> bytes:
    """What earlier runs promoted, one of it with the id that short-term uses again."""
    first = line("in-long-already", 0.8).replace(b'"short"', b'"long"')
    return first + line("owner-of-x1", 0.8, id="x1").replace(b'"short"', b'"long"')


SHORT_NAMES = (
    "kept-first", "worth-1", "worth-2", "taken-id", "kept-middle", "glued-worth", "glued-kept",
    "kept-last", "own-id",
)  # fmt: skip
LONG_NAMES = ("in-long-already", "owner-of-x1")


def make_home(root: Path, *, lines_max: int = 1000) -> Path:
    """A home with every kind of line in short-term and a long-term from before."""
    app.init_home(root)
    rules = f"short_term_max_lines: {lines_max}\nline_max: {LINE_BYTES_MAX}B\n"
    (root / "retention_rules.yaml").write_text(rules)
    write_old(root / AGENT / "short_term.jsonl", short_term())
    write_old(root / AGENT / "long_term.jsonl", long_term())
    return root


def write_old(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.utime(path, (OLD, OLD))


def run(root: Path, job: str, files: Files | None = None) -> dict[str, Any]:
    """Run a job as the CLI would, on the real disk or on a faulty one."""
    home = app.open_home(str(root))
    if files is not None:
        home.files = files
    detail, _ = home.run_job(job)
    return detail


@dataclass(slots=True)
class Sight:
    """What a home holds: lines of each memory by tier, and damaged pieces by place."""

    tiers: dict[str, Counter[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    """Ids in long-term and archives, one for each line."""

    damaged: dict[str, Counter[bytes]] = field(default_factory=dict)

    def where(self, name: str) -> frozenset[str]:
        return frozenset(tier for tier, names in self.tiers.items() if names[name])

    def names(self) -> set[str]:
        return {name for names in self.tiers.values() for name in names}

    def places(self) -> dict[str, frozenset[str]]:
        return {name: self.where(name) for name in self.names()}

    def where_damage(self, piece: bytes) -> frozenset[str]:
        return frozenset(place for place, pieces in self.damaged.items() if pieces[piece])

    def add(self, tier: str, data: bytes) -> None:
        names = self.tiers.setdefault(tier, Counter())
        for raw in data.split(b"\n"):
            found = memories(raw)
            names.update(fields["content"] for fields in found)
            if tier in ("long", "archive"):
                self.ids.extend(str(fields["id"]) for fields in found if "id" in fields)
            if not found and raw.strip(b" \t\r\0"):
                self.damaged.setdefault(tier, Counter())[raw] += 1


def memories(raw: bytes) -> list[dict[str, Any]]:
    """The memories of a line; none when it is damaged as a whole."""
    if raw == HUGE:
        return []
    found: list[dict[str, Any]] = []
    try:
        rest = raw.decode().strip()
        while rest:
            value, end = json.JSONDecoder().raw_decode(rest)
            if "content" not in value:
                return []
            found.append(value)
            rest = rest[end:].lstrip()
    except (ValueError, TypeError):
        return []
    return found


def look(root: Path) -> Sight:
    """Read a home as a reader may at any time."""
    sight = Sight()
    agent = root / AGENT
    sight.add("short", read(root / "memory/short_term.jsonl"))
    sight.add("short", read(agent / "short_term.jsonl"))
    for drain in sorted(agent.glob("drains/[!.]*.jsonl")):
        sight.add("short", drain_rest(drain))
    sight.add("long", read(agent / "long_term.jsonl"))
    for archive in sorted(agent.glob("short_term_archive_*.jsonl")):
        sight.add("archive", read(archive))
    for index in sorted(agent.glob("quarantine/[!.]*.jsonl")):
        sight.damaged.setdefault("quarantine", Counter()).update(quarantined(index))
    return sight


def drain_rest(drain: Path) -> bytes:
    """What a drain holds beyond its cursor; nothing while it still is the file in use."""
    cursor_path = drain.with_name(drain.name + ".cursor.json")
    cursor = json.loads(cursor_path.read_bytes()) if cursor_path.exists() else {}
    source = drain.parents[1] / cursor.get("source", "short_term.jsonl")
    if source.exists() and source.samefile(drain):
        return b""
    return drain.read_bytes()[cursor.get("offset", 0) :]


def quarantined(index: Path) -> list[bytes]:
    assert index.with_suffix(".raw").exists(), "an index without its bytes"
    raw = index.with_suffix(".raw").read_bytes()
    pieces = []
    for text in index.read_bytes().splitlines():
        try:
            entry = json.loads(text)
        except ValueError as error:
            raise AssertionError(f"an index that is torn: {error}") from None
        piece = raw[entry["raw_offset"] : entry["raw_offset"] + entry["bytes"]]
        assert len(piece) == entry["bytes"]
        pieces.append(piece.removesuffix(b"\n"))
    return pieces


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


Make = Callable[[Path], str]
"""Makes a home and says which job is to be broken on it."""


def promote_home(root: Path) -> str:
    make_home(root)
    return "promote"


def rotate_home(root: Path) -> str:
    make_home(root, lines_max=3)
    return "rotate"


def both_home(root: Path) -> str:
    make_home(root, lines_max=3)
    return "memory_rotate_check"


def flat_home(root: Path) -> str:
    """The first source's path holds half of it."""
    make_home(root)
    short_term = root / AGENT / "short_term.jsonl"
    write_old(short_term, short_term.read_bytes().removesuffix(TORN))
    flat = line("flat-worth", 0.9) + line("flat-kept", 0.1)
    write_old(root / "memory/short_term.jsonl", flat + TORN)
    return "promote"


def late_home(root: Path) -> str:
    """A writer held short-term open across a swap, wrote on, and died without its last newline."""
    make_home(root)
    short_term = root / AGENT / "short_term.jsonl"
    everything = short_term.read_bytes().removesuffix(TORN)
    write_old(short_term, line("early-worth", 0.9) + line("early-kept", 0.1))
    with short_term.open("ab") as late:
        run(root, "promote")
        late.write(line("late-worth", 0.9) + line("late-kept", 0.2))
        late.write(line("late-end", 0.8).rstrip())
    (drain,) = root.glob(f"{AGENT}/drains/*.jsonl")
    os.utime(drain, (OLD, OLD))
    with short_term.open("ab") as more:
        more.write(everything)
    os.utime(short_term, (OLD, OLD))
    return "promote"


HOMES = (promote_home, rotate_home, both_home, flat_home, late_home)
