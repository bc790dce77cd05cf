"""What must be true at the end of a soak; each function returns what is not."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.soak_writers import AGENTS, end_of
from tests.acceptance.homes import Outside, whole

QUOTED_MAX = 3
LAST_SECONDS = 900.0
"""For each of the last runs: a busy machine's engine is slow, and all is to be embedded."""


MODEL = r"\d{8}T\d{6}_\d{6}Z"
TIMES = r"\d{8}T\d{6}(\.\d{6})?Z"
EXPECTED = (
    r"(retention_rules|schedule)\.yaml",
    r"skymem\.json",
    r"memory/[\w-]+/(short_term|long_term)\.jsonl",
    rf"memory/[\w-]+/short_term_archive_{TIMES}(_\d+)?\.jsonl",
    rf"memory/\w+/quarantine/{TIMES}_\w+\.(jsonl|raw)",
    r"memory/[\w-]+/(\.lock|protected\.json|trash/\w[\w.]*\.jsonl)",
    r"state/catalog\.db(-wal|-shm)?",
    r"state/words/[\w-]+\.db(-wal|-shm)?",
    rf"state/importance/[\w-]+/{MODEL}(\.json(\.set_aside)?|\.meanings)",
    r"state/documents/docs-\w+\.json",
    r"state/(runs|paused|clock|ledger_head|promoted_days|recalled/[\w-]+)\.json",
    r"state/recall_events/[\w-]+/\d{12}\.jsonl",
    r"state/embeddings/[\w-]+/[\w.-]+/(register\.db(-wal|-shm)?|vectors(-\d+)?\.f32)",
    rf"rag/chroma_store/[\w-]+/((current|closed)\.json|g{TIMES}/(manifest\.json|chroma\.sqlite3(-wal|-shm)?))",
    rf"rag/chroma_store/[\w-]+/g{TIMES}/[0-9a-f-]{{36}}/\w+\.(bin|pickle)",
    rf"rag/set_aside/[\w-]+-g{TIMES}-[\w-]+/.*",
    r"audit/key",
    r"audit/ledger(_\d+-\d+)?\.jsonl",
    r"run/(daemon|api|engine-start|job-[\w-]+|scratchpad-\w+|model-[\w.-]+|ledger|status|paused|clock)\.lock",
    r"run/engine(\.log|-at-work\.json)",
    r"run/hook\.(lock|log|sock)",
    r"rag/(engine|shadow)\.lock",
    r"audit/tombstones/[\w-]+\.jsonl",
    r"status/(sky_last_action|sky_heartbeat|engine|jobs/\w+)\.json",
    r"status/actions(\.\d)?\.jsonl",
)
"""Every file that a home may have once all is at rest."""


@dataclass
class Places:
    """Where each text is that anybody wrote."""

    found: Counter[str] = field(default_factory=Counter)
    tiers: Counter[str] = field(default_factory=Counter)
    promoted: list[tuple[str, str]] = field(default_factory=list)
    """Agent and text."""

    ids: dict[str, str] = field(default_factory=dict)
    """Of what was promoted: from the text to the id it has."""

    replaced: set[str] = field(default_factory=set)
    """Ids that another line supersedes or sums up."""

    unreadable: list[str] = field(default_factory=list)

    def read(self, agent: str, path: Path) -> None:
        """Count every line of a file."""
        tier = path.parent.name if path.parent.name in ("trash", "quarantine") else path.stem
        tier = "archive" if "archive" in tier else tier
        for number, raw in enumerate(path.read_bytes().split(b"\n"), 1):
            try:
                line = json.loads(raw or b"null")
                self.take(agent, tier, line)
            except (ValueError, KeyError, TypeError):
                self.unreadable.append(f"{path.name}:{number}: {raw[:80]!r}")

    def take(self, agent: str, tier: str, line: Any) -> None:
        """Count one line; what the program made of others stands beside them."""
        if line is None:
            return
        self.tiers[tier] += 1
        if tier == "quarantine":
            return
        line = line["memory"] if tier == "trash" else line
        self.replaced.update(line.get("supersedes", ()), line.get("evidence_ids", ()))
        if "evidence_ids" in line or "shared_from" in line:
            self.tiers["made"] += 1
            return
        text = line["content"]
        self.found[text] += 1
        if tier == "long_term":
            self.promoted.append((agent, text))
            self.ids[text] = line["id"]

    def active(self) -> list[tuple[str, str]]:
        """What was promoted and stands in no other's shadow: agent and text."""
        return [one for one in self.promoted if self.ids[one[1]] not in self.replaced]


def places(outside: Outside) -> Places:
    """Read every file that holds lines, the old ones that are only watched too."""
    read = Places()
    for agent in AGENTS:
        directory = outside.paths.agent(agent).directory
        for path in sorted(directory.rglob("*.jsonl")):
            read.read(agent, path)
    return read


@dataclass(frozen=True)
class Balance:
    """Whether the sum comes out."""

    lost: int
    doubled: int
    wrong: list[str]


def balance(
    read: Places,
    acknowledged: Mapping[str, str],
    maybe: AbstractSet[str],
    erased: Mapping[str, bool],
) -> Balance:
    """Hold what was acknowledged against what is there.

    Args:
        read: what is there.
        acknowledged: each text, and the id its writer was told, "" for none.
        maybe: how a text ends that may be there or not.
        erased: each text that was to be erased, and whether it surely was.
    """
    lost = sorted(acknowledged.keys() - read.found.keys() - erased.keys())
    doubled = sorted(text for text, count in read.found.items() if count > 1)
    strange = sorted(
        text for text in read.found.keys() - acknowledged.keys() if end_of(text) not in maybe
    )
    renamed = sorted(
        text for text, name in read.ids.items() if acknowledged.get(text, "") not in ("", name)
    )
    told = {
        "lost": lost,
        "doubled": doubled,
        "there though erased": sorted(text for text in read.found if erased.get(text, False)),
        "written by nobody": strange,
        "under another id than its writer was told": renamed,
        "unreadable": read.unreadable,
    }
    return Balance(
        len(lost), len(doubled), [_told(what, each) for what, each in told.items() if each]
    )


def _told(what: str, found: list[str]) -> str:
    more = f" and {len(found) - QUOTED_MAX} more" if len(found) > QUOTED_MAX else ""
    return f"{what}: {'; '.join(found[:QUOTED_MAX])}{more}"


def last_runs(outside: Outside) -> Iterator[str]:
    """Everything that is left to do, by hand."""
    for words in (("promote",), ("rotate",), ("share",), ("promote",), ("index",), ("train",)):
        told = outside(*words, "--json", seconds=LAST_SECONDS)
        if told.code:
            yield f"the last {words[0]} ended with {told.code}: {told.out[-300:]} {told.err[-300:]}"


def doctor(outside: Outside) -> Iterator[str]:
    """What the home's own examination finds."""
    told = outside("doctor", seconds=120)
    if told.code:
        problems = [line for line in told.out.splitlines() if not line.startswith("ok")]
        yield f"doctor ended with {told.code}: {'; '.join(problems)} {told.err[-300:]}"


def set_aside(outside: Outside, damaged: int) -> Iterator[str]:
    """Whether each line that was damaged lies in quarantine once, as it was."""
    raw = b"".join(path.read_bytes() for path in outside.paths.memory.glob("*/quarantine/*.raw"))
    for number in range(damaged):
        if (count := raw.count(b"half a line (damaged-%d)\n" % number)) != 1:
            yield f"damaged line {number} is in quarantine {count} times"


def fsck(outside: Outside) -> Iterator[str]:
    """Whether the record and the files prove each other."""
    told = outside("fsck", "--json", seconds=300)
    if told.code:
        yield f"fsck ended with {told.code}: {told.out[-600:]} {told.err[-300:]}"


def backup(outside: Outside, scratch: Path) -> Iterator[str]:
    """Whether a backup, restored elsewhere, holds the same."""
    made = scratch / "last.tar"
    other = Outside(replace(outside.paths, root=scratch / "restored"))
    for home, words in ((outside, ("backup",)), (other, ("restore-backup",))):
        told = home(*words, str(made), "--json", seconds=300)
        if told.code:
            yield f"{words[0]} ended with {told.code}: {told.out[-300:]} {told.err[-300:]}"
            return
    if places(other).found != places(outside).found:
        yield "what was restored of a backup is something else"
    yield from fsck(other)


def index(outside: Outside) -> Iterator[str]:
    """What the indexes lack."""
    told = outside("index", "--stats", "--json", seconds=120)
    if told.code:
        yield f"index --stats ended with {told.code}: {told.out[-300:]} {told.err[-300:]}"
        return
    for agent in AGENTS:
        yield from (f"the index of {agent}: {what}" for what in whole(told.json, agent))


def recall(
    outside: Outside, promoted: list[tuple[str, str]], chance: random.Random, count: int
) -> Iterator[str]:
    """Of some of what was promoted: whether its own text finds it first, by meaning."""
    for agent, text in chance.sample(promoted, min(count, len(promoted))):
        words = ("--agent", agent, "recall", text, "--mode", "semantic", "--json", "--limit", "3")
        told = outside(*words)
        if told.code or told.firsts() != [text]:
            yield f"recall of {text!r} ended with {told.code}: {told.out[:300]} {told.err[-300:]}"


def strays(outside: Outside) -> Iterator[str]:
    """Each file that has no business in a home at rest."""
    root = outside.paths.root
    kept = re.compile("|".join(EXPECTED))
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not path.is_dir() and not kept.fullmatch(name):
            yield f"a stray file: {name}"


def logs(*paths: Path) -> Iterator[str]:
    """Faults that nobody foresaw, in what the processes said."""
    for path in paths:
        text = path.read_text(errors="replace") if path.exists() else ""
        for word in ("Traceback", "traceback=", "Exception ignored", "panicked"):
            if word in text:
                at = text.index(word)
                yield f"{path.name} has {text.count(word)} × {word!r}: {text[at : at + 1500]}"


def ran(log: Path, least: int, most: int) -> Iterator[str]:
    """Whether the daemon did what it is for, and no more often than it should.

    Args:
        log: what it said.
        least: runs that ended well, in all.
        most: runs of any one entry.
    """
    text = log.read_text(errors="replace")
    done = len(re.findall(r'event="run ended" .*\bok=true', text, re.IGNORECASE))
    if done < least:
        yield f"only {done} runs of the daemon's were well, {least} should be"
    started = Counter(re.findall(r'event="run started" name=(\w+)', text))
    yield from (
        f"{name} was run {count} times, {most} at most should be"
        for name, count in started.items()
        if count > most
    )
