"""Where the homes of acceptance lie: on the machine's own disk, as those of users do."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import MEMORY_DISK


@pytest.fixture(scope="session")
def tmp_path_factory(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[pytest.TempPathFactory]:
    """The one of the other tests, unless its places are in memory."""
    if not tmp_path_factory.getbasetemp().is_relative_to(MEMORY_DISK):
        yield tmp_path_factory
        return
    place = Path(tempfile.mkdtemp(prefix="skymem-acceptance-"))
    yield pytest.TempPathFactory(
        None,
        retention_count=0,
        retention_policy="failed",
        trace=request.config.trace.get("tmpdir"),
        basetemp=place,
        _ispytest=True,  # pytest has no public way to one that lies elsewhere
    )
    if not request.session.testsfailed:
        shutil.rmtree(place, ignore_errors=True)
