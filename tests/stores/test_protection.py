"""Who is pinned, and for how long a restored memory is left alone."""

from pathlib import Path

import pytest

from skymem.model.memory import Memory
from skymem.stores.files import Files
from skymem.stores.protection import (
    Protection,
    ProtectionDamagedError,
    read_protection,
    write_protection,
)

PLAIN = Memory({"content": "a"})
PINNED = Memory({"content": "a", "pinned": True})


def test_the_operator_outranks_the_line() -> None:
    found = Protection()
    assert not found.is_pinned("a", PLAIN)
    assert found.is_pinned("b", PINNED)
    found.pin("a", 1)
    found.unpin("b", PINNED, 2)
    assert found.is_pinned("a", PLAIN)
    assert not found.is_pinned("b", PINNED)
    found.unpin("a", PLAIN, 3)
    found.pin("b", 4)
    assert not found.is_pinned("a", PLAIN)
    assert found.is_pinned("b", PINNED)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "protected.json"
    assert read_protection(path) == Protection()
    found = Protection()
    found.pin("a", 1.5)
    found.unpin("b", PINNED, 2)
    found.restore({"c": "expired"}, 3)
    write_protection(path, found, Files())

    assert read_protection(path) == found
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_grace_that_is_over_and_what_is_gone_are_dropped() -> None:
    found = Protection()
    found.pin("a", 1)
    found.restore({"old": "expired", "new": "expired"}, 5)
    found.restore({"new": "expired"}, 9)
    found.forget(["a"], ended_before=6)

    assert not found.pinned
    assert list(found.restored) == ["new"]


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"pinned": [], "unpinned": {}}', b"\xff"])
def test_a_damaged_file_is_never_read_as_nothing_pinned(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "protected.json"
    path.write_bytes(text)
    with pytest.raises(ProtectionDamagedError, match="put a copy of it back"):
        read_protection(path)
