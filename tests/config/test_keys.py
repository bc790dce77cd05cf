"""One table of keys: what is read, what is explained and what docs/ says cannot differ."""

import subprocess
import sys
from pathlib import Path

import pytest

from skymem.config import keys
from skymem.config.engine_section import engine_values
from skymem.config.fields import known_pairs
from skymem.config.key import (
    AGENT,
    ENTRY,
    KIND,
    PREFERENCE,
    REMOTE,
    RULES_FILE,
    SCHEDULE_FILE,
    SHARE,
    SUMMARIZER,
    TENANT,
    TOP,
    Key,
)
from skymem.config.keys import KEYS, explain, reference_markdown
from skymem.config.life_sections import section_values
from skymem.config.problems import Complaints
from skymem.config.promote_section import promotion_values
from skymem.config.remote_section import remote_values
from skymem.config.rules_file import read_rules
from skymem.config.schedule_file import read_schedule
from skymem.config.units import parse_duration, parse_percentage, parse_size
from skymem.config.yaml_nodes import Table
from skymem.config.yaml_text import parse_yaml
from skymem.errors import UsageError
from skymem.model.rules import RemoteRules, RetentionRules
from skymem.model.schedule import Every, Schedule, ScheduleEntry

ROOT = Path(__file__).parents[2]


def yaml_word(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def by_dotted_name(key: Key) -> str:
    return key.dotted


def test_the_table_costs_no_yaml_to_import() -> None:
    code = "import sys, skymem.config.keys; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("key", KEYS, ids=by_dotted_name)
def test_the_example_of_each_key_is_accepted_by_its_reader(key: Key, tmp_path: Path) -> None:
    path = tmp_path / key.file
    if key.level in (AGENT, KIND, TENANT, PREFERENCE):
        section = key.level.removesuffix(".NAME")
        more = "type: number" if key.name in {"least", "most"} else ""
        path.write_text(f"{section}:\n  sky:\n    {key.example}\n    {more}\n")
    elif key.level == SUMMARIZER:
        given = {"endpoint": 'endpoint: "http://127.0.0.1/v1"', "model": "model: m"}
        given[key.name] = key.example
        path.write_text("compress:\n  summarizer:\n    " + "\n    ".join(given.values()) + "\n")
    elif key.level == REMOTE:
        given = {"url": "url: https://127.0.0.1"} | {key.name: key.example}
        path.write_text("engine:\n  remote:\n    " + "\n    ".join(given.values()) + "\n")
    elif key.level == SHARE:
        given = {"from": "from: sky", "to": "to: [hobbs]", "tags": "tags: [ops]"}
        given[key.name] = key.example
        path.write_text("share:\n- " + "\n  ".join(given.values()) + "\n")
    elif key.level not in (TOP, ENTRY):
        pairs = {"older_than": "importance_below: 0.3", "importance_below": "older_than: 365d"}
        more = pairs.get(key.name, "") if key.level == "prune" else ""
        level = key.level.replace(".", ":\n  ")  # of a mapping inside of another
        path.write_text(f"{level}:\n    {key.example}\n    {more}\n")
    elif key.level == ENTRY:
        given = {key.name: key.example}
        rest = {"name": "name: rotate"} if key.name != "name" else {}
        rest |= {"hours": "hours: 1"} if key.name not in keys.TRIGGERS else {}
        path.write_text("every:\n- " + "\n  ".join((rest | given).values()) + "\n")
    else:
        every = "every: []\n" if key.file == SCHEDULE_FILE and key.name != "every" else ""
        path.write_text(f"{key.example}\n{every}")
    if key.file == RULES_FILE:
        read_rules(path)
    else:
        assert read_schedule(path).entries or key.name == "timezone"


def test_the_defaults_in_the_table_are_those_of_the_code() -> None:
    default = {key.dotted: key.default for key in KEYS}
    rules, entry = RetentionRules(), ScheduleEntry("rotate", "rotate", Every(1))
    assert float(default["promote_threshold"]) == rules.default.promote_threshold
    assert int(default["short_term_max_lines"]) == rules.default.short_term_max_lines
    assert default["access"] == rules.access
    assert parse_size(default["line_max"]) == rules.line_bytes_max
    assert parse_duration(default["torn_after"]) == rules.torn_after_seconds
    assert {name: default[f"engine.{name}"] for name in engine_values(rules.engine)} == {
        name: yaml_word(value) for name, value in engine_values(rules.engine).items()
    }
    for name, value in remote_values(RemoteRules("")).items():
        assert default[f"engine.remote.{name}"] == (value or "required")
    for section, values in section_values(rules).items():
        for name, value in values.items():
            assert default[f"{section}.{name}"] == yaml_word(value)
    for name, value in promotion_values(rules.default.promotion).items():
        inner = value if isinstance(value, dict) else {}
        assert inner or default[f"promote.{name}"] == value
        for key, one in inner.items():
            assert default[f"promote.{name}.{key}"] == yaml_word(one)
    assert parse_duration(default["restore_grace"]) == rules.restore_grace_seconds
    assert default["recall_log"] == yaml_word(rules.recall_log)
    assert default["timezone"] == Schedule().timezone
    assert parse_duration(default["every.jitter"]) == entry.jitter_seconds
    assert parse_duration(default["every.timeout"]) == entry.timeout_seconds
    assert default["every.enabled"] == str(entry.enabled).lower()


@pytest.mark.parametrize("key", KEYS, ids=by_dotted_name)
def test_each_key_stands_in_its_shipped_file_and_in_the_reference(key: Key) -> None:
    assert f"{key.name}:" in (ROOT / key.file).read_text()
    assert f"| `{key.dotted}` | {key.type} | {key.default} |" in reference_markdown()


def test_no_cell_of_the_reference_breaks_its_table() -> None:
    for line in reference_markdown().splitlines():
        assert line.count("|") == 5


@pytest.mark.parametrize(
    ("asked", "dotted"),
    [
        pytest.param("promote_threshold", "promote_threshold", id="top level first"),
        pytest.param("agents.NAME.promote_threshold", "agents.NAME.promote_threshold", id="agent"),
        pytest.param("agents.sky.promote_threshold", "agents.NAME.promote_threshold", id="named"),
        pytest.param("every.minutes", "every.minutes", id="entry"),
        pytest.param("minutes", "every.minutes", id="name alone"),
        pytest.param("every", "every", id="list"),
    ],
)
def test_a_key_is_explained_by_any_of_its_names(asked: str, dotted: str) -> None:
    key = explain(asked)
    assert "row" not in key.as_json(), "a number of our own papers says nothing to a user"
    assert key.dotted == dotted
    assert key.as_json()["key"] == dotted
    assert str(key).startswith(f"{dotted} ({key.file})\n")
    assert all(part in str(key) for part in (key.meaning, key.type, key.default, key.example))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("promote_treshold", 'did you mean "promote_threshold"'),
        ("every.minuts", 'did you mean "every.minutes"'),
        ("interval", 'did you mean "minutes"'),
        ("older_than", "sections .* name one: compress.older_than, prune.older_than$"),
        ("model", "name one: engine.model, compress.summarizer.model$"),
        ("zzz", "all keys: promote_threshold"),
        ("", "all keys: "),
        ("\ud800", "all keys: "),
    ],
)
def test_an_unknown_key_is_a_usage_error_that_names_the_nearest(asked: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        explain(asked)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("level", "name", "message"),
    [
        ("agents.NAME", "line_maxx", 'did you mean "line_max", which goes at the top level'),
        ("agents.NAME", "every", "it goes at the top level of schedule.yaml"),
        ("", "PROMOTE_THRESHOLD", 'did you mean "promote_threshold"?'),
        ("", "x" * 1_000_000, "known here: promote_threshold"),
    ],
)
def test_an_unknown_key_is_told_what_was_meant_and_where_it_goes(
    level: str, name: str, message: str
) -> None:
    said = keys.unknown_key(RULES_FILE, level, name)
    assert message in said
    assert len(said) < 600


def test_known_pairs_come_with_their_rows() -> None:
    complaints = Complaints(RULES_FILE)
    table = parse_yaml("access: group\nacces: group\n", complaints)
    assert isinstance(table, Table)
    found = [key.dotted for _, key in known_pairs(table, RULES_FILE, TOP, complaints)]
    assert found == ["access"]
    assert len(complaints.found) == 1


PARSERS = {"duration": parse_duration, "size": parse_size, "percentage": parse_percentage}


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key.kind in PARSERS and key.most], ids=by_dotted_name
)
def test_what_is_shown_of_a_value_at_its_bounds_can_be_written(key: Key) -> None:
    step = 1 if key.kind == "size" else 0
    for amount in (key.least, key.least + step, key.most - step, key.most):
        assert PARSERS[key.kind](key.in_unit(amount)) == amount
