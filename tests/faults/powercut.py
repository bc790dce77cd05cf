"""What a power cut may leave, in the manner of ALICE (OSDI '14): every write and name is recorded.

Bytes that were synced are there; others may be missing, cut anywhere, or zeros. Names made, moved
or removed since their directory was last synced may each have happened or not, in any mixture.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .faulty import CountedFiles, PowerCut
from .tally import tally
from .world import OLD

MIXED_MAX = 3
DIRECTORY = 0  # in a map of names: the name is a directory's


class Op(NamedTuple):
    """One change, as it was asked for."""

    kind: str
    inode: int = 0
    directory: Path = Path()
    name: str = ""
    new_name: str = ""
    offset: int = 0
    data: bytes = b""


Names = dict[str, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the directories and the inodes of a home hang; many states have the same."""

    directories: tuple[Path, ...]
    files: tuple[tuple[Path, int], ...]


@dataclass(slots=True)
class State:
    """A home as it may come up again."""

    layout: Layout
    data: tuple[bytes, ...]
    """What is in the layout's files, in its order."""

    after: int = 0
    """The last change after which a cut may leave it."""

    @property
    def directories(self) -> tuple[Path, ...]:
        return self.layout.directories

    @property
    def files(self) -> dict[Path, tuple[int, bytes]]:
        found = zip(self.layout.files, self.data, strict=True)
        return {path: (inode, data) for (path, inode), data in found}


class Platter:
    """The disk: what is surely on it, and what is still on its way."""

    def __init__(self) -> None:
        self.bytes: dict[int, bytes] = {}
        self.names: dict[Path, Names] = {}
        self.bytes_coming: dict[int, list[Op]] = {}
        self.names_coming: dict[Path, list[Op]] = {}
        self._layouts: list[Layout] | None = None
        self._known = Layouts()

    @classmethod
    def of(cls, root: Path) -> "Platter":
        """Take what lies under `root` as durable."""
        platter = cls()
        for place, directories, files in os.walk(root):
            names = platter.names.setdefault(Path(place).relative_to(root), {})
            names.update(dict.fromkeys(directories, DIRECTORY))
            for name in files:
                path = Path(place, name)
                names[name] = path.stat().st_ino
                platter.bytes[names[name]] = path.read_bytes()
        return platter

    def take(self, op: Op) -> None:
        """Let time go on by one recorded change."""
        if op.kind not in ("fsync", "write", "truncate"):
            self._layouts = None
        if op.kind == "fsync":
            coming = self.bytes_coming.pop(op.inode, [])
            self.bytes[op.inode] = played(self.bytes.get(op.inode, b""), coming)
        elif op.kind == "fsync_directory":
            names = self.names_coming.pop(op.directory, [])
            self.names[op.directory] = named(self.names.get(op.directory, {}), names)
        elif op.kind in ("write", "truncate"):
            self.bytes_coming.setdefault(op.inode, []).append(op)
        else:
            self.names_coming.setdefault(op.directory, []).append(op)

    def states(self) -> Iterator[State]:
        """Every state a cut at this moment may leave."""
        inodes, bytes_coming = list(self.bytes_coming), list(self.bytes_coming.values())
        contents = [
            list(outcomes(self.bytes.get(inode, b""), ops))
            for inode, ops in zip(inodes, bytes_coming, strict=True)
        ]
        layouts = self.layouts()
        for chosen in itertools.product(*contents):
            data = {**self.bytes, **dict(zip(inodes, chosen, strict=True))}
            for layout in layouts:
                yield State(layout, tuple([data.get(inode, b"") for _, inode in layout.files]))

    def layouts(self) -> list[Layout]:
        """Every mixture of names a cut at this moment may leave."""
        if self._layouts is None:
            places, names_coming = list(self.names_coming), list(self.names_coming.values())
            listings = [
                [named(self.names.get(place, {}), subset) for subset in subsets(ops)]
                for place, ops in zip(places, names_coming, strict=True)
            ]
            self._layouts = [
                self._known.of({**self.names, **dict(zip(places, listing, strict=True))})
                for listing in itertools.product(*listings)
            ]
        return self._layouts


def played(content: bytes, ops: list[Op]) -> bytes:
    for op in ops:
        if op.kind == "truncate":
            content = content[: op.offset].ljust(op.offset, b"\0")
        else:
            start = content[: op.offset].ljust(op.offset, b"\0")
            content = start + op.data + content[op.offset + len(op.data) :]
    return content


def outcomes(content: bytes, ops: list[Op]) -> Iterator[bytes]:
    """What a file may hold whose last changes were not synced."""
    for count in range(len(ops) + 1):
        yield played(content, ops[:count])
    whole = played(content, ops)
    if len(whole) > len(content):
        yield content + b"\0" * (len(whole) - len(content))
    if ops[-1].kind == "write":
        half = ops[-1]._replace(data=ops[-1].data[: len(ops[-1].data) // 2])
        yield played(content, [*ops[:-1], half])


def subsets(ops: list[Op]) -> Iterator[list[Op]]:
    """Every choice of them; of many (a mutant never syncs), every beginning and all but one."""
    if len(ops) <= MIXED_MAX:
        for count in range(len(ops) + 1):
            yield from map(list, itertools.combinations(ops, count))
        return
    for number in range(len(ops) + 1):
        yield ops[:number]
        yield [*ops[:number], *ops[number + 1 :]]


def named(names: Names, ops: list[Op]) -> Names:
    names = dict(names)
    for op in ops:
        if op.kind in ("rename", "unlink"):
            names.pop(op.name, None)
        if op.kind == "rename":
            names[op.new_name] = op.inode
        elif op.kind != "unlink":
            names[op.name] = op.inode
    return names


class Layouts:
    """Layouts by what makes them, each of them once: comparing them is comparing objects."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[Path, int]], Layout] = {}
        self._paths: dict[Path, dict[str, Path]] = {}

    def of(self, names: dict[Path, Names]) -> Layout:
        """Walk from the root: what hangs under a name that is not there is not there."""
        directories: list[Path] = []
        files: list[tuple[Path, int]] = []
        places = [Path()]
        while places:
            place = places.pop()
            directories.append(place)
            paths = self._paths.setdefault(place, {})
            for name, inode in names.get(place, {}).items():
                path = paths.get(name) or paths.setdefault(name, place / name)
                if inode == DIRECTORY:
                    places.append(path)
                else:
                    files.append((path, inode))
        key = frozenset([*files, *((path, DIRECTORY) for path in directories)])
        if key not in self._known:
            self._known[key] = Layout(tuple(directories), tuple(files))
        return self._known[key]


class RecordingFiles(CountedFiles):
    """Real disk that writes down what it was asked for, and keeps every inode it ever had.

    Attributes:
        dies_at: the process dies at this step; None for never.
        unsynced: a part of a path; syncs of what it is in are left out (a mutant).
        meanwhile: called once, before short-term gets its second name: another process's work.
        told: changes made when that process was told that its work is on disk.
    """

    def __init__(self, root: Path, *, unsynced: str = "") -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.dies_at: int | None = None
        self.meanwhile: Callable[[RecordingFiles, Path], None] | None = None
        self.told: int | None = None
        self.ops_before_death = 0
        self.root = root
        self._unsynced = unsynced
        self._attic = root.with_name(root.name + ".inodes")
        self._attic.mkdir()
        for path in root.rglob("*"):
            if path.is_file():
                self._keep(path)

    def _keep(self, path: Path) -> int:
        inode = path.stat().st_ino
        kept = self._attic / str(inode)
        if not kept.exists():
            kept.hardlink_to(path)
        return inode

    def _note(self, kind: str, path: Path, inode: int, new_name: str = "") -> None:
        directory = path.parent.relative_to(self.root)
        self.ops.append(Op(kind, inode, directory, path.name, new_name))

    def _skips(self, path: str) -> bool:
        return bool(self._unsynced) and self._unsynced in path

    def trouble(self, name: str, number: int) -> None:
        if self.dies_at is not None and number >= self.dies_at:
            self.ops_before_death = len(self.ops)
            raise PowerCut

    def create(self, path: Path) -> int:
        fd = super().create(path)
        self._note("create", path, self._keep(path))
        return fd

    def open_append(self, path: Path) -> int:
        known = path.exists()
        fd = super().open_append(path)
        if not known:
            self._note("create", path, self._keep(path))
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        written = super().write(fd, data)
        start = os.lseek(fd, 0, os.SEEK_CUR) - written
        self.ops.append(Op("write", os.fstat(fd).st_ino, offset=start, data=bytes(data)[:written]))
        return written

    def overwrite(self, fd: int, data: bytes, offset: int) -> None:
        super().overwrite(fd, data, offset)
        self.ops.append(Op("write", os.fstat(fd).st_ino, offset=offset, data=data))

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self.ops.append(Op("truncate", os.fstat(fd).st_ino, offset=size))

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        if not self._skips(os.readlink(f"/proc/self/fd/{fd}")):
            self.ops.append(Op("fsync", os.fstat(fd).st_ino))

    def link(self, source: Path, target: Path) -> None:
        if self.meanwhile is not None and source.name == "short_term.jsonl":
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile(self, source)
            self.told = len(self.ops)
        super().link(source, target)
        self._note("link", target, target.stat().st_ino)

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent
        super().rename(source, target)
        self._note("rename", source, target.stat().st_ino, target.name)

    def unlink(self, path: Path) -> None:
        inode = path.stat().st_ino
        super().unlink(path)
        self._note("unlink", path, inode)

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        self._note("mkdir", path, DIRECTORY)

    def fsync_directory(self, path: Path) -> None:
        super().fsync_directory(path)
        if not self._skips(str(path)):
            self.ops.append(Op("fsync_directory", directory=path.relative_to(self.root)))

    def bring_up(self, state: State) -> None:
        """Make the home what a power cut left of it; every file keeps its inode."""
        if not self._unsynced:  # a mutant's cuts are meant to lose something
            tally("power cut")
        shutil.rmtree(self.root)
        for place in sorted(state.directories):
            (self.root / place).mkdir(mode=0o700)
        for path, (inode, data) in state.files.items():
            kept = self._attic / str(inode)
            kept.write_bytes(data)
            os.utime(kept, (OLD, OLD))
            (self.root / path).hardlink_to(kept)


def possible_states(start: Platter, ops: list[Op], first: int = 0) -> list[State]:
    """Every distinct state that a cut after one of the changes from `first` on may leave."""
    found: dict[tuple[int, tuple[bytes, ...]], State] = {}
    for number, op in enumerate(ops):
        start.take(op)
        if number >= first:
            for state in start.states():
                state.after = number + 1
                found[id(state.layout), state.data] = state
    return list(found.values())
