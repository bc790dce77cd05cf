"""What a path to import stands for: which format it is, and its entries one after the other.

Files are read as streams, never through a link, and as many as are fit to be read in one go: what
is more, larger or of another sort is refused in words, or left out and counted.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import UsageError
from skymem.exchange.foreign import READERS, entries_of_document
from skymem.exchange.markdown import markdown_fields
from skymem.model.strict_json import BOM, LineDamage, parse_object
from skymem.stores.files import disk_errors
from skymem.stores.lines import last_newline_end, raw_lines

FILES_MAX: Final = 100_000
"""More in one directory tree is a mistake, or meant to be one."""

FOLDERS_DEEP_MAX: Final = 32
LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Transcripts hold images in their lines; beyond this a line is passed over unread."""

DOCUMENT_BYTES_MAX: Final = 64 * 1024 * 1024
"""One JSON document is read whole."""

MARKDOWN_BYTES_MAX: Final = 4 * 1024 * 1024
LOOKED_AT: Final = 50
"""Lines from which a format is told."""

LOOKED_AT_BYTES: Final = 8 * 1024 * 1024
"""Or fewer, where they are long."""

FORMATS: Final = ("skymem", *READERS, "markdown")


class Item(NamedTuple):
    """What one line, entry or file says."""

    place: str
    """File and line."""

    fields: dict[str, Any] | None
    raw: bytes = b""
    reason: str = ""
    """Why there are no fields; "" where there is nothing in it to remember."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be imported."""

    path: Path
    format: str
    files: tuple[Path, ...]
    whole: bool = False
    """Whether each file is one JSON document."""

    def items(self) -> Iterator[Item]:
        """Yield all there is, file by file.

        Raises:
            DiskError: a file can't be read any more.
        """
        for path in self.files:
            if self.format == "markdown":
                yield self._markdown(path)
            elif self.whole:
                yield from _read(self.format, _documents(path))
            else:
                yield from _read(self.format, _lines(path))

    def _markdown(self, path: Path) -> Item:
        name = path.name if path == self.path else str(path.relative_to(self.path))
        with opened(path) as fd:
            data = os.pread(fd, MARKDOWN_BYTES_MAX + 1, 0)
        if len(data) > MARKDOWN_BYTES_MAX:
            return Item(name, None, b"", f"longer than {MARKDOWN_BYTES_MAX} bytes")
        try:
            return Item(name, markdown_fields(data, name))
        except LineDamage as damage:
            return Item(name, None, data, str(damage))


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a regular file for reading, through no link.

    Raises:
        DiskError: it is none, or can't be read.
    """
    with disk_errors(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "is no regular file", str(path))
            yield fd
        finally:
            os.close(fd)


def source_of(path: Path, wanted: str | None) -> Source:
    """Find out what there is to import.

    Args:
        path: a file, or a directory of Markdown files or of transcripts.
        wanted: the format, or None to tell it from what is there.

    Raises:
        UsageError: it is nothing that can be imported, or it could be several things.
        DiskError: it can't be read.
    """
    if wanted is not None and wanted not in FORMATS:
        raise UsageError(f"no format {wanted!r:.40}; there are: {', '.join(FORMATS)}")
    path = path.resolve() if path.exists() else path
    if path.is_dir():
        files = _files_below(path, wanted)
        if files[0].suffix.lower() == ".md":
            return Source(path, "markdown", files)
    else:
        files = (path,)
    if wanted == "markdown" or (wanted is None and path.suffix.lower() == ".md"):
        return Source(path, "markdown", files)
    with opened(files[0]) as fd:
        form, whole = _told_by(fd, files[0], wanted)
    return Source(path, wanted or form, files, whole)


def _told_by(fd: int, path: Path, wanted: str | None) -> tuple[str, bool]:
    """Tell a format by a file's beginning: which, and whether it is one document."""
    head = os.pread(fd, 512, 0)
    if wanted == "skymem" or (wanted is None and is_tar(head)):
        return "skymem", False
    if head[:2] in (b"\x1f\x8b", b"PK"):
        raise UsageError(f"{path} is compressed; unpack it first")
    samples, whole = _samples(fd)
    if wanted is not None:
        return wanted, whole
    votes = Counter(name for one in samples for name, (is_it, _) in READERS.items() if is_it(one))
    best = votes.most_common(2)
    if not best:
        raise UsageError(
            f"{path} is of no format that is known; say which: --format {'|'.join(FORMATS)}"
        )
    if len(best) > 1 and best[0][1] == best[1][1]:
        raise UsageError(
            f"{path} could be {best[0][0]} or {best[1][0]}; say which: --format {best[0][0]}"
        )
    return best[0][0], whole


def is_tar(head: bytes) -> bool:
    """Whether a file that begins like this is a tar."""
    return head[257:262] == b"ustar"


def _samples(fd: int) -> tuple[list[dict[str, Any]], bool]:
    found: list[dict[str, Any]] = []
    read = 0
    for number, (_, raw) in enumerate(_raw(fd)):
        if number >= LOOKED_AT or read > LOOKED_AT_BYTES:
            break
        read += len(raw or b"")
        try:
            found.append(parse_object(raw or b""))
        except LineDamage:
            continue
    if found and not (len(found) == 1 and _holds_entries(found[0])):
        return found, False
    try:
        return _document(fd)[:LOOKED_AT], True
    except LineDamage:
        return found, False


def _holds_entries(one: dict[str, Any]) -> bool:
    return "content" not in one and any(isinstance(value, list) for value in one.values())


def _document(fd: int) -> list[dict[str, Any]]:
    size = os.fstat(fd).st_size
    if size > DOCUMENT_BYTES_MAX:
        raise LineDamage(f"one JSON document of more than {DOCUMENT_BYTES_MAX} bytes; split it")
    return entries_of_document(os.pread(fd, size, 0).removeprefix(BOM))


def _raw(fd: int) -> Iterator[tuple[int, bytes | None]]:
    """Each line that isn't blank, with its number; None for one that is too long."""
    size = os.fstat(fd).st_size
    end = last_newline_end(fd, size)
    number = 0
    for offset, raw, _ in raw_lines(fd, 0, end, LINE_BYTES_MAX):
        number += 1
        text = raw.removeprefix(BOM) if raw is not None and offset == 0 else raw
        if text is None or text.strip():
            yield number, text
    if size > end:
        rest = os.pread(fd, size - end, end) if size - end <= LINE_BYTES_MAX else None
        yield number + 1, rest.removeprefix(BOM) if rest is not None and not end else rest


def _lines(path: Path) -> Iterator[tuple[str, bytes | None, dict[str, Any] | None, str]]:
    """Each line of a file: its place, its bytes, and its fields or why there are none."""
    with opened(path) as fd:
        for number, raw in _raw(fd):
            place = f"{path.name}:{number}"
            if raw is None:
                yield place, None, None, f"longer than {LINE_BYTES_MAX} bytes"
                continue
            try:
                yield place, raw, parse_object(raw.strip()), ""
            except LineDamage as damage:
                yield place, raw, None, str(damage)


def _documents(path: Path) -> Iterator[tuple[str, bytes | None, dict[str, Any] | None, str]]:
    with opened(path) as fd:
        try:
            entries = _document(fd)
        except LineDamage as damage:
            raise UsageError(f"{path}: {damage}") from None
    for number, one in enumerate(entries, start=1):
        yield f"{path.name}#{number}", None, one, ""


def _read(
    form: str,
    found: Iterator[tuple[str, bytes | None, dict[str, Any] | None, str]],
) -> Iterator[Item]:
    is_it, read = READERS[form]
    for place, raw, one, reason in found:
        if one is None:
            yield Item(place, None, raw or b"", reason)
            continue
        try:
            fields = [*read(one)] if form == "transcript" or is_it(one) else None
        except LineDamage as damage:
            yield Item(place, None, raw or b"", str(damage))
            continue
        if fields is None:
            yield Item(place, None, raw or b"", f"no entry of {form}")
        elif not fields:
            yield Item(place, None)
        yield from (Item(place, each, raw or b"") for each in fields or ())


def _files_below(root: Path, wanted: str | None) -> tuple[Path, ...]:
    """The Markdown files of a directory, or its files of JSON lines; not both."""
    suffixes = {"markdown": (".md",), None: (".md", ".jsonl")}.get(wanted, (".jsonl",))
    found: dict[str, list[Path]] = {one: [] for one in suffixes}
    with disk_errors(root):
        for count, path in enumerate(_walk(root, 0)):
            if count >= FILES_MAX:
                raise UsageError(
                    f"{root} holds more than {FILES_MAX:,} files; import it part by part"
                )
            if path.suffix.lower() in found:
                found[path.suffix.lower()].append(path)
    kinds = [one for one in suffixes if found[one]]
    if not kinds:
        raise UsageError(f"{root} holds no {' or '.join(suffixes)} file")
    if len(kinds) > 1:
        raise UsageError(
            f"{root} holds {' and '.join(kinds)} files; say which: --format markdown, or jsonl, "
            "mcp, mem0, transcript"
        )
    return tuple(sorted(found[kinds[0]]))


def _walk(directory: Path, depth: int) -> Iterator[Path]:
    """Every regular file below, links and what begins with a dot passed over."""
    if depth > FOLDERS_DEEP_MAX:
        raise UsageError(f"{directory} is nested deeper than {FOLDERS_DEEP_MAX}; import a part")
    with os.scandir(directory) as items:
        for item in items:
            if item.name.startswith("."):
                continue
            if item.is_dir(follow_symlinks=False):
                yield from _walk(Path(item.path), depth + 1)
            elif item.is_file(follow_symlinks=False):
                yield Path(item.path)
