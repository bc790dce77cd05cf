"""The verbs import, export, backup and restore-backup, as a person types them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skymem.app import init_home, open_home
from skymem.cli.main import app
from skymem.errors import NotAllowedError, UsageError
from tests.conftest import line


@pytest.fixture
def home(tmp_path: Path) -> str:
    init_home(tmp_path / "home")
    open_home(str(tmp_path / "home")).remember("sky", [line("tea at five", 0.9)])
    return str(tmp_path / "home")


def run(*words: str, raises: type[Exception] | None = None) -> str:
    told = CliRunner().invoke(app, list(words))
    if raises is None:
        assert told.exception is None, told
    else:
        assert isinstance(told.exception, raises), told
    return told.output


def test_there_and_back_again(home: str, tmp_path: Path) -> None:
    export, back = str(tmp_path / "sky.tar"), str(tmp_path / "home.tar")
    assert "of sky in" in run("--home", home, "export", export)
    told = json.loads(
        run("--home", home, "export", str(tmp_path / "all"), "--agent", "all", "--json")
    )
    assert told["agents"] == ["sky"]
    run("--home", home, "backup", back)
    assert "whole; would be" in run("restore-backup", back, "--home", f"{home}2", "--dry-run")
    assert not Path(f"{home}2").exists()
    told = json.loads(run("--home", f"{home}2", "restore-backup", back, "--json"))
    assert (told["home"], told["files"]) == (f"{home}2", 4)

    assert "0 imported (skymem)\n1 passed over: known" in run(
        "--home", f"{home}2", "import", export
    )
    other = ["--home", home, "import", export, "--agent", "calvin"]
    assert "1 would be imported" in run(*other, "--dry-run")
    assert json.loads(run(*other, "--json"))["imported"] == 1


def test_what_can_not_be_is_told(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--home", home, "export", "-", "--json", raises=UsageError)
    run("--home", home, "export", "--format", "other", raises=UsageError)
    run("--home", home, "export", "-", "--format", "markdown", raises=UsageError)
    run("--home", home, "import", str(tmp_path / "none"), raises=UsageError)
    back = str(tmp_path / "home.tar")
    run("--home", home, "backup", back)
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "sky")
    run("--home", home, "backup", f"{back}2", raises=NotAllowedError)
    run("restore-backup", back, "--home", f"{home}2", raises=NotAllowedError)
    run("--home", home, "export", str(tmp_path / "x"), "--agent", "all", raises=NotAllowedError)
    run("--home", home, "export", str(tmp_path / "x"), "--agent", "hobbs", raises=NotAllowedError)
    run("--home", home, "export", str(tmp_path / "own"), "--format", "jsonl")
    assert json.loads((tmp_path / "own").read_bytes())["content"] == "tea at five"


def test_the_stream_is_the_export_and_nothing_else(home: str) -> None:
    told = CliRunner().invoke(app, ["--home", home, "export", "--format", "jsonl"])

    assert json.loads(told.stdout)["content"] == "tea at five"
    assert "1 memories of sky" in told.stderr
