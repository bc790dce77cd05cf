"""Metrics as Prometheus' own parser reads them, and their names by its conventions."""

import re
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as some
from prometheus_client.parser import text_string_to_metric_families

from skymem.model.metric import METRICS, Samples

UNITS = {"seconds", "bytes", "total", "info"}
ABBREVIATED = re.compile(r"_(?:ms|us|ns|s|kb|mb|gb|kib|mib|gib|percent|minutes|hours|days)(?:_|$)")
TEXT = some.text(some.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT, some.floats(allow_nan=False, allow_infinity=False))
def test_whatever_a_label_holds_it_is_read_back(agent: str, constant: str, value: float) -> None:
    samples = Samples({"home": constant})
    samples.add("skymem_memories", value, agent, "long")
    samples.add("skymem_alarms", 2)

    alarms, memories = text_string_to_metric_families(samples.text())

    (sample,) = memories.samples
    assert sample.labels == {"home": constant, "agent": agent, "tier": "long"}
    assert sample.value == value
    assert (alarms.samples[0].labels, alarms.samples[0].value) == ({"home": constant}, 2)


def test_half_a_pair_does_not_spoil_the_text() -> None:
    samples = Samples()
    samples.add("skymem_build_info", 1, "\ud800")

    (family,) = text_string_to_metric_families(samples.text().encode().decode())
    assert family.samples[0].labels == {"version": "?"}


@pytest.mark.parametrize("value", [None, "3", nan, inf, -inf, [1]])
def test_what_is_no_number_is_left_out(value: object) -> None:
    samples = Samples()
    samples.add("skymem_alarms", value)
    assert samples.text() == ""
    assert samples.to_json() == []


@pytest.mark.parametrize("name", METRICS)
def test_a_name_keeps_to_the_conventions(name: str) -> None:
    metric = METRICS[name]
    last = name.rpartition("_")[2]

    assert re.fullmatch("skymem(_[a-z]+)+", name)
    assert (last == "total") == (metric.kind == "counter")
    assert not ABBREVIATED.search(name)
    assert not {"gauge", "counter"} & {*name.split("_")}
    assert ("timestamp" in name) <= name.endswith("_timestamp_seconds")
    assert not {*metric.labels} & {"job", "instance", "le", "quantile"}, "Prometheus' own"
    assert metric.help[0].isupper() or metric.help[0].isdigit()
    assert not re.match(r"(?:How long|When|Whether) (?:it|that)\b", metric.help), "stands alone"


def test_the_number_is_told_as_briefly_as_it_can_be() -> None:
    samples = Samples()
    for value in (3, 3.0, True, 0.1, 1e300, 2.0**53):
        samples.add("skymem_alarms", value)
    told = [line.split()[1] for line in samples.text().splitlines() if line[0] != "#"]
    assert told == ["3", "3", "1", "0.1", "1e+300", "9007199254740992.0"]
