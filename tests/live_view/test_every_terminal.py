"""`skymem top` on terminals of every sort and size, and on a home that changes under it."""

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live_view.conftest import Terminal, command, sgr

Start = Callable[..., Terminal]
COLOURS = re.compile("[349][0-9]|10[0-7]")


def test_it_follows_the_size_of_its_terminal_down_to_nothing_and_back(top: Start) -> None:
    seen = top(columns=120, lines=40)
    seen.until("q quit")
    seen.resize(80, 24)
    seen.until(lambda one: "q quit" in one.screen.display[23])
    seen.resize(40, 10)
    seen.until("40x10 is too small")
    assert "memory_rotate_check" not in seen.text
    seen.resize(3, 1)
    seen.resize(60, 15)
    seen.until(lambda one: "q quit" in one.screen.display[14])
    seen.until("› memory_rotate")
    seen.press("q")

    assert seen.end() == 0


@pytest.mark.parametrize("terminal", ["dumb", "vt100", "linux"])
def test_a_terminal_without_colours_gets_none(top: Start, terminal: str) -> None:
    seen = top(TERM=terminal)
    seen.until("memory_rotate_check")
    seen.press("Down")
    seen.until("› index")
    seen.press("q")

    assert seen.end() == 0
    assert any(COLOURS.fullmatch(part) for part in sgr(seen.written)) == (terminal == "linux")


def test_a_terminal_without_unicode_gets_letters_it_has(top: Start) -> None:
    seen = top(PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    seen.until("memory_rotate_check")
    seen.press("?")
    seen.until("Esc closes this.")
    assert "+------" in seen.text
    assert r"\u" not in seen.text
    seen.press("Esc")  # by itself: a letter after it at once would be Alt with that letter
    seen.until(lambda one: "Esc closes this." not in one.text)
    seen.press("q")

    assert seen.end() == 0
    assert seen.written.isascii()


def test_a_daemon_that_comes_and_is_killed_is_seen(
    top: Start, daemon: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    seen = top()
    seen.until("daemon not running")
    seen.until("no daemon")
    process = daemon()
    seen.until(f"process {process.pid}")
    process.send_signal(signal.SIGKILL)
    process.wait()
    seen.until("daemon not running")
    seen.until("the daemon ended without a word")
    seen.press("q")

    assert seen.end() == 0


def test_a_home_that_is_moved_away_is_told_until_it_is_back(home: Path, top: Start) -> None:
    command(home, "remember", "x", "--importance", "0.9")
    seen = top()
    seen.until("healthy")
    home.rename(home.with_name("elsewhere"))
    seen.until("the home is not there any more")
    seen.until("as of")
    (home.with_name("elsewhere")).rename(home)
    seen.until("healthy")
    seen.press("q")

    assert seen.end() == 0


def test_what_another_process_decides_comes_up_by_itself(home: Path, top: Start) -> None:
    seen = top()
    seen.until("nothing was decided yet")
    command(home, "--agent", "hobbs", "remember", "x", "--importance", "0.9")
    command(home, "remember", "y", "--importance", "0.8")
    command(home, "promote")
    seen.until("importance 0.9 against 0.7")
    seen.until("all 2")
    assert {"hobbs", "sky"} <= {*re.findall(r"promote.*|hobbs|sky", seen.text)}
    seen.press("a")
    seen.until("› all agents")
    seen.press("Down", "Enter")
    seen.until("agent hobbs")
    seen.until(lambda one: "importance 0.8" not in one.text)
    assert "importance 0.9" in seen.text
    seen.press("q")

    assert seen.end() == 0


def test_what_fits_on_no_line_is_told_in_full_by_enter(home: Path, top: Start) -> None:
    (home / "retention_rules.yaml").write_text("promote_treshold: 0.7\n")
    seen = top()
    seen.until("degraded, 1 alarm")
    seen.press("Tab", "Enter")
    seen.until("its id: rules_faulty")
    assert "promote_threshold" in seen.text
    seen.press("Esc")
    seen.until(lambda one: "its id:" not in one.text)
    seen.press("Shift+Tab", "Enter")
    seen.until("next run   no daemon")
    seen.press("Enter")
    seen.until(lambda one: "next run   no daemon" not in one.text)
    seen.press("q")

    assert seen.end() == 0
