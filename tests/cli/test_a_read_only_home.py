"""A home that can't be written to: who looks is told so, and who only reads is answered."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import OWNER, Shell

LOOKS = ["status", "check", "doctor"]


@pytest.fixture
def sealed(shell: Shell) -> Iterator[Callable[[Path], None]]:
    """Mounts a directory of the home read-only, in its own place."""
    shell("remember", "a thing to recall", "--importance", "0.9")
    shell("promote")
    done: list[Path] = []

    def seal(path: Path) -> None:
        bind = ["mount", "--bind", str(path), str(path)]
        if os.geteuid() != 0 or subprocess.run(bind, check=False, capture_output=True).returncode:
            pytest.skip("only root can mount, where the machine allows it")
        done.append(path)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(path)], check=True)

    yield seal
    for path in done:
        subprocess.run(["umount", str(path)], check=True)


def _said(shell: Shell, verb: str) -> list[str]:
    return [text for text in shell(verb).out.splitlines() if "read-only" in text]


@pytest.mark.parametrize("verb", LOOKS)
def test_a_home_mounted_read_only_is_named_once(
    shell: Shell, sealed: Callable[[Path], None], verb: str
) -> None:
    assert _said(shell, verb) == []
    sealed(shell.home)

    (said,) = _said(shell, verb)
    assert f"the home is read-only: nothing can be remembered or moved in {shell.home}" in said
    assert shell("check").code == 23
    assert shell("remember", "x").code == 74
    assert "a thing to recall" in shell("recall", "recall").out


@pytest.mark.parametrize("verb", LOOKS)
def test_a_part_mounted_read_only_is_named(
    shell: Shell, sealed: Callable[[Path], None], verb: str
) -> None:
    sealed(shell.agent_directory)

    (said,) = _said(shell, verb)
    assert f"{shell.agent_directory} is read-only; mount" in said


@pytest.mark.parametrize("name", ["status", "memory/sky/short_term.jsonl"])
def test_what_its_owner_may_not_write_is_named_with_the_way_out(
    shell: Shell, tmp_path: Path, name: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    shell("remember", "x")
    shell("rotate")
    for path in [shell.home, *shell.home.rglob("*")]:
        os.chown(path, OWNER, OWNER)
    for path in [tmp_path, *tmp_path.parents]:
        path.chmod(path.stat().st_mode | 0o011)
    (shell.home / name).chmod(0o500)
    told = shell.as_user(OWNER, "check")

    assert told.code == 23
    assert f"{shell.home / name} is read-only; let its owner write: chmod u+w" in told.out
    assert "unwritable" in _alarms(shell)
    (shell.home / name).chmod(0o700)
    assert "read-only" not in shell.as_user(OWNER, "check").out
    assert "unwritable" not in _alarms(shell)


def _alarms(shell: Shell) -> str:
    return str(shell.as_user(OWNER, "alarms", "--json").out)
