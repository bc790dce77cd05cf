"""What may be asked, and what is told about what may not."""

import math
from typing import Any

import pytest

from skymem.errors import UsageError
from skymem.recall import request
from tests.conftest import START

REFUSED = [
    pytest.param({"limit": 0}, "limit 0 is not in 1 to 10000", id="no results"),
    pytest.param({"limit": -1}, "limit -1 is not in", id="fewer than none"),
    pytest.param({"limit": 10_001}, "limit 10001 is not in", id="too many"),
    pytest.param({"limit": True}, "limit True is not in", id="no number"),
    pytest.param({"mode": "magic"}, "mode 'magic' is unknown; give one of auto, ", id="mode"),
    pytest.param({"recency_bias": 1.1}, "recency-bias 1.1 is not in 0 to 1", id="bias"),
    pytest.param({"recency_bias": math.nan}, "recency-bias nan is not in 0 to 1", id="NaN"),
    pytest.param({"semantic_weight": -0.1}, "semantic-weight -0.1 is not in 0 to 1", id="weight"),
    pytest.param({"query": "\udcff"}, "the query holds bytes that are not UTF-8", id="bytes"),
]


@pytest.mark.parametrize(("given", "complaint"), REFUSED)
def test_what_can_not_be_asked_is_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        request.ask(**{"query": "x", **given})


def test_filters_that_let_nothing_through_by_mistake_are_named() -> None:
    with pytest.raises(UsageError, match="tier 'middle' is unknown; give one of short, long, arch"):
        request.filters_of(tiers=["middle"])
    with pytest.raises(UsageError, match="not UTF-8"):
        request.filters_of(tags=["\udcff"])
    with pytest.raises(UsageError, match="not UTF-8"):
        request.filters_of(meta=[("k", "\udcff")])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("2023-11-14T22:13:20Z", START, id="ISO 8601"),
        pytest.param("2023-11-15T00:13:20+02:00", START, id="another zone"),
        pytest.param("2023-11-14", 1_699_920_000, id="a day, UTC"),
        pytest.param("20231114", 1_699_920_000, id="a day, short"),
        pytest.param("1700000000", START, id="epoch seconds"),
        pytest.param("1700000000.25", START + 0.25, id="a part of one"),
        pytest.param("0", 0, id="ever"),
        pytest.param("7d", START - 7 * 86_400, id="a week"),
        pytest.param("12h", START - 12 * 3600, id="half a day"),
        pytest.param("1.5h", START - 5400, id="a part of an hour"),
    ],
)
def test_a_time_is_read_in_every_form(text: str, seconds: float) -> None:
    assert request.since(text, START) == round(seconds * 1_000_000)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "2025", "7y", "1e400", "nan", "1700000000000"]
)
def test_what_is_no_time_is_named_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError, match="is no time; give an ISO 8601 time, epoch seconds, or an"):
        request.since(text, START)
