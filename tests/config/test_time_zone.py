"""The schedule's time zone is named in its file and known here, or refused; UTC always works."""

import sys
import zoneinfo
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.config.schedule_file import read_schedule
from skymem.errors import ConfigurationError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "schedule.yaml"


def complaint_about(zone: str, path: Path) -> str:
    """The one line that is said about a schedule in this zone."""
    path.write_text(f"timezone: {zone}\nevery: []\n")
    with pytest.raises(ConfigurationError) as caught:
        read_schedule(path)
    [line] = str(caught.value).splitlines()
    return line


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_a_time_zone_is_known_by_its_name(zone: str, path: Path) -> None:
    path.write_text(f"timezone: {zone}\nevery: []\n")
    assert read_schedule(path).timezone == zone


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        pytest.param("Europe/Berlim", 'did you mean "Europe/Berlin"?', id="typing error"),
        pytest.param("europe/berlin", "", id="other case"),
        pytest.param("+02:00", "such as Europe/Berlin, or UTC", id="offset"),
        pytest.param("America", "", id="a directory"),
        pytest.param("../etc/passwd", "", id="way out"),
        pytest.param("/etc/passwd", "", id="absolute path"),
        pytest.param('"a\\0b"', "", id="NUL"),
        pytest.param('"\\ud800"', "", id="lone surrogate"),
        pytest.param("x" * 5000, "", id="too long for a file name"),
        pytest.param('""', "", id="empty"),
    ],
)
def test_an_unknown_time_zone_is_refused_with_the_nearest(
    zone: str, words: str, path: Path
) -> None:
    complaint = complaint_about(zone, path)
    assert complaint.startswith("schedule.yaml:1:11: timezone: ")
    assert "is not a known time zone" in complaint
    assert words in complaint


@pytest.fixture
def _no_time_zone_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in ["tzdata", *(name for name in sys.modules if name.startswith("tzdata."))]:
        monkeypatch.setitem(sys.modules, module, None)
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()


@pytest.mark.usefixtures("_no_time_zone_data")
def test_without_time_zone_data_utc_works_and_any_other_zone_says_what_to_install(
    path: Path,
) -> None:
    path.write_text("timezone: UTC\nevery: []\n")
    assert read_schedule(path).timezone == "UTC"
    complaint = complaint_about("Europe/Berlin", path)
    assert "no time zone data (install tzdata, or use UTC)" in complaint
