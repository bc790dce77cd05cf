"""The page in a real browser: nothing runs, nothing is fetched, and it is to be read everywhere.

Skipped where there is no chromium; `.ci/run` installs it, and there it must be.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.reporting.figures import Report
from skymem.reporting.page import page
from tests.reporting.browser import CHROMIUM, Browser, Seen, browsing
from tests.reporting.conftest import Weeks
from tests.reporting.hostile import haunted_report

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="there is no chromium"
)
PHONE = 360


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return haunted_report(tmp_path_factory.mktemp("haunted") / "home")


def test_hostile_text_runs_nothing_fetches_nothing_and_is_read_as_it_is(
    browser: Browser, haunted: Report, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page(haunted))
    assert browser.open(path) == Seen(requests=[path.as_uri()])
    assert browser.value("document.title").startswith("skymem: 2023-11-14")
    wrong = "script, img, iframe, object, embed, link, a, form, input, base"
    assert browser.value(f"document.querySelectorAll({wrong!r}).length") == 0
    assert browser.value("document.querySelectorAll('style').length") == 1
    assert "<img src=x onerror=alert(1)>" in browser.value("document.body.innerText")


def test_were_there_a_way_for_markup_the_policy_would_stop_it(
    browser: Browser, lived: Weeks, tmp_path: Path
) -> None:
    evil = (
        b"<main><script>document.title='owned'</script><img src='https://example.org/x.png' "
        b"onerror=\"document.title='owned'\"><p style='color:red' id=evil>x</p>"
    )
    path = tmp_path / "report.html"
    path.write_bytes(page(lived.report()).replace(b"<main>", evil, 1))
    seen = browser.open(path)
    assert browser.value("document.title") != "owned"
    colour = browser.value("getComputedStyle(document.getElementById('evil')).color")
    assert colour not in ("", "rgb(255, 0, 0)")
    told = " ".join(seen.complaints)
    assert all(f"{name}-src" in told for name in ("script", "img", "style"))
    assert not seen.dialogs


@pytest.mark.parametrize("width", [1100, 700, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_width_and_goes_with_light_and_dark(
    browser: Browser, lived: Weeks, tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page(lived.report()))
    assert not browser.open(path, width=width, scheme=scheme).complaints
    assert browser.value("document.scrollingElement.scrollWidth") <= width
    ground = browser.value("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, ground.strip("rgb()").split(",")))
    assert lightness > 600 if scheme == "light" else lightness < 150
    assert browser.picture().startswith(b"\x89PNG")


def test_it_prints(browser: Browser, lived: Weeks, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page(lived.report()))
    browser.open(path, scheme="dark")
    browser.look(width=1100, scheme="dark", media="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.printed().startswith(b"%PDF")
