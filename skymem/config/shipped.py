"""The text of the two YAML files as they are shipped, for a home that is being made."""

from importlib import resources
from pathlib import Path


def shipped_file(name: str) -> bytes:
    """The shipped text of one of the two YAML files."""
    shipped = resources.files("skymem") / "defaults" / name
    if shipped.is_file():
        return shipped.read_bytes()
    # A checkout keeps them at its top level, where they also are the home's own.
    return (Path(__file__).resolve().parents[2] / name).read_bytes()
