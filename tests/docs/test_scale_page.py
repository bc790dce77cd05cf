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
    assert {*found["agents"]} >= {"1", "10", "50", "200"}
    for side in ("memories", "agents"):
        first, *others = ([*filter(_is_of_each_size, one)] for one in found[side].values())
        assert all({*one} == {*first} for one in others)


def _is_of_each_size(row: str) -> bool:
    """Whether it is not about what `index` is owed, which is but beyond the vectors there are."""
    return not row.startswith("index, 60 s") and "while indexing" not in row


def test_what_is_owed_is_told_with_its_rate_and_with_what_recall_said(tmp_path: Path) -> None:
    slow = {"cpu_s": 1.25, "rss_mb": 44.0, "owed": 9_000, "texts_per_s": 7.6}
    asked = {"cpu_s": 0.03, "rss_mb": 610.0, "said": ["899,744 are not indexed yet"]}
    rows = {"index, 60 s of it": {**slow, "engine_rss_mb": 604.2}, "recall by meaning": asked}
    file = tmp_path / "scale.json"
    file.write_text(json.dumps({"memories": {"1000": {}, "1000000": rows}}))

    assert scale_page.table("memories", file).splitlines()[2:] == [
        "| index, 60 s of it | – | 1.25 s, 44 MB, 8 texts a second of 9,000 owed, engine 604 MB |",
        "| recall by meaning | – | 0.03 s, 610 MB |",
    ]
    assert scale_page.said(file) == "- recall by meaning: “899,744 are not indexed yet”\n"


def test_a_run_with_nothing_to_do_works_as_little_at_a_million_as_at_a_thousand() -> None:
    """Of the run that is told, so that no page is written of one that shows otherwise."""
    found = json.loads(scale_page.RUN.read_text())["memories"]
    idle = [name for name in found["1000"] if name.endswith("nothing new")]
    assert len(idle) == 5
    for name in (*idle, "status"):
        assert found["1000000"][name]["cpu_s"] < 2 * found["1000"][name]["cpu_s"]
        assert found["1000000"][name]["rss_mb"] < found["1000"][name]["rss_mb"] + 10
