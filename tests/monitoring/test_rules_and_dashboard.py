"""Alert rules and dashboard: what they name exists, and each query is one."""

import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from skymem.model.alarm import ALARMS
from skymem.model.metric import METRICS
from tests.monitoring.conftest import PLACE, Promtool

RULES: Final[list[dict[str, Any]]] = [
    rule
    for group in yaml.safe_load((PLACE / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
CASES: Final = yaml.safe_load((PLACE / "alerts_test.yml").read_text())["tests"]
DASHBOARD: Final[dict[str, Any]] = json.loads((PLACE / "dashboard.json").read_text())
PANELS: Final[list[dict[str, Any]]] = DASHBOARD["panels"]
EVERYWHERE: Final = {"instance"}
"""What Prometheus gives to each series."""

BUILT_IN: Final = {"/annotations/list[0]/builtIn", "/id"}
"""What Grafana itself writes, and its types leave out."""


def queries() -> Iterator[tuple[str, str]]:
    """Each query of rules and dashboard, by whose it is; variables are filled in."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in PANELS:
        for target in panel.get("targets", ()):
            text = target["expr"].replace("$instance", ".*").replace("$agent", ".*")
            assert "$" not in text, "a variable that nobody fills in"
            yield f"{panel['title']}, {target['refId']}", text


QUERIES: Final = [pytest.param(text, id=name) for name, text in queries()]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_metrics_and_labels_that_there_are(query: str) -> None:
    named = re.findall(r"(skymem_\w+)(?:\{([^}]*)\})?", query)
    assert named
    known: set[str] = set(EVERYWHERE)
    for name, selectors in named:
        assert name in METRICS
        known |= {*METRICS[name].labels}
        chosen = {*re.findall(r"(\w+)\s*[=!]~?", selectors)}
        assert chosen <= {*METRICS[name].labels} | EVERYWHERE, name
    for grouped in re.findall(r"by \(([^)]*)\)", query):
        assert {*re.split(r",\s*", grouped)} <= known
    for name in re.findall(r"(?:rate|increase)\((skymem_\w+)", query):
        assert METRICS[name].kind == "counter"


def test_promtool_takes_each_query(promtool: Promtool, tmp_path: Path) -> None:
    rules = [{"record": f"q:{n}", "expr": text} for n, (_, text) in enumerate(queries())]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", file)
    file.write_text(file.read_text().replace("sum by", "sum bye", 1))
    with pytest.raises(AssertionError, match="parse error"):
        promtool("check", "rules", file)


def test_promtool_takes_the_rules_and_what_they_raise(promtool: Promtool) -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", PLACE / "alerts.yml")
    assert "SUCCESS" in promtool("test", "rules", PLACE / "alerts_test.yml")


def test_promtool_takes_what_the_page_says(promtool: Promtool, tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", (PLACE / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 2
    for block in blocks:
        file = tmp_path / "prometheus.yml"
        file.write_text(block)
        assert "SUCCESS" in promtool("check", "config", "--syntax-only", file)


def test_each_rule_has_a_case_that_raises_it_and_one_that_does_not() -> None:
    raised: dict[str, set[bool]] = {}
    for case in CASES:
        for one in case["alert_rule_test"]:
            raised.setdefault(one["alertname"], set()).add(bool(one["exp_alerts"]))
    assert {*raised} == {rule["alert"] for rule in RULES}
    assert {name for name, seen in raised.items() if True not in seen} == set()
    assert {name for name, seen in raised.items() if False not in seen} == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["alert"].startswith("Skymem")
    assert rule["labels"]["severity"] in {"info", "warning", "critical"}
    assert {*rule["annotations"]} == {"summary", "description"}
    given = " ".join(rule["annotations"].values())
    labels = {label for name in METRICS if name in rule["expr"] for label in METRICS[name].labels}
    assert {*re.findall(r"\$labels\.(\w+)", given)} <= labels | EVERYWHERE


def test_each_alarm_is_an_alert_of_one_severity() -> None:
    one, other = (rule["expr"] for rule in RULES if "skymem_alarm{" in rule["expr"])
    urgent, rest = (re.search(r'id(=~|!~)"([^"]*)"', expr) for expr in (one, other))
    assert urgent is not None
    assert rest is not None
    assert (urgent[1], rest[1], urgent[2]) == ("=~", "!~", rest[2])
    assert {*urgent[2].split("|")} < {*ALARMS}


def test_grafanas_own_types_lose_nothing_of_the_dashboard() -> None:
    assert {*lost(DASHBOARD, read_by_grafanas_types(DASHBOARD))} <= BUILT_IN


def read_by_grafanas_types(document: dict[str, Any]) -> Any:
    """The dashboard as Grafana's types have it; in CI they must be there."""
    if not os.environ.get("CI"):
        pytest.importorskip("grafana_foundation_sdk")
    own = "grafana_foundation_sdk"
    import_module(f"{own}.cog.plugins").register_default_plugins()
    read = import_module(f"{own}.models.dashboard").Dashboard.from_json(document)
    return json.loads(import_module(f"{own}.cog.encoder").JSONEncoder().encode(read))


def lost(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Where the other does not have what the one has."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key, value in one.items():
            if key in other:
                yield from lost(value, other[key], f"{at}/{key}")
            else:
                yield f"{at}/{key}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (here, there) in enumerate(zip(one, other, strict=True)):
            yield from lost(here, there, f"{at}[{number}]")
    elif one != other:
        yield at


def test_a_slip_in_the_dashboard_would_be_seen() -> None:
    slip = json.loads(json.dumps(DASHBOARD).replace('"fieldConfig"', '"fieldConfg"'))
    assert {*lost(slip, read_by_grafanas_types(slip))} - BUILT_IN


def test_no_two_panels_are_in_one_place_or_share_a_number() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        place = panel["gridPos"]
        assert 0 <= place["x"] < place["x"] + place["w"] <= 24
    for one, other in combinations((panel["gridPos"] for panel in PANELS), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


def test_each_panel_says_what_it_shows_and_reads_what_is_chosen() -> None:
    chosen = {one["name"] for one in DASHBOARD["templating"]["list"]}
    assert chosen == {"datasource", "instance", "agent"}
    for panel in PANELS:
        if panel["type"] == "row":
            continue
        assert panel["title"]
        assert panel["description"]
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
            assert target["datasource"]["uid"] == "${datasource}"
            assert "$instance" in target["expr"]
            shown = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
            assert all(label in target["expr"] for label in shown)


def test_each_link_of_the_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)", (PLACE / "README.md").read_text()):
        assert (PLACE / target).exists(), target
