"""Code written for mem0 finds the same verbs, and gets the same answers.

`mem0.json` is what mem0's own class answered. With `SKYMEM_TEST_MEM0`, the path of a Python that
has mem0ai, that is asked anew: CI does so.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from skymem.adapters.mem0 import Memory
from tests.adapters.mem0_scenario import day, signatures, spelled

HERE = Path(__file__).parent
PYTHON = os.environ.get("SKYMEM_TEST_MEM0", "")
ANSWERED: dict[str, list[Any]] = json.loads((HERE / "mem0.json").read_text())


def test_each_verb_is_called_as_mem0s_is() -> None:
    assert signatures(Memory) == ANSWERED["signatures"]


def test_a_day_with_it_goes_as_with_mem0(mem0: Memory) -> None:
    ours = day(mem0)

    assert len(ours) == len(ANSWERED["day"])
    for number, (got, wanted) in enumerate(zip(ours, ANSWERED["day"], strict=True)):
        assert got == wanted, number


@pytest.mark.skipif(not PYTHON, reason="SKYMEM_TEST_MEM0 names no Python that has mem0ai")
def test_what_mem0_answered_it_answers_still(tmp_path: Path) -> None:
    environment = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path), "HOME": str(tmp_path)}
    command = [PYTHON, str(HERE / "mem0_scenario.py"), str(tmp_path)]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    assert told.stdout == (HERE / "mem0.json").read_text() == spelled(ANSWERED)
