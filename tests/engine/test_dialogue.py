"""A connection tells whether it is open; one that its holder forgets is closed without a word."""

import gc
import socket
import sys
from typing import Any

import pytest

from skymem.engine.dialogue import Dialogue
from skymem.engine.wire import GOODBYE, pack
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


@pytest.mark.parametrize("end", ["goodbye", "closed"])
def test_it_is_open_until_the_other_side_goes(end: str) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    dialogue = Dialogue(ours, never_stopped)
    assert dialogue.is_open()
    if end == "goodbye":
        theirs.sendall(pack(GOODBYE))
        assert not dialogue.is_open()
        assert not dialogue.is_open()  # it was looked at, not taken
    theirs.close()
    assert not dialogue.is_open()
    dialogue.close()
