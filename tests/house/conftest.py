"""The checkout and what git tracks of it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("skymem", "tests", "benchmarks")


def git(*words: str) -> str:
    """Ask git about the checkout, whoever owns it."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this is no git checkout: {done.stderr.strip()}")
    return done.stdout


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The names of all tracked files that are there."""
    return [name for name in git("ls-files", "-z").split("\0") if name and (ROOT / name).exists()]


def modules() -> list[Path]:
    """Every Python file of the project."""
    return sorted(path for top in CODE for path in (ROOT / top).rglob("*.py"))
