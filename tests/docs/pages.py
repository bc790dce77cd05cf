"""README as one reads it who follows each link to a chapter of docs/ where it stands."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_LINK: Final = re.compile(r"\]\((docs/\w+\.md)[)#]")
_SECTION: Final = re.compile(r"^(?=## )", re.M)


def pages() -> list[Path]:
    """README and the chapters it links to, in the order they are read."""
    found = [ROOT / "README.md"]
    found += [ROOT / name for name in _LINK.findall(found[0].read_text())]
    return list(dict.fromkeys(found))


def read_through() -> str:
    """Each section of README, and after it the chapters that it is the first to link to."""
    read: list[str] = []
    known: set[str] = set()
    for section in _SECTION.split((ROOT / "README.md").read_text()):
        read.append(section)
        for name in _LINK.findall(section):
            if name not in known:
                known.add(name)
                read.append((ROOT / name).read_text())
    return "\n".join(read)
