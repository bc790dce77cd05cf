"""Counting the faults that tests inject, by kind, for the table of benchmarks/faults.py."""

import os
from typing import Final

VARIABLE: Final = "SKYMEM_FAULTS_TALLY"
"""Names the file that gets a line for each; without it nobody counts."""

_FILE: Final = os.environ.get(VARIABLE)


def tally(kind: str) -> None:
    """Note one fault. Several processes may: a line of so few bytes is appended whole."""
    if _FILE:
        fd = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, f"{kind}\n".encode())
        finally:
            os.close(fd)
