"""A home with everything going tells every metric of the table, and no text (promise 6)."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from skymem.model.metric import METRICS
from tests.monitoring.conftest import PLACE, SECRET, WORDS, Promtool


def test_each_of_the_table_is_told_with_its_labels(told: str) -> None:
    found = {
        sample.name: (family.type, tuple(sample.labels))
        for family in text_string_to_metric_families(told)
        for sample in family.samples
    }
    assert found == {name: (one.kind, one.labels) for name, one in METRICS.items()}


def test_no_text_is_among_them(told: str) -> None:
    assert not any(word in told for word in (*WORDS, SECRET))


def test_promtool_has_no_fault_to_find(promtool: Promtool, told: str) -> None:
    assert promtool("check", "metrics", stdin=told) == ""


def test_promtool_would_find_one(promtool: Promtool) -> None:
    with pytest.raises(AssertionError, match="no help text"):
        promtool("check", "metrics", stdin="# TYPE x gauge\nx 1\n")


def test_the_page_has_the_table_as_it_is() -> None:
    rows = [
        f"| `{name}` | {one.kind} | {', '.join(one.labels)} | {one.help} |"
        for name, one in METRICS.items()
    ]
    page = (PLACE / "README.md").read_text().splitlines()
    assert [row for row in page if row.startswith("| `skymem_")] == rows
