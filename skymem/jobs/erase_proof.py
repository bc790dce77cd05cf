"""The proof of an erasure: every file of the home is searched for the texts that went (row X5).

In each spelling JSON allows, and in UTF-16. Texts are known to the process that erased them alone:
whoever ends an erasure that was killed can count lines by their marks, and no more.
"""

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from skymem.jobs.erase_find import QUOTED_MAX
from skymem.jobs.workplace import Workplace
from skymem.policy.loose import WORDS_MIN, windows

BLOCK_BYTES: Final = 4 * 1024 * 1024
OVERLAP_BYTES: Final = 1024
"""More than any spelling of a window of text takes."""


def prove(work: Workplace, texts: Sequence[str]) -> dict[str, Any]:
    """Search the home; says how many texts were looked for in what, and which files have one."""
    wanted = [text for text in texts if len(text) >= WORDS_MIN][:QUOTED_MAX]
    needles = sorted({needle for text in wanted for needle in spellings(text)})
    told: dict[str, Any] = {"texts": len(wanted), "of": len(texts), "files": 0, "bytes": 0}
    found: list[str] = []
    for path in _files(work.paths.root) if needles else ():
        work.check_stop()
        try:
            size = _searched(path, needles)
        except OSError:
            continue  # it went meanwhile, or is nobody's of ours to read
        told["files"] += 1
        told["bytes"] += abs(size)
        if size < 0:
            found.append(str(path.relative_to(work.paths.root)))
    return {**told, "found_in": sorted(found)}


def spellings(text: str) -> Iterator[bytes]:
    """How the beginning and the end of a text may stand in a file."""
    for window in windows(text):
        plain = json.dumps(window, ensure_ascii=False)[1:-1]
        escaped = json.dumps(window)[1:-1]
        for said in (
            window,
            plain,
            escaped,
            plain.replace("/", "\\/"),
            escaped.replace("/", "\\/"),
        ):
            yield said.encode("utf-8", "surrogatepass")
            yield _upper_hex(said).encode("utf-8", "surrogatepass")
        for coding in ("utf-16-le", "utf-16-be"):
            yield window.encode(coding, "surrogatepass")


def _upper_hex(said: str) -> str:
    """The same with the digits of its escapes in capitals."""
    first, *rest = said.split("\\u")
    return first + "".join(f"\\u{part[:4].upper()}{part[4:]}" for part in rest)


def _files(root: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != "models")
        for name in sorted(files):
            path = Path(directory, name)
            with contextlib.suppress(FileNotFoundError):  # somebody at work took it away
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path


def _searched(path: Path, needles: Sequence[bytes]) -> int:
    """How many bytes a file has; below 0 where one of the needles is among them."""
    size = 0
    before = b""
    found = False
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            size += len(block)
            found = found or any(needle in before + block for needle in needles)
            before = block[-OVERLAP_BYTES:]
    return -size if found else size
