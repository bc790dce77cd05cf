"""What tests of jobs on a whole home share."""

import pytest

from skymem import app
from tests.conftest import Desk


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))
