"""`skymem doctor` says whether an API runs, whether it answers, and who can read its tokens."""

import os
import signal
from pathlib import Path

from skymem.app import open_home
from skymem.doctor import examine
from tests.acceptance.homes import wait_until
from tests.serve.conftest import new_home, serving


def seen(home: Path) -> list[tuple[str, str]]:
    found = examine(open_home(str(home)))
    return [(one["state"], one["message"]) for one in found if one["check"] == "api"]


def test_it_says_whether_one_runs_and_answers(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    assert seen(home) == [("ok", "none runs")]
    with serving(home) as api:
        whose = f"process {api.process.pid} (skymem serve)"
        assert seen(home) == [("ok", f"{whose} answers")]
        api.process.send_signal(signal.SIGSTOP)
        stat = Path(f"/proc/{api.process.pid}/stat")
        wait_until(lambda: ") T " in stat.read_text(), "it has stopped")
        ((state, message),) = seen(home)
        assert (state, whose in message, "does not answer" in message) == ("problem", True, True)
        api.process.kill()
        api.process.wait(60)
    ((state, message),) = seen(home)
    assert (state, "killed" in message) == ("note", True)


def test_one_at_another_place_is_no_problem(tmp_path: Path) -> None:
    home, place = new_home(tmp_path / "home"), tmp_path / "elsewhere.sock"
    with serving(home, "--socket", str(place), place=place):
        ((state, message),) = seen(home)
    assert (state, "at another place" in message) == ("ok", True)


def test_tokens_that_others_can_read_are_a_problem(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home", "api:\n  token_file: tokens\n")
    tokens = home / "tokens"
    tokens.write_text("x" * 40 + "\n")
    tokens.chmod(0o600)
    assert ("ok", f"{tokens} is its owner's alone") in seen(home)
    tokens.chmod(0o640)
    assert any(state == "problem" and "640" in message for state, message in seen(home))
    assert os.stat(tokens).st_mode & 0o777 == 0o640, "it changes nothing"
