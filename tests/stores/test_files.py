"""A write is whole or not there, and a replaced file stays whose and what it was (B1 to B8)."""

import errno
import os
import struct
from pathlib import Path

import pytest

from skymem.errors import DiskError, NotAllowedError
from skymem.stores.files import Files, Modes
from tests.conftest import Desk, line

OTHER = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away: only root may")


class Recording(Files):
    """Real disk, writing down each step; the one named in `failing` fails instead."""

    def __init__(self, failing: str = "", error: int = errno.EIO) -> None:
        super().__init__()
        self.steps: list[tuple[str, str]] = []
        self.failing, self.error = failing, error

    def note(self, step: str, what: Path | int) -> None:
        path = Path(f"/proc/self/fd/{what}").readlink() if isinstance(what, int) else what
        self.steps.append((step, path.name))
        if step == self.failing:
            raise OSError(self.error, os.strerror(self.error))

    def create(self, path: Path) -> int:
        self.note("create", path)
        return super().create(path)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.note("write", fd)
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self.note("fsync", fd)
        super().fsync(fd)

    def rename(self, source: Path, target: Path) -> None:
        self.note("rename", source)
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        self.note("link", source)
        super().link(source, target)

    def fsync_directory(self, path: Path) -> None:
        self.note("fsync directory", path)
        super().fsync_directory(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dir" / "file.json"


@pytest.fixture(autouse=True)
def directory(path: Path) -> None:
    path.parent.mkdir()


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_a_replacement_is_durable_before_it_gets_the_name_and_the_name_after(path: Path) -> None:
    path.write_bytes(b"old")
    files = Recording()
    files.replace(path, b"new")
    temporary = f".file.json.{os.getpid()}.new"
    assert files.steps == [
        ("create", temporary),
        ("write", temporary),
        ("fsync", temporary),
        ("rename", temporary),
        ("fsync directory", "dir"),
    ]
    assert path.read_bytes() == b"new"


def test_a_swap_is_durable_step_by_step(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    desk.files = files = Recording()
    desk.run("promote")
    steps = files.steps
    new = f".short_term.jsonl.{os.getpid()}.new"
    begin = steps.index(("fsync", "ledger.jsonl"))
    long_term = steps.index(("fsync", "long_term.jsonl"))
    swap = steps.index(("rename", new))
    order = [
        begin,
        long_term,
        steps.index(("fsync", new)),
        steps.index(("link", "short_term.jsonl")),
        swap,
        steps.index(("fsync directory", "sky"), swap),
        steps.index(("fsync", "ledger.jsonl"), swap),
    ]
    assert order == sorted(order)
    cursor = [n for n, (step, what) in enumerate(steps) if step == "rename" and "cursor" in what]
    assert cursor[0] < steps.index(("link", "short_term.jsonl"))
    assert ("fsync directory", "drains") in steps[cursor[0] : swap]


@pytest.mark.parametrize("step", ["create", "write", "fsync", "rename"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EXDEV])
def test_a_replacement_that_fails_leaves_the_old_file_and_nothing_else(
    path: Path, step: str, error: int
) -> None:
    path.write_bytes(b"old")
    files = Recording(step, error)
    with pytest.raises(DiskError, match=os.strerror(error)) as caught:
        files.replace(path, b"new")
    assert caught.value.exit_code == 74
    assert files.steps[-1][0] == step
    assert path.read_bytes() == b"old"
    assert names(path) == ["file.json"]


@pytest.mark.parametrize("step", ["write", "fsync"])
@pytest.mark.parametrize("shared", [False, True])
def test_an_append_that_fails_is_taken_back(path: Path, step: str, shared: bool) -> None:
    path.write_bytes(b"one\n")
    with pytest.raises(DiskError):
        Recording(step, errno.ENOSPC).append(path, b"two\n", shared=shared)
    assert path.read_bytes() == b"one\n"


def test_a_failed_append_takes_nothing_of_what_others_appended_after_it(path: Path) -> None:
    path.write_bytes(b"one\n")

    class Interrupted(Files):
        def fsync(self, fd: int) -> None:
            with path.open("ab") as stream:
                stream.write(b"theirs\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(DiskError):
        Interrupted().append(path, b"ours\n", shared=True)
    assert path.read_bytes().split() == [b"one", b"theirs"]


def test_an_append_ends_a_line_another_left_open_and_says_where_its_own_starts(path: Path) -> None:
    path.write_bytes(b"torn")
    assert Files().append(path, b"whole\n") == 5
    assert path.read_bytes() == b"torn\nwhole\n"


def test_an_append_to_a_new_file_makes_its_name_durable(path: Path) -> None:
    files = Recording()
    assert files.append(path, b"one\n") == 0
    assert ("fsync directory", "dir") in files.steps


@pytest.mark.parametrize("write", [Files.append, Files.replace])
def test_nothing_is_written_through_a_link(path: Path, write: object) -> None:
    assert callable(write)
    victim = path.with_name("victim")
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    with pytest.raises(NotAllowedError, match=r"is a symbolic link to .*victim; put the file"):
        write(Files(), path, b"x\n")
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_a_home_gets_is_its_owners_alone_whatever_the_umask(
    desk: Desk, umask: int
) -> None:
    old = os.umask(umask)
    try:
        desk.shelf().append([line("a", 0.9), line("b", 0.1), line("c", 0.1), b"damage\n"])
        desk.limit(1)
        detail = desk.run()
    finally:
        os.umask(old)
    assert (detail["promoted"], detail["archived"], detail["quarantined"]) == (1, 1, 1)
    made = [path for path in desk.paths.root.rglob("*") if path.exists()]
    assert {path.name for path in made} >= {"catalog.db", "ledger.jsonl", "drains", "quarantine"}
    for each in made:
        expected = 0o700 if each.is_dir() else 0o600
        assert each.stat().st_mode & 0o7777 == expected, each


def acl(*entries: tuple[int, int, int]) -> bytes:
    """A POSIX ACL as the kernel stores it: tag, permissions, id."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF
READABLE_TO_ONE = acl(
    (1, 6, NOBODY), (2, 4, OTHER), (4, 4, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)
)


def test_a_swap_keeps_mode_attributes_and_acl(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    desk.short_term.chmod(0o640)
    try:
        os.setxattr(desk.short_term, "user.origin", b"home")
        os.setxattr(desk.short_term, "system.posix_acl_access", READABLE_TO_ONE)
    except OSError as error:
        pytest.skip(f"this file system has no such attributes: {error}")
    before = desk.short_term.stat()
    assert desk.run()["promoted"] == 1
    after = desk.short_term.stat()
    assert after.st_ino != before.st_ino
    assert after.st_mode == before.st_mode
    assert os.getxattr(desk.short_term, "user.origin") == b"home"
    assert os.getxattr(desk.short_term, "system.posix_acl_access") == READABLE_TO_ONE


@as_root
def test_a_swap_keeps_owner_and_group(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    os.chown(desk.short_term, OTHER, OTHER + 1)
    desk.short_term.chmod(0o640)
    assert desk.run()["promoted"] == 1
    status = desk.short_term.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (OTHER, OTHER + 1, 0o640)


def test_a_shared_home_opens_files_and_directories_to_its_group(tmp_path: Path) -> None:
    from skymem.stores.home import HomePaths

    desk = Desk(HomePaths(tmp_path / "home"), files=Files(Modes(0o660, 0o2770, os.getgid())))
    old = os.umask(0o077)
    try:
        desk.shelf().ensure()
        desk.echo(line("a", 0.9), line("b", 0.1))
        desk.run()
        desk.shelf().append([line("c", 0.1)])
    finally:
        os.umask(old)
    tiers = desk.tiers
    assert tiers.directory.stat().st_mode & 0o7777 == 0o2770
    # The job took the append lock first: a member of the group must be able to take it as well.
    for path in (tiers.append_lock, tiers.long_term):
        assert path.stat().st_mode & 0o777 == 0o660
