"""docs/scale.md tells of one run: its plot is of docs/scale.json, as cog has its tables be."""

import json
from pathlib import Path

from benchmarks import scale_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_plot_is_of_the_same_run() -> None:
    run = json.loads(scale_page.RUN.read_text())["run"]
    assert f"<dc:title>{run}</dc:title>" in (ROOT / "docs" / "scale.svg").read_text()


def test_every_size_and_every_operation_is_told() -> None:
    found = json.loads(scale_page.RUN.read_text())
    assert {*found["memories"]} == {"1000", "10000", "100000", "1000000"}
    assert {*found["agents"]} == {"1", "10", "50", "200"}
    for side in ("memories", "agents"):
        first, *others = found[side].values()
        assert all(one.keys() == first.keys() for one in others)


def test_a_run_with_nothing_to_do_works_as_little_at_a_million_as_at_a_thousand() -> None:
    """Of the run that is told, so that no page is written of one that shows otherwise."""
    found = json.loads(scale_page.RUN.read_text())["memories"]
    idle = [name for name in found["1000"] if name.endswith("nothing new")]
    assert len(idle) == 5
    for name in (*idle, "status"):
        assert found["1000000"][name]["cpu_s"] < 2 * found["1000"][name]["cpu_s"]
        assert found["1000000"][name]["rss_mb"] < found["1000"][name]["rss_mb"] + 10
