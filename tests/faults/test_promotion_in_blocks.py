"""A promotion of many blocks broken between, and in, any two of them."""

from pathlib import Path

import pytest

from skymem.jobs import promote

from .faulty import FAULTS
from .sweep import sweep
from .world import promote_home


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_run_finds_every_memory_once_though_each_line_was_a_block(
    disk: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(promote, "BLOCK_BYTES", 1)
    assert sweep(promote_home, fault, disk) > 8, "the fault never met its step"
