"""A connection that its holder forgets is closed, and nothing is said of it."""

import gc
import socket
import sys
from typing import Any

import pytest

from skymem.engine.dialogue import Dialogue
from skymem.stores.lock import never_stopped


def test_one_that_is_forgotten_in_a_cycle_is_closed_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    ours, theirs = socket.socketpair()
    holder: list[Any] = [Dialogue(ours, never_stopped)]
    holder.append(holder)
    del ours, holder
    gc.collect()

    with theirs:
        assert theirs.recv(1) == b""
    assert said == []
