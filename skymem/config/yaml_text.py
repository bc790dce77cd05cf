"""YAML read safely: where everything stands is kept, and nothing is turned into a surprise.

PyYAML follows YAML 1.1, where `22:30` is 1350, `on` is true and the second of two equal keys
wins silently. So only its parser is used here; what a scalar means is decided by
the core forms of YAML 1.2, and keys are never anything but text (design §5, hazards G1 to G7).
"""

import os
import stat
from pathlib import Path
from typing import Final

from skymem.config.problems import Complaints, shown
from skymem.config.yaml_nodes import Items, Node, Scalar, Table
from skymem.config.yaml_plain import read_plainly

FILE_BYTES_MAX: Final = 1024 * 1024
"""Largest configuration file that is read: a larger one is some other file."""


def read_yaml(
    path: Path, complaints: Complaints, example: str, *, is_json: bool = False
) -> Table | None:
    """Read the file's mapping; None when there is none to go on with, which is complained about.

    `example` is a line such a file could hold, for the one who wrote an empty one. JSON is YAML but
    for its tabs, which no text of it holds.
    """
    text = _read_text(path, complaints)
    if text is None:
        return None
    if is_json:
        text = text.replace("\t", " ")
    root = parse_yaml(text, complaints)
    if isinstance(root, Table):
        return root
    if root is None and complaints.found:
        return None
    if root is None or (isinstance(root, Scalar) and root.value is None):
        complaints.note(1, 1, f"the file is empty (it needs keys such as {example})")
    elif isinstance(root, Items):
        complaints.at(root, f"the file is a list at the top; it needs keys such as {example}")
    else:
        complaints.at(root, f"{shown(root.text)} is no key with a value (such as {example})")
    return None


def parse_yaml(text: str, complaints: Complaints) -> Node | None:
    """Parse one document; None when it is empty or cannot be read, the latter with a complaint."""
    plain = read_plainly(text)
    if plain is not None:
        return plain
    from skymem.config.yaml_events import parse_events

    return parse_events(text, complaints)


def _read_text(path: Path, complaints: Complaints) -> str | None:
    try:
        # A FIFO put in the file's place must not hold the daemon's start for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                complaints.note(1, 1, "this is not a regular file")
                return None
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        complaints.note(1, 1, f"there is no such file in {path.parent} (skymem init makes one)")
        return None
    except OSError as error:
        complaints.note(1, 1, f"cannot be read: {error.strerror or error}")
        return None
    if len(data) > FILE_BYTES_MAX:
        complaints.note(1, 1, "the file is larger than 1MiB")
        return None
    try:
        return data.decode("utf-8")  # the parser steps over a byte order mark
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        complaints.note(
            line, column, f"byte 0x{data[error.start]:02x} is not UTF-8 (save as UTF-8)"
        )
        return None
