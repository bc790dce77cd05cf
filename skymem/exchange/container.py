"""The file of a backup or an export: a plain tar of regular files, its hashes in the last of them.

Any tar can unpack it; `tar` says nothing of damage, so the last member, `MANIFEST.json`, has size
and SHA-256 of each other. It is written and read as a stream, in flat memory. What is read is
believed in nothing: a member is a regular file with a plain relative name in a place that is
expected, or the whole is refused; links, devices, sparse files and extension headers never are.
"""

import json
import re
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO, Any, Final, NamedTuple

from skymem.errors import SkymemError

MANIFEST: Final = "MANIFEST.json"
BLOCK: Final = 512
COPY_BYTES: Final = 1024 * 1024
NAME_BYTES_MAX: Final = 255
MANIFEST_BYTES_MAX: Final = 256 * 1024 * 1024
USTAR_BYTES_MAX: Final = 8 * 1024**3
"""What the plain header can say of a size; beyond it the GNU spelling of the same field."""

_END: Final = bytes(2 * BLOCK)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+:@,=~ -]+")


class ArchiveDamagedError(SkymemError):
    """{0} is not whole: {1}"""

    exit_code = 20
    hint = "nothing was taken from it; take another copy of it"


class Piece(NamedTuple):
    """A file that is to go in."""

    name: str
    size: int
    mode: int
    blocks: Callable[[], Iterable[bytes]]
    """Its bytes: just `size` of them."""


class Member(NamedTuple):
    """A file that is in, its name checked."""

    name: str
    size: int
    mode: int


Take = Callable[[Member, Iterator[bytes]], None]
"""Is given each member and its bytes, which it may leave unread."""


def leave(_member: Member, _blocks: Iterator[bytes]) -> None:
    """Take nothing of it: it is read for its hash alone."""


def packed(pieces: Iterable[Piece], about: Mapping[str, Any], now: float) -> Iterator[bytes]:
    """Yield the bytes of a container: each piece, then the manifest, `about` in it."""
    told = []
    for piece in pieces:
        hashed = sha256()
        yield _header(piece.name, piece.size, piece.mode, now)
        for block in piece.blocks():
            hashed.update(block)
            yield block
        yield bytes(-piece.size % BLOCK)
        told.append({"name": piece.name, "size": piece.size, "sha256": hashed.hexdigest()})
    manifest = json.dumps({**about, "files": told}, allow_nan=False, indent=0).encode() + b"\n"
    yield _header(MANIFEST, len(manifest), 0o600, now)
    yield manifest + bytes(-len(manifest) % BLOCK) + _END


def _header(name: str, size: int, mode: int, now: float) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, int(now)
    if size < USTAR_BYTES_MAX:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")


@dataclass(slots=True)
class Reading:
    """One pass over a container, from its start to its end."""

    stream: IO[bytes]
    path: str
    """What it is called in complaints."""

    tops: Collection[str]
    """The first parts that names may have."""

    progress: Callable[[int], None] = lambda _done: None
    """Told how many bytes were read."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    done: int = 0

    def whole(self, kind: str, take: Take = leave) -> dict[str, Any]:
        """Read it all, and check it against its manifest, which is returned.

        Args:
            kind: what the manifest has to say it is.
            take: is given the members; what it makes of them counts only when this returns.

        Raises:
            ArchiveDamagedError: it is not what was written, or says what no container of ours does.
        """
        for member, blocks in self._members():
            if member.name == MANIFEST:
                manifest = self._manifest(member, blocks, kind)
                self._end()
                self._compare(manifest)
                return manifest
            self._take(member, blocks, take)
        raise self._damaged("its end is missing")

    def _take(self, member: Member, blocks: Iterator[bytes], take: Take) -> None:
        hashed = sha256()

        def told() -> Iterator[bytes]:
            for block in blocks:
                hashed.update(block)
                yield block

        reading = told()
        take(member, reading)
        for _ in reading:  # what was left unread
            pass
        self.found[member.name] = (member.size, hashed.hexdigest())

    def _members(self) -> Iterator[tuple[Member, Iterator[bytes]]]:
        while True:
            header = self._exactly(BLOCK, "a header")
            if not header.strip(b"\0"):
                return
            member = self._member(header)
            yield member, self._blocks(member)
            self._exactly(-member.size % BLOCK, member.name)

    def _member(self, header: bytes) -> Member:
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise self._damaged(f"at byte {self.done - BLOCK} is no header: {error}") from None
        name = info.name
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
            raise self._damaged(f"{name!r:.80} is no regular file")
        if fault := name_fault(name, self.tops):
            raise self._damaged(f"{name!r:.80} {fault}")
        if name in self.found:
            raise self._damaged(f"{name!r:.80} is in it twice")
        return Member(name, info.size, info.mode)

    def _blocks(self, member: Member) -> Iterator[bytes]:
        left = member.size
        while left:
            block = self._exactly(min(left, COPY_BYTES), member.name)
            left -= len(block)
            yield block

    def _exactly(self, size: int, what: str) -> bytes:
        data = self.stream.read(size)
        self.done += len(data)
        self.progress(self.done)
        if len(data) != size:
            raise self._damaged(f"it ends in the middle of {what!r:.80}, at byte {self.done}")
        return data

    def _manifest(self, member: Member, blocks: Iterator[bytes], kind: str) -> dict[str, Any]:
        if member.size > MANIFEST_BYTES_MAX:
            raise self._damaged(f"{MANIFEST} is longer than {MANIFEST_BYTES_MAX} bytes")
        try:
            manifest = json.loads(b"".join(blocks))
        except (ValueError, RecursionError):
            raise self._damaged(f"{MANIFEST} can't be read") from None
        self._exactly(-member.size % BLOCK, MANIFEST)
        known = isinstance(manifest, dict) and isinstance(manifest.get("files"), list)
        if not known or (manifest.get("kind"), manifest.get("version")) != (kind, 1):
            raise self._damaged(f"{MANIFEST} is not of a {kind} that this version reads")
        return dict(manifest)

    def _end(self) -> None:
        if self._exactly(len(_END), "its end").strip(b"\0") or self.stream.read(1):
            raise self._damaged("there is something behind its end")

    def _compare(self, manifest: Mapping[str, Any]) -> None:
        try:
            wanted = {one["name"]: (one["size"], one["sha256"]) for one in manifest["files"]}
        except (TypeError, KeyError):
            raise self._damaged(f"{MANIFEST} can't be read") from None
        for name in sorted({*wanted, *self.found}, key=str):
            if name not in self.found:
                raise self._damaged(f"{name!r:.80} is missing")
            if wanted.get(name) != self.found[name]:
                raise self._damaged(f"{name!r:.80} is not as it was written")

    def _damaged(self, what: str) -> ArchiveDamagedError:
        return ArchiveDamagedError(self.path, what)


def name_fault(name: str, tops: Collection[str]) -> str:
    """Why a member may not be called so, or ""."""
    parts = name.split("/")
    if len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        return f"is a name of more than {NAME_BYTES_MAX} bytes"
    if any(part in ("", ".", "..") or not _PLAIN.fullmatch(part) for part in parts):
        return "is no plain relative path"
    if name != MANIFEST and parts[0] not in tops:
        return "does not belong there"
    return ""
