"""Reading the lines that are about to move, each checked to be what was decided about."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from skymem.model.identity import DIGEST_BYTES, digest
from skymem.model.memory import Memory
from skymem.model.plan import Decision
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.rewrite import TierChangedError
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.swap import ShortTermChangedError

Taken = Iterator[tuple[bytes, Memory, Decision]]


def elsewhere(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Gather decisions about lines outside short-term by their file, each in the file's order."""
    found: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.file:
            found.setdefault(decision.file, []).append(decision)
    return {
        name: sorted(each, key=lambda decision: decision.start)
        for name, each in sorted(found.items())
    }


def taken_from_short(shelf: Shelf, reading: Reading, decisions: Iterable[Decision]) -> Taken:
    """Read lines of short-term from the file that `reading` has open.

    Raises:
        ShortTermChangedError: a line is not what was decided about.
    """
    for decision in decisions:
        assert reading.fd is not None  # noqa: S101  (decisions about short-term come from a file)
        raw = os.pread(reading.fd, decision.end - decision.start, decision.start)
        memory = _memory(raw.removeprefix(BOM) if decision.start == 0 else raw)
        at = decision.line * DIGEST_BYTES
        if memory is None or digest(memory) != reading.digests[at : at + DIGEST_BYTES]:
            raise ShortTermChangedError(str(shelf.paths.short_term))
        yield raw.removeprefix(BOM) if decision.start == 0 else raw, memory, decision


def taken_elsewhere(shelf: Shelf, catalog: Catalog, by_file: Mapping[str, list[Decision]]) -> Taken:
    """Read lines of long-term and archives.

    Raises:
        TierChangedError: a line is not what the catalog has at its place.
    """
    for name, decisions in by_file.items():
        path = shelf.paths.directory / name
        ids = [decision.id for decision in decisions]
        digests = _digests(catalog, shelf.paths.name, ids)
        with disk_errors(path):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            for decision in decisions:
                raw = os.pread(fd, decision.end - decision.start, decision.start)
                raw = raw.removeprefix(BOM) if decision.start == 0 else raw
                memory = _memory(raw)
                if memory is None or digest(memory) != digests.get((name, decision.start)):
                    raise TierChangedError(str(path))
                yield raw, memory, decision
        finally:
            os.close(fd)


def _digests(catalog: Catalog, agent: str, ids: Sequence[str]) -> dict[tuple[str, int], bytes]:
    """What the catalog has of these memories, by file and start: each, and what repeats it."""
    places = chain(catalog.find(agent, ids).items(), catalog.repeats(agent, ids))
    return {(place.file, place.start): place.digest for _, place in places}


def _memory(raw: bytes) -> Memory | None:
    try:
        return read_line(raw)
    except LineDamage:
        return None
