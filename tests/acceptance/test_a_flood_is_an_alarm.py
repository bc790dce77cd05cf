"""What calibration holds back is an alarm until promote holds nothing back any more (row X3)."""

import pytest

from skymem import app
from skymem.overview import status_overview
from tests.acceptance.test_a_poisoned_history import DAY, poisoned, weeks
from tests.conftest import Desk


def test_a_flood_is_an_alarm_until_nothing_is_held_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "now", lambda: desk.clock)
    app.init_home(desk.paths.root)
    home = app.open_home(str(desk.paths.root))

    def floods() -> list[str]:
        alarms = status_overview(home)["alarms"]
        return [one["text"] for one in alarms if one["id"] == "flood"]

    weeks(desk)
    home.run_job("promote")
    assert floods() == []
    poisoned(desk, 0)
    desk.clock += DAY
    detail, _ = home.run_job("promote")
    held = detail["calibration"]["sky"]["held"]
    (told,) = floods()
    assert told.startswith(f"sky: promote held back {held} line(s): it rated ")
    assert told.endswith("worth promoting, where 19% is usual")

    home.run_job("promote", uncalibrated=True)
    assert floods() == []
