"""`skymem top` on a real terminal, with a real daemon: what is seen, and what its keys do."""

import json
import re
import signal
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live_view.conftest import Terminal, command, sgr

Start = Callable[..., Terminal]
WHITE = {"", "0", "1", "2", "4", "7", "22", "24", "27"}
"""Attributes that are no colours."""


def test_its_keys_run_a_job_explain_a_decision_and_pause_a_job(
    home: Path, top: Start, daemon: Callable[[], Any]
) -> None:
    """On 80 columns and 24 lines, without colour, from the first look to a clean end."""
    told = command(home, "remember", "User \x1b[31mwants reports", "--importance", "0.9", "--json")
    name = json.loads(told)["id"]
    daemon()
    seen = top(NO_COLOR="1")
    seen.until("memory_rotate_check")
    seen.until(lambda one: "skymem run" in one.line("daemon"))

    seen.press("r")
    seen.until("Run memory_rotate_check now")
    seen.press("Enter")
    seen.until(lambda one: re.search(r"memory_rotate_check: .*1 promoted", one.text))
    seen.until(lambda one: name[:12] in one.text)
    assert "importance 0.9 against 0.7" in seen.line(name[:12])
    assert "wants reports" not in seen.text

    seen.press("Tab", "Tab", "e")
    seen.until("how it came here")
    assert r"User \u001b[31mwants reports" in seen.text
    assert "promoted to long-term" in seen.text
    seen.press("Esc")
    seen.until(lambda one: "how it came here" not in one.text)

    seen.press("Tab", "Tab", "Down", "p")  # from the decisions round to the jobs
    seen.until(lambda one: re.search(r"index +paused", one.text))
    assert "index" in json.loads((home / "state/paused.json").read_text())["paused"]
    seen.press("p")
    seen.until(lambda one: re.search(r"index +in \d", one.text))
    assert json.loads((home / "state/paused.json").read_text())["paused"] == {}

    mapped = Path(f"/proc/{seen.process.pid}/maps").read_text()
    assert "python" in mapped
    assert [name for name in ("numpy", "chromadb", "onnx", "tokenizers") if name in mapped] == []

    seen.press("q")
    assert seen.end() == 0
    _is_left_clean(seen)
    assert sgr(seen.written) <= WHITE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_the_terminal_clean(top: Start, number: signal.Signals) -> None:
    seen = top()
    seen.until("memory_rotate_check")

    assert seen.end(number) == 0
    _is_left_clean(seen)


def _is_left_clean(seen: Terminal) -> None:
    assert termios.tcgetattr(seen.tty) == seen.before
    for mode in (b"1049", b"2004", b"1004"):
        asked = re.findall(rb"\x1b\[\?" + mode + rb"([hl])", seen.written)
        assert asked[-1] == b"l", mode
    assert re.findall(rb"\x1b\[\?25([hl])", seen.written)[-1] == b"h"  # the cursor
    assert re.findall(rb"\x1b\[\?7([hl])", seen.written)[-1] == b"h"  # folding of long lines
    assert not re.search(rb"\x1b\[\?100[0-3]h", seen.written)  # the mouse marks text, as ever
    assert b"Traceback" not in seen.written


def test_a_terminal_that_is_taken_away_ends_it(top: Start) -> None:
    seen = top()
    seen.until("memory_rotate_check")
    seen.hang_up()

    assert seen.process.wait(60) != 0
