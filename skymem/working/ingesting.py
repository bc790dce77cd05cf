"""Taking documents in: what changed is read, cut and handed to the job that keeps it (row W8).

Done in batches, each whole in itself: after a kill the next run goes on where this one stopped. A
document that can't be read is reported, and what was taken in of it before stays.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import InvalidMemoryError, SecretRefusedError, UsageError
from skymem.jobs import runner
from skymem.jobs.detail import raise_failure
from skymem.jobs.ingest import INGEST, REMOVED, New, Saying, Why, ingest
from skymem.model.chunk import (
    CHUNK,
    IMPORTANCE,
    KEY_LETTERS,
    Citation,
    chunk_id,
    citation_of,
    document_key,
    payload,
    same,
)
from skymem.model.memory import Memory
from skymem.model.spelling import new_fields
from skymem.policy.chunks import Block, Piece, cut
from skymem.policy.form import admit_fields
from skymem.policy.secrets import guard_of
from skymem.policy.trust import given
from skymem.stores.counts import note_redacted
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.working.documents_kept import Kept, kept_documents
from skymem.working.readers import formats, slack
from skymem.working.readers.reading import OtherError, Read, UnreadableError
from skymem.working.versions import Versions
from skymem.working.walk import Found, Walk, read_bytes, walk

if TYPE_CHECKING:
    from skymem.app import Home

BATCH_CHUNKS: Final = 2000
"""Chunks of one run of the job, beyond the first document of it: bounds memory."""

_BY_ADMIT: Final = frozenset({"ts", "content", "tags", "importance"})
"""Fields of a new line that are said to `admit_fields` by themselves."""

SETTLED_SECONDS: Final = 2.0
"""A file touched more recently than this may change again within the same tick of its clock."""


@dataclass(slots=True)
class Ingested:
    """What came of taking documents in."""

    owner: str
    added: list[str] = field(default_factory=list)
    """Paths of documents that are new."""

    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    passed_over: int = 0
    """Files of a format that is not known, and links."""

    failed: dict[str, str] = field(default_factory=dict)
    """Why, by path; what was taken in of these before stays."""

    notes: dict[str, str] = field(default_factory=dict)
    """What was taken for something or left out, by path."""

    chunks: int = 0
    """That are new."""

    trashed: int = 0
    """Chunks that are no more."""

    runs: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        """Spell it, as `skymem docs add --json` prints it."""
        told: dict[str, Any] = {
            "ok": not self.failed,
            "owner": self.owner,
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "passed_over": self.passed_over,
            "failed": [{"file": file, "reason": why} for file, why in self.failed.items()],
            "notes": [{"file": file, "note": note} for file, note in self.notes.items()],
            **self.counts(),
            "degraded": self.degraded,
        }
        return {**told, "dry_run": True} if self.dry_run else told

    def counts(self) -> dict[str, Any]:
        """Numbers and runs only: what a status may hold."""
        kept = {"skipped": dict(self.kept)} if self.kept else {}
        return {"chunks": self.chunks, "trashed": self.trashed, "runs": self.runs, **kept}


class Ingesting:
    """One run over some paths, for one owner."""

    def __init__(self, home: "Home", owner: str, tenant: str | None, *, dry_run: bool) -> None:
        """Prepare a run; `tenant` is named on the lines."""
        rules = home.rules.documents
        self._home, self._owner, self._tenant = home, owner, tenant
        self._work = home.workplace(dry_run=dry_run)
        self._cutting = rules.chunk_chars, rules.overlap_chars
        self._versions = Versions.read(home.paths, owner, self._cutting)
        self._counts = self._counted()
        self._guard = guard_of(home.rules.secrets)
        self._redacted: Counter[str] = Counter()
        """Secrets of the document that is being read, by kind."""

        self.done = Ingested(owner, dry_run=dry_run)

    def add(self, paths: Sequence[str]) -> Ingested:
        """Take in what the paths stand for.

        Raises:
            UsageError: a path is not there; nothing was taken in.
            SkymemError: what else kept the job from its end; what was done by then is done.
        """
        walks = [walk(path, self._home.paths.own) for path in paths]
        gone = [one for each in walks for one in self._gone(each)]
        found = {one.path: one for each in walks for one in each.found}
        for each in walks:
            self.done.passed_over += each.passed_over
            self.done.failed.update(each.failed)
        self._take(self._changed(found.values()))
        self.drop(gone, "is gone")
        return self.done

    def drop(self, gone: Sequence[Kept], why: Why = REMOVED) -> None:
        """Move all chunks of these documents to trash."""
        sayings = [Saying(one.path, {}, why) for one in gone]
        if sayings:
            self._carry_out(sayings, {one.path: "" for one in gone})

    def _gone(self, found: Walk) -> list[Kept]:
        """Documents that were taken in from below this path, and are not there any more.

        Raises:
            UsageError: none is: it looks like a disk that is not mounted, and not like a wish.
        """
        there = {one.path for one in found.found}
        unseen = [path for path, _ in found.failed]
        below = found.root.rstrip("/") + "/"
        known = [
            one
            for one in kept_documents(self._work, self._owner, self._versions)
            if one.path.startswith(below)
        ]
        gone = [
            one
            for one in known
            if one.path not in there
            and not any(one.path == path or one.path.startswith(path + "/") for path in unseen)
        ]
        if known and not found.found and gone:
            raise UsageError(
                f"{found.root} has no document in it any more, and {len(gone)} came from there; "
                f"if that is meant: skymem docs remove {found.root}"
            )
        return gone

    def _changed(self, found: Iterable[Found]) -> Iterator[tuple[Found, Saying]]:
        """Read what is not known to be as it was."""
        for one in found:
            self._work.check_stop()
            if self._versions.is_unchanged(one.path, one.version, self._counts):
                self.done.unchanged += 1
                continue
            self._redacted.clear()
            try:
                said = self._read(one)
                chunks = self._chunks(one, said)
            except OtherError as error:
                self.done.passed_over += 1
                self.done.notes[one.path] = str(error)
                self._versions.note(one.path, self._settled(one), 0)
            except InvalidMemoryError as error:  # unreadable, or no line of ours can hold it
                self.done.failed[one.path] = str(error)
            else:
                self._tell(one, said)
                yield one, Saying(one.path, chunks)

    def _tell(self, one: Found, said: Read) -> None:
        """Tell what was taken for something, left out or redacted."""
        kinds = ", ".join(f"{times} × {kind}" for kind, times in sorted(self._redacted.items()))
        notes = [said.note, f"redacted: {kinds}" if kinds else ""]
        if any(notes):
            self.done.notes[one.path] = "; ".join(filter(None, notes))
        if not self.done.dry_run:
            home = self._home
            note_redacted(home.paths, home.files, self._owner, dict(self._redacted))

    def _take(self, changed: Iterator[tuple[Found, Saying]]) -> None:
        batch: list[Saying] = []
        versions: dict[str, str] = {}
        size = 0
        for one, saying in changed:
            batch.append(saying)
            versions[one.path] = self._settled(one)
            size += len(saying.chunks)
            if size >= BATCH_CHUNKS:
                self._carry_out(batch, versions)
                batch, versions, size = [], {}, 0
        if batch:
            self._carry_out(batch, versions)
        elif not self.done.dry_run and self._versions.taken:
            self._versions.write(self._home.files)

    def _settled(self, one: Found) -> str:
        """The version, once no change can hide behind the same times."""
        settled = self._work.now() - one.changed > SETTLED_SECONDS
        return one.version if settled else ""

    def _read(self, one: Found) -> Read:
        limit = self._home.rules.documents.file_bytes_max
        name = os.path.basename(one.path)
        if one.format != "slack":
            return formats.read(one.format, read_bytes(one.path, limit), name)
        if one.size > limit * 8:
            raise UnreadableError(f"has {one.size:,} bytes in all, more than 8 × file_max")
        users = read_bytes(os.path.join(os.path.dirname(one.path), slack.USERS), limit)
        days = ((day, read_bytes(os.path.join(one.path, day), limit)) for day in one.files)
        return formats.checked(slack.read(days, name, slack.names_of(users)))

    def _chunks(self, one: Found, said: Read) -> dict[str, New]:
        """The document's chunks as lines of long-term; what it says twice in one place, once."""
        chunks: dict[str, New] = {}
        for piece in cut(map(self._guarded, said.blocks), *self._cutting):
            place = dict(piece.place)
            file = os.path.join(one.path, str(place.pop("file"))) if "file" in place else one.path
            name, new = self._chunk(piece, Citation(file, one.path, place), one.mtime_us)
            chunks.setdefault(name, new)
        return chunks

    def _guarded(self, block: Block) -> Block:
        """A block without secrets, before a cut can part one of them (row X11)."""
        text, kinds = self._guard.text(block.text)
        top, more = self._guard.text(block.top)
        self._redacted.update(kinds + more)
        if self._redacted and self._home.rules.secrets.on == "refuse":
            raise SecretRefusedError(", ".join(sorted(self._redacted)))
        return block._replace(text=text, top=top)

    def _chunk(self, piece: Piece, citation: Citation, mtime_us: int) -> tuple[str, New]:
        """A chunk's line, and what makes it the same as one before."""
        rules = self._home.rules
        seconds = max(0, mtime_us if piece.time_us is None else piece.time_us) / 1_000_000
        extra: dict[str, Any] = {
            "type": "long",
            "kind": CHUNK,
            "stability": "permanent",
            **given("document", None, rules.trust),
            **({} if self._tenant is None else {"tenant": self._tenant}),
            "record_type": CHUNK,
            "payload": payload(citation),
        }
        tags = [os.path.basename(citation.document)]
        spelled = new_fields(piece.text, ts=seconds, tags=tags, importance=IMPORTANCE, extra=extra)
        fields, kinds = self._guard.fields(spelled)
        self._redacted.update(kinds)
        name = chunk_id(citation.document, fields)
        own = {key: value for key, value in fields.items() if key not in _BY_ADMIT}
        admitted = admit_fields(
            fields["content"],
            limit=rules.line_bytes_max,
            now=seconds,
            tags=fields["tags"],
            importance=IMPORTANCE,
            extra={**own, "id": name},
            guard=self._guard,
        )
        cited = citation_of(Memory(fields)) or citation
        return same(cited, fields["content"], piece.time_us), New(name, admitted.raw)

    def _carry_out(self, batch: Sequence[Saying], versions: Mapping[str, str]) -> None:
        done, dry_run = self.done, self.done.dry_run
        if not dry_run:
            self._home.make_ready(self._owner)
        touched: set[str] = set()
        table = {INGEST: ingest(batch, touched)}
        detail, outcomes = runner.run(
            self._work, INGEST, [self._owner], dry_run=dry_run, table=table
        )
        for outcome in outcomes:
            done.chunks += outcome.additions[CHUNK]
            done.trashed += outcome.actions["trash"]
            done.runs += outcome.runs if outcome.acted else []
            done.kept.update(outcome.skipped)
        done.degraded = [*dict.fromkeys([*done.degraded, *detail["degraded"]])]
        if not dry_run:
            self._home.record(INGEST, detail)
        raise_failure(outcomes)
        self._sort(batch, touched)
        if not dry_run:
            self._note(batch, versions)

    def _sort(self, batch: Sequence[Saying], touched: Collection[str]) -> None:
        """Tell what became of each document."""
        for one in batch:
            if one.document not in touched:
                self.done.unchanged += bool(one.chunks)
            elif not one.chunks:
                self.done.removed.append(one.document)
            elif self._counts.get(document_key(one.document), 0):
                self.done.changed.append(one.document)
            else:
                self.done.added.append(one.document)

    def _note(self, batch: Sequence[Saying], versions: Mapping[str, str]) -> None:
        self._counts = self._counted()
        for one in batch:
            if one.chunks:
                count = self._counts.get(document_key(one.document), 0)
                self._versions.note(one.document, versions[one.document], count)
            else:
                self._versions.forget(one.document)
        self._versions.write(self._home.files)

    def _counted(self) -> dict[str, int]:
        """How many chunks there are of each document, by its key."""
        shelf = self._work.shelf(self._owner)
        with self._work.catalog() as catalog, disk_errors(shelf.paths.directory):
            life = Lifecycle(catalog, self._owner)
            return self._work.ask(catalog, shelf, lambda: life.beginnings(CHUNK, KEY_LETTERS))
