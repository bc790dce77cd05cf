"""The kept example: lived by the very jobs, with figures that are right, and of today's page."""

import re
from pathlib import Path

import pytest

from benchmarks import household
from benchmarks.household_report import BEFORE, KEPT, NAMED, Household
from skymem.reporting.figures import TIERS, Report
from skymem.reporting.page import page
from skymem.reporting.writing import SIGN

DAYS = 4
KEPT_BYTES_MAX = 300_000


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Household:
    """Six days of the household; nothing of it is to be changed."""
    made = Household(tmp_path_factory.mktemp("household") / "home")
    made.live(DAYS + 2)
    return made


@pytest.fixture(scope="module")
def found(lived: Household) -> Report:
    return lived.report(DAYS)


def test_the_figures_of_a_small_household_are_those_of_its_life(
    lived: Household, found: Report
) -> None:
    assert [one.name for one in found.agents] == [*household.AGENTS]
    assert len(found.days) == DAYS
    came = {one.name: sum(one.flows["came"]) for one in found.agents}
    assert came == {agent: _said(agent, range(2, DAYS + 2)) for agent in household.AGENTS}
    assert lived.said == {agent: _said(agent, range(DAYS + 2)) for agent in household.AGENTS}
    for agent in found.agents:
        held = _held(lived, agent.name)
        assert {tier: agent.growth[tier][-1] for tier in TIERS} == held == dict(agent.counts)
    assert sum(found.latency.answers) == found.latency.measured
    runs = {one.job: one.runs for one in found.jobs}
    assert runs == {"memory_rotate_check": 2 * DAYS, "compress": DAYS, "prune": DAYS}
    assert found.home == NAMED


def test_it_is_the_same_household_every_time() -> None:
    def day() -> list[bytes]:
        return [*household.said("sky", 3, 1000.0)]

    assert day() == day() != [*household.said("sky", 4, 1000.0)]
    assert [*household.asked("hobbs", 5)] == [*household.asked("hobbs", 5)]


def test_the_kept_page_is_of_the_present_template(found: Report) -> None:
    kept, fresh = KEPT.read_text("utf-8"), page(found).decode()
    assert SIGN.decode() in kept
    again = "python -m benchmarks.household_report makes it anew"
    assert _style(kept) == _style(fresh), again
    assert _sections(kept) == _sections(fresh), again
    assert _tables(fresh) <= _tables(kept), again


def test_the_kept_page_is_of_ninety_days_and_of_a_reasonable_size() -> None:
    kept = KEPT.read_text("utf-8")
    assert len(kept.encode()) < KEPT_BYTES_MAX
    assert f"{NAMED} · aegis, hobbs, sky" in kept
    growth = kept.split('id="growth"', 1)[1].split("</figure>", 1)[0]
    assert len(re.findall(r'<th scope="row">', growth)) == 90
    assert BEFORE > 0


def _said(agent: str, days: range) -> int:
    return sum(len([*household.said(agent, day, 0.0)]) for day in days)


def _held(lived: Household, agent: str) -> dict[str, int]:
    """What each tier holds, counted with nothing of the report's."""
    paths = lived.paths.agent(agent)
    files = {
        "short": [paths.short_term],
        "long": [paths.long_term],
        "archive": [*paths.directory.glob("short_term_archive_*.jsonl")],
        "trash": [*paths.trash.glob("*.jsonl")],
    }
    return {tier: sum(map(_lines, each)) for tier, each in files.items()}


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def _style(text: str) -> str:
    return text.split("<style>", 1)[1].split("</style>", 1)[0]


def _sections(text: str) -> list[str]:
    return re.findall(r'<section id="\w+"><h2>[^<]*</h2>', text)


def _tables(text: str) -> set[str]:
    """What heads the tables that are no plot's: of those it is the rules there were."""
    return {*re.findall(r"<table><thead><tr>.*?</thead>", text, re.S)}
