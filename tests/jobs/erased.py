"""Looking for what was erased in every file of a home, with nothing of ours."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.jobs.erase_receipt import Receipt
from skymem.jobs.fsck import fsck
from tests.conftest import Desk

SECRET = 'Der Tresor der Müllerin heißt "Otter/4711" 🦦 — niemals weitersagen'
"""A text that JSON can spell in many ways."""


def escaped(text: str, spell: Callable[[int], str] = "\\u{:04x}".format) -> str:
    """Every character of it escaped, pairs as pairs."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(map(spell, codes))


def spellings(text: str) -> Iterator[bytes]:
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(text)[1:-1]
    for said in (text, plain, ascii_only):
        yield said.encode()
        yield said.replace("/", "\\/").encode()
    yield escaped(text).encode()
    yield escaped(text, "\\u{:04X}".format).encode()
    capitals = "".join(one if one.isascii() else escaped(one, "\\u{:04X}".format) for one in plain)
    yield capitals.encode()
    yield capitals.replace("/", "\\/").encode()
    for coding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        yield text.encode(coding)


def traces(root: Path, *texts: str, raw: tuple[bytes, ...] = ()) -> list[str]:
    """The files that have any of these texts or bytes, whole or in pieces of half their length."""
    parts = [half for text in texts for half in (text[: len(text) // 2], text[len(text) // 2 :])]
    needles = {one for part in parts for one in spellings(part)} | {*raw}
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    )


def erased(desk: Desk, *ids: str, **more: Any) -> Receipt:
    """Erase on a desk; a receipt that is not complete fails the test."""
    desk.clock += 1
    receipt = erase(desk.work(), desk.agent, Sought(ids=ids, **more))
    assert receipt.complete, receipt.left
    return receipt


def places(receipt: Receipt) -> dict[str, tuple[int, int]]:
    """What it found and left where, of places that had something."""
    return {
        one["place"]: (one["before"], one["after"])
        for one in receipt.places
        if one["before"] and one["place"] not in ("tombstones", "word index", "drains")
    }


def balanced(desk: Desk) -> dict[str, int]:
    """What fsck counts, which has to find nothing wrong; states that have none are left out."""
    found = fsck(desk.work(), [desk.agent])
    assert found.problems == []
    return {state: count for state, count in found.memories[desk.agent].items() if count}


def id_of(desk: Desk, text: str) -> str:
    """The id of the only memory with this text."""
    with desk.work().catalog() as catalog:
        (found,) = [
            kept.id for kept in desk.shelf().find("", catalog) if kept.memory.content == text
        ]
    return found
