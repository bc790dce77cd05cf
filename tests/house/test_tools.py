"""The tools that gate a change: lint, format, types, layers, generated documentation."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import pages
from tests.house.conftest import ROOT

BESIDE = Path(sys.executable).parent

GATES = [
    pytest.param([sys.executable, "-m", "ruff", "check", "."], id="ruff check"),
    pytest.param([sys.executable, "-m", "ruff", "format", "--check", "."], id="ruff format"),
    pytest.param([sys.executable, "-m", "mypy"], id="mypy"),
    pytest.param([str(BESIDE / "lint-imports")], id="lint-imports"),
    pytest.param([sys.executable, "-m", "cogapp", "--check", *map(str, pages())], id="cog"),
]


@pytest.mark.parametrize("command", GATES)
def test_the_gate_is_open(command: list[str]) -> None:
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
