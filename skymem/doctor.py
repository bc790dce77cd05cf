"""What could be wrong with a home: each check says what it saw, and how to go on.

`ok`, `note` (works, with a limit worth knowing) or `problem` (exit 20).
"""

import contextlib
import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from skymem.alarms import unreadable, unwritable
from skymem.app import READER_BUSY_MS, Home, engine_allowed, now
from skymem.engine.left_behind import NAME, left_on_servers
from skymem.engine.socket_file import dial
from skymem.errors import SkymemError
from skymem.home_files import look_at_files
from skymem.jobs.clock import clock_alarm
from skymem.jobs.findings import REMEDIES
from skymem.jobs.summary import building_words
from skymem.jobs.workplace import Workplace
from skymem.stores import home_format
from skymem.stores.catalog import Catalog
from skymem.stores.catalog_file import aside_of, catalog_path
from skymem.stores.damages import damaged_lines
from skymem.stores.files import disk_errors, take_lease
from skymem.stores.home_format import must_be_worked_on, read_format
from skymem.stores.home_key import HomeKey, key_path
from skymem.stores.lock import holder_of
from skymem.stores.shelf import open_or_none
from skymem.stores.tiers import tier_files, trash_files

MOUNTS: Final = Path("/proc/self/mounts")
FREE_BYTES_MIN: Final = 100 * 1024 * 1024
FUTURE_SECONDS_MAX: Final = 60.0
SAMPLE: Final = 20
"""Vectors of each agent that are asked to find themselves."""

API_SECONDS: Final = 5.0
"""Within which an API says that it is alive."""

MISSES_MAX: Final = 0.25
"""Of those: an approximate index misses one in a hundred of texts that are much alike."""

MODEL_TRIED_ON: Final = "Does the model embed a sentence?"

NETWORK_FILESYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"})

Check = dict[str, str]


def examine(home: Home, agent: str | None = None) -> list[Check]:
    """Run every check there is so far, of one agent or of everyone.

    Raises:
        AgentNameError, UsageError: there is no such agent.
    """
    whom = home.agents(agent)
    checks: dict[str, Callable[[Home], Iterator[Check]]] = {
        "configuration": _configuration,
        "format": _format,
        "permissions": _permissions,
        "disk": _filesystem,
        "writing": partial(_writing, whom=whom),
        "leases": _leases,
        "locks": _locks,
        "files": partial(_files, whom=whom),
        "ledger": _ledger,
        "agents": partial(_agents, whom=whom, left_alone=agent is None),
        "engine": partial(_engine, whom=whom),
        "api": _api,
        "clock": _clock,
    }
    return [found for name, check in checks.items() for found in _whole(name, check(home))]


def _whole(name: str, found: Iterator[Check]) -> Iterator[Check]:
    """What a check found; what keeps it from its end is a problem like any other."""
    try:
        with disk_errors(Path(name)):
            yield from found
    except SkymemError as error:
        yield _say("problem", name, str(error))


def _say(state: str, check: str, message: str) -> Check:
    return {"state": state, "check": check, "message": message}


def _configuration(home: Home) -> Iterator[Check]:
    from skymem.config.effective import check_home_config

    problems = check_home_config(home.paths.root)
    for problem in problems:
        yield _say("problem", "configuration", str(problem))
    if not problems:
        yield _say("ok", "configuration", "both files are fine")


def _format(home: Home) -> Iterator[Check]:
    must_be_worked_on(home.paths)
    if (found := read_format(home.paths).number) == home_format.CURRENT:
        yield _say("ok", "format", f"the home is in format {found}, this release's own")
        return
    newer = f"skymem upgrade makes that {home_format.CURRENT}"
    yield _say("note", "format", f"the home is in format {found}: all works; {newer}")


def _permissions(home: Home) -> Iterator[Check]:
    """Look at the directories that close off all below them: a file's own mode matters less."""
    allowed = 0o007 if home.rules.access == "group" else 0o077
    paths = home.paths
    tops = [top for top in (paths.memory, paths.state, paths.audit, paths.run) if top.exists()]
    loose = [top for top in tops if stat.S_IMODE(os.lstat(top).st_mode) & allowed]
    for top in loose:
        mode = stat.S_IMODE(os.lstat(top).st_mode)
        text = f"{top} is open to others ({mode:o}); close it: chmod {0o777 & ~allowed:o} {top}"
        yield _say("problem", "permissions", text)
    if not loose:
        yield _say("ok", "permissions", "nobody but those allowed can read the memories")


def _filesystem(home: Home) -> Iterator[Check]:
    kind = _filesystem_of(home.paths.root)
    if kind in NETWORK_FILESYSTEMS:
        yield _say(
            "problem",
            "filesystem",
            f"the home lies on {kind}: locks and leases can't be trusted there; use a local disk",
        )
    free = _free_bytes(home.paths.root)
    state = "problem" if free < FREE_BYTES_MIN else "ok"
    yield _say(state, "disk", f"{free // 1024**2:,} MiB free on {kind or 'the disk'}")


def _writing(home: Home, *, whom: Sequence[str]) -> Iterator[Check]:
    refused = unwritable(home, whom)
    for problem in refused:
        yield _say("problem", "writing", problem)
    if not refused:
        yield _say("ok", "writing", "what is to be written can be")


def _free_bytes(path: Path) -> int:
    """Bytes this process may still write on the disk of `path`."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def _filesystem_of(path: Path) -> str:
    best = ("", "")
    with contextlib.suppress(OSError):
        for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
            _, mount, kind, *_ = (_unescape(field) for field in line.split(" "))
            inside = str(path) == mount or str(path).startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best[0]):
                best = (mount, kind)
    return best[1]


def _unescape(field: str) -> str:
    """Read a field of the mount table, which spells a space and the like in octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _leases(home: Home) -> Iterator[Check]:
    """Try a lease where drains will need one (design §4, "Swap")."""
    home.files.make_directory(home.paths.run)
    with tempfile.NamedTemporaryFile(dir=home.paths.run, prefix=".lease.") as probe:
        fd = os.open(probe.name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            probe.file.close()
            granted = take_lease(fd, fcntl.F_RDLCK)
        except OSError as error:
            reason = errno.errorcode.get(error.errno or 0, "unknown")
            yield _say(
                "note",
                "leases",
                f"none to be had here ({reason}): old short-term files are kept for a day longer",
            )
        else:
            word = "ok" if granted else "note"
            yield _say(word, "leases", "late writers can be told" if granted else "refused")
        finally:
            os.close(fd)


def _locks(home: Home) -> Iterator[Check]:
    held = [
        f"{path.name} by {holder}"
        for path in sorted(home.paths.run.glob("*.lock"))
        if (holder := holder_of(path))
    ]
    yield _say("ok", "locks", "; ".join(held) or "none is held")


def _files(home: Home, *, whom: Sequence[str]) -> Iterator[Check]:
    found = [*look_at_files(home, whom)]
    for finding in found:
        yield _say("problem" if finding.problem else "note", "files", finding.text)
    if not found:
        yield _say("ok", "files", "the home's own files can be read")


def _ledger(home: Home) -> Iterator[Check]:
    work = home.workplace()
    key = _key_check(home)
    under_another = 0

    def take(_end: int, entry: Mapping[str, Any]) -> None:
        nonlocal under_another
        under_another += entry["op"] == "begin" and entry.get("key", key) != key

    count, problems = work.ledger().verify(partial(work.progress, "ledger"), take)
    for problem in problems:
        yield _say("problem", "ledger", problem)
    if problems:
        yield _say("note", "ledger", REMEDIES["ledger"])
    else:
        yield _say("ok", "ledger", f"{count} entries, each chained to the one before")
    if key and under_another:
        text = (
            f"audit/key was lost or replaced: the hashes of {under_another} run(s) are of another"
        )
        yield _say("problem", "ledger", f"{text}; {REMEDIES['key']}")


def _key_check(home: Home) -> str:
    """What tells the home's key from others; "" where there is none, as the look at files tells."""
    with contextlib.suppress(SkymemError):
        if key_path(home.paths).exists():
            return HomeKey.of(home.paths, home.files, make=False).check
    return ""


def _agents(home: Home, *, whom: Sequence[str], left_alone: bool) -> Iterator[Check]:
    for name, problem in home.workplace().agent_directories():
        if problem and left_alone:
            yield _say("problem", "agents", f"memory/{name!r} is left alone: {problem}")
    work = home.workplace()
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog:
        for agent in whom:
            yield from _whole("files", _agent(work, catalog, agent))
    aside = aside_of(catalog_path(home.paths))
    for reason in work.degraded:
        text = f"{reason} (state/catalog.db); done without, it is made anew when it can be"
        yield _say("note", "catalog", text)
    asides = [aside] if aside.exists() else []
    for path in (*asides, *sorted(home.paths.words.glob("*.unreadable"))):
        where = path.relative_to(home.paths.root)
        yield _say(
            "note", "catalog", f"{where} could not be read and was made anew; it can be removed"
        )


def _agent(work: Workplace, catalog: Catalog, name: str) -> Iterator[Check]:
    shelf = work.shelf(name)
    tiers = [path for _, path in (*tier_files(shelf.paths), *trash_files(shelf.paths))]
    for path in (shelf.paths.short_term, *tiers):
        yield from _whole("files", _readable(path))
    damaged = work.ask(catalog, shelf, lambda: damaged_lines(shelf.paths, catalog))
    for file, lines in damaged.items():
        yield _say("problem", "lines", unreadable(f"memory/{name}/{file}", lines))
    if kept := shelf.quarantine.count():
        text = f"{kept} piece(s) in memory/{name}/quarantine, each with its reason beside"
        yield _say("note", "quarantine", f"{name}: {text}")
    if drains := len(shelf.drains.names()):
        text = f"{drains} old short-term file(s) watched for late lines"
        yield _say("ok", "drains", f"{name}: {text}")


def _readable(path: Path) -> Iterator[Check]:
    """Find nothing where there is nothing or a file we can open."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield _say("problem", "files", f"{path} is no regular file; put one there")
    elif (fd := open_or_none(path)) is not None:
        os.close(fd)


def _engine(home: Home, *, whom: Sequence[str]) -> Iterator[Check]:
    """Ask the engine for its model, and each index for itself; starts it where it may."""
    for agent in whom:
        yield from _left_on_servers(home, agent)
    if not engine_allowed():
        yield _say("note", "engine", "SKYMEM_ENGINE=off keeps it from being asked")
        return
    engine = home.engine()
    engine.alike([MODEL_TRIED_ON], 1.0)  # one that was just started has no model to tell of yet
    overview = engine.overview()
    remote = home.rules.engine.remote
    where = f", vectors on {remote.url}" if remote is not None else ""
    yield _say("ok", "engine", f"{overview['model']}, {overview['dimension']} dimensions{where}")
    for agent in whom:
        stats = engine.stats(agent, SAMPLE)
        asked, found = stats["sample"]["asked"], stats["sample"]["found"]
        for problem in stats["problems"]:
            yield _say("problem", "index", problem)
        if stats["building"]:
            yield _say("note", "index", f"{agent}: {building_words(stats['building'])}")
        elif stats["missing"] or stats["extra"] or asked - found > asked * MISSES_MAX:
            text = (
                f"{agent}: {stats['missing']} vector(s) missing, {stats['extra']} too many, "
                f"{found} of {asked} find themselves; make it anew with: skymem index --force"
            )
            yield _say("problem", "index", text)
        else:
            yield _say("ok", "index", f"{agent}: {stats['vectors']} vectors, all as they should be")


def _api(home: Home) -> Iterator[Check]:
    """Whether an API runs and answers, and who can read its tokens."""
    path, holder = home.paths.api_socket, holder_of(home.paths.api_lock)
    if holder and not path.exists():
        yield _say("ok", "api", f"{holder} serves at another place than run/{path.name}")
    elif holder:
        alive = _is_alive(path)
        said = "answers" if alive else "has the home, but does not answer; end that process"
        yield _say("ok" if alive else "problem", "api", f"{holder} {said}")
    elif path.exists():
        left = "is left of an API that was killed; the next one puts its own there"
        yield _say("note", "api", f"run/{path.name} {left}")
    else:
        yield _say("ok", "api", "none runs")
    yield from _tokens(home.paths.root / home.rules.api.token_file)


def _is_alive(path: Path) -> bool:
    """Whether what listens there answers as an API does."""
    connection = dial(path)
    if connection is None:
        return False
    with connection:
        connection.settimeout(API_SECONDS)
        try:
            connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200 ")
        except OSError:
            return False


def _tokens(path: Path) -> Iterator[Check]:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode) or mode & 0o077 or status.st_uid != os.geteuid():
        text = f"{path} has mode {mode:o}: others may read the API's tokens; chmod 600 it"
        yield _say("problem", "api", text)
    else:
        yield _say("ok", "api", f"{path} is its owner's alone")


def _left_on_servers(home: Home, agent: str) -> Iterator[Check]:
    """Vectors of this home on a server that it does not use any more (promise 9)."""
    directory = home.paths.chroma_store / agent
    for left in left_on_servers(directory):
        text = (
            f"{agent}: vectors are left on {left.get('server')} "
            f"({', '.join(map(str, left.get('collections') or ()))}); "
            f"delete them there, then {directory / NAME}"
        )
        yield _say("note", "index", text)


def _clock(home: Home) -> Iterator[Check]:
    last = home.status_files().read_last_action()
    ahead = float(last["ts"]) - now() if last else 0.0
    if ahead > FUTURE_SECONDS_MAX:
        text = f"the last action is {ahead:.0f} s in the future: the clock was set back"
        yield _say("problem", "clock", text)
    if alarm := clock_alarm(home.workplace()):
        yield _say("problem", "clock", alarm)
    elif ahead <= FUTURE_SECONDS_MAX:
        yield _say("ok", "clock", "it went on as clocks do, and no action lies in the future")
