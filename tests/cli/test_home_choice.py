"""Which home a command works on, and that it says why (design §3)."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import OTHER, Shell


@pytest.fixture
def here(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, as the current directory."""
    monkeypatch.chdir(shell.home)
    return shell.home


def _home(shell: Shell, *words: str) -> dict[str, str]:
    found: dict[str, str] = shell.bare(*words, "status", "--json").json["home"]
    return found


def test_a_named_home_comes_first(
    shell: Shell, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shell.bare("init", str(other))
    monkeypatch.setenv("SKYMEM_HOME", str(here))

    assert _home(shell, "--home", str(other)) == {"path": str(other), "why": "--home"}


def test_then_the_environment(
    shell: Shell, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shell.bare("init", str(other))
    monkeypatch.setenv("SKYMEM_HOME", str(other))

    assert _home(shell) == {"path": str(other), "why": "$SKYMEM_HOME"}


def test_then_a_current_directory_with_rules(shell: Shell, here: Path) -> None:
    found = _home(shell)

    assert found["path"] == str(here)
    assert "current directory" in found["why"]


def test_then_the_data_directory(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.bare("init")
    assert _home(shell)["path"] == str(tmp_path / ".local/share/skymem")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shell.bare("init")
    assert _home(shell) == {
        "path": str(tmp_path / "data/skymem"),
        "why": "the XDG data directory",
    }


@pytest.mark.parametrize("name", [".", "retention_rules.yaml"])
def test_a_current_directory_that_everyone_may_write_is_not_trusted(
    shell: Shell, here: Path, name: str
) -> None:
    path = here / name
    path.chmod(path.stat().st_mode | 0o002)
    told = shell.bare("remember", "x")

    assert told.code == 10
    assert "others can write" in told.err
    assert not shell.short_term.exists()


def test_a_current_directory_of_another_user_is_not_trusted(shell: Shell, here: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(here, OTHER, OTHER)
    told = shell.bare("remember", "x")

    assert told.code == 10
    assert "another user" in told.err


def test_a_home_that_is_named_needs_no_trust(shell: Shell, here: Path) -> None:
    here.chmod(0o777)

    assert shell.bare("--home", ".", "remember", "x").code == 0


def test_a_removed_current_directory_is_no_bug(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert shell("status").code == 0
    assert shell.bare("status").code == 10
