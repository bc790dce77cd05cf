"""A training that breaks at each step of its write leaves the old model, or the new one whole."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.errors import SkymemError
from skymem.policy.prediction import Model
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.importance_models import KEPT, in_force, keep_model, models_of, set_aside

from .faulty import FAULTS, CountedFiles, PowerCut
from .sweep import as_if_from_another_process

NOW = 1_700_000_000.0
COEFFICIENTS = {f"#{number}": number / 1000 for number in range(500)}
OLD = Model("sky", NOW, "old", 0, 0.5, COEFFICIENTS)
NEW = replace(OLD, trained_at=NOW + 60, inputs="new", base=0.25)


def before(root: Path) -> HomePaths:
    """As many as are kept, so that the new one also lets go of the oldest."""
    paths = HomePaths(root)
    for number in range(KEPT - 1, -1, -1):
        keep_model(paths, Files(), replace(OLD, trained_at=NOW - 60 * number))
    return paths


@pytest.mark.parametrize("fault", FAULTS)
def test_the_old_model_is_in_force_until_the_new_one_is_whole(fault: str, tmp_path: Path) -> None:
    before(tmp_path / "template")
    counted = CountedFiles()
    shutil.copytree(tmp_path / "template", tmp_path / "whole")
    keep_model(HomePaths(tmp_path / "whole"), counted, NEW)
    fired = 0
    for step in range(1, len(counted.steps) + 1):
        root = tmp_path / f"{step}"
        shutil.copytree(tmp_path / "template", root)
        paths, files = HomePaths(root), FAULTS[fault](step)
        try:
            keep_model(paths, files, NEW)
        except (PowerCut, SkymemError, OSError):
            fired += 1
        found = in_force(paths, "sky", NOW + 120)
        assert found is not None
        assert found.inputs in {"old", "new"}
        assert dict(found.coefficients) == COEFFICIENTS
        as_if_from_another_process(root)
        keep_model(paths, Files(), NEW)
        assert in_force(paths, "sky", NOW + 120) == NEW
        assert len(models_of(paths, "sky")) == KEPT
        assert not [*paths.importance("sky").glob(".*")]
    assert fired


@pytest.mark.parametrize("fault", ["killed", "EIO for good"])
def test_going_back_is_done_or_not(fault: str, tmp_path: Path) -> None:
    before(tmp_path / "template")
    keep_model(HomePaths(tmp_path / "template"), Files(), NEW)
    for step in (1, 2):
        root = tmp_path / f"{step}"
        shutil.copytree(tmp_path / "template", root)
        paths, files = HomePaths(root), FAULTS[fault](step)
        with pytest.raises((PowerCut, SkymemError)):
            set_aside(paths, files, NEW)
        assert files.fired
        found = in_force(paths, "sky", NOW + 120)
        assert found is not None
        assert found.inputs in {"old", "new"}
