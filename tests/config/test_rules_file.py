"""`retention_rules.yaml` says what it means, or every line that does not is named at once."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.engine_section import engine_values
from skymem.config.life_sections import section_values
from skymem.config.rules_file import examine_rules, read_rules
from skymem.errors import ConfigurationError
from skymem.model.kinds import KINDS
from skymem.model.rules import AgentRules, EngineRules, RetentionRules, SummarizerRules

SHIPPED = Path(__file__).parents[2] / "retention_rules.yaml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "retention_rules.yaml"


def complaints(path: Path, text: str) -> list[str]:
    """What `read_rules` says of a file with this text, line by line."""
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_rules(path)
    assert caught.value.exit_code == 78
    return str(caught.value).splitlines()


def rules_of(path: Path, text: str) -> RetentionRules:
    path.write_text(text)
    return read_rules(path)


def test_the_shipped_file_says_exactly_the_defaults() -> None:
    assert read_rules(SHIPPED) == RetentionRules()


def test_the_shipped_file_shows_every_key_in_working_order(path: Path) -> None:
    lines = SHIPPED.read_text().splitlines()
    agent = ("agents:", "  hobbs:", "    promote_threshold", "    short_term_max_lines")
    keys = (*agent, "access:", "line_max:", "torn_after:", "engine:")
    engine = tuple(f"  {name}:" for name in engine_values(EngineRules()))
    shown, section = [], ""
    for line in lines:
        said = line.removeprefix("# ")
        section = said.split(":")[0] if said[:1].islower() else section
        wanted = said.startswith(keys) or (section == "engine" and said.startswith(engine))
        shown.append(said if wanted else line)
    rules = rules_of(path, "\n".join(shown))
    assert rules.default == AgentRules()
    assert rules.for_agent("hobbs") == AgentRules(0.60, 100)
    assert (rules.access, rules.line_bytes_max, rules.torn_after_seconds) == ("private", 2**20, 300)
    assert rules.engine == EngineRules()


def test_all_that_the_shipped_file_shows_may_be_in_force_at_once(path: Path) -> None:
    text = re.sub(r"(?m)^# ( *[a-z0-9_]+:( .*)?)$", r"\1", SHIPPED.read_text())
    rules, usual = rules_of(path, text), RetentionRules()
    assert rules.compress.summarizer == SummarizerRules(
        "http://127.0.0.1:11434/v1", "llama3.2", "OPENAI_API_KEY"
    )
    assert rules.compress._replace(summarizer=None) == usual.compress
    assert rules.prune.superseded_after_seconds == usual.prune.superseded_after_seconds
    assert None not in (rules.prune.older_than_seconds, rules.prune.archive_bytes_max)
    assert (rules.merge, rules.trash, rules.budget) == (usual.merge, usual.trash, usual.budget)
    assert (rules.restore_grace_seconds, rules.recall_log) == (30 * 86_400, True)
    assert {name: rules.kinds[name] for name in rules.kinds if name != "recipe"} == dict(KINDS)
    assert (rules.kinds["recipe"].ttl_days, rules.kinds["recipe"].merge) == (365, True)


def test_every_key_is_read_into_its_value(path: Path) -> None:
    rules = rules_of(
        path,
        "promote_threshold: 1\nshort_term_max_lines: 100\naccess: group\n"
        "line_max: 64KiB\ntorn_after: 1.5h\n"
        "engine: {backend: sentence-transformers, model: /m, threads: 1, batch_size: 8,"
        " chunks_max: 9, idle: 90s, download: true, recent: false}\n",
    )
    assert rules == RetentionRules(
        AgentRules(1.0, 100),
        access="group",
        line_bytes_max=65_536,
        torn_after_seconds=5400.0,
        engine=EngineRules("sentence-transformers", "/m", 1, 8, 9, 90.0, True, False),
    )


def test_what_is_wrong_with_the_engine_is_named_line_by_line(path: Path) -> None:
    text = "engine:\n  threads: 0\n  backend: torch\n  model: models/mine\n  thread: 2\n  idle: 9\n"
    assert complaints(path, text) == [
        "retention_rules.yaml:2:12: threads: 0 is not in 1 to 64",
        'retention_rules.yaml:3:12: backend: "torch" is not one of onnx, sentence-transformers',
        (
            'retention_rules.yaml:4:10: model: "models/mine" is a relative path '
            "(write a name without a slash, or a path that starts with one)"
        ),
        'retention_rules.yaml:5:3: unknown key "thread" (did you mean "threads"?)',
        'retention_rules.yaml:6:9: idle: "9" has no unit (is it "9s", "9m", "9h" or "9d"?)',
    ]


def test_braces_alone_take_every_default(path: Path) -> None:
    assert rules_of(path, "{}\n") == RetentionRules()


def test_an_agent_takes_what_it_does_not_say_from_the_top_wherever_that_stands(path: Path) -> None:
    rules = rules_of(path, "agents: {hobbs: {short_term_max_lines: 100}}\npromote_threshold: 0.5\n")
    assert rules.for_agent("hobbs") == AgentRules(0.5, 100)
    assert rules.for_agent("sky") == AgentRules(0.5, 5000)


@pytest.mark.parametrize("name", ["no", "null", "0123", "1e3", "on", "true", "12"])
def test_an_agents_name_is_text_however_yaml_reads_it(name: str, path: Path) -> None:
    rules = rules_of(path, f"agents:\n  {name}: {{promote_threshold: 0.5}}\n")
    assert list(rules.agents) == [name]


@pytest.mark.parametrize(
    "name", ["Sky", "ѕky", "..", "a/b", '"sky\\n"', '"a\\0b"', "x" * 300, "-a", "~", '""']
)
def test_an_agents_name_off_the_list_is_refused_with_its_place(name: str, path: Path) -> None:
    [complaint] = complaints(path, f"agents:\n  ? {name}\n  : {{promote_threshold: 0.5}}\n")
    assert complaint.startswith("retention_rules.yaml:2:5: agent name ")
    assert "use 1 to 64 of a-z, 0-9, _ and -" in complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "promote_treshold: 0.7",
            '1:1: unknown key "promote_treshold" (did you mean "promote_threshold"?)',
            id="typing error",
        ),
        pytest.param(
            "retention: 30",
            '1:1: unknown key "retention" (known here: promote_threshold, short_term_max_lines, '
            "agents, access, line_max, torn_after, engine, "
            "compress, merge, conversation, prune, trash, restore_grace, budget, recall_log, "
            "kinds, promote, importance, tenants, documents, patterns, scratchpad, preferences, "
            "playbooks, share, secrets, trust, api, alarms)",
            id="nothing like it",
        ),
        pytest.param(
            "agents:\n  sky: {line_max: 1MiB}",
            '2:9: "line_max" does not belong here (it goes at the top level of '
            "retention_rules.yaml)",
            id="top key in an agent",
        ),
        pytest.param(
            "minutes: 10",
            '1:1: "minutes" does not belong here (it goes in an entry under every: in '
            "schedule.yaml)",
            id="key of the other file",
        ),
        pytest.param(
            "sky: {promote_threshold: 0.5}",
            '1:1: the rules of agent "sky" go under agents:',
            id="agent at the top",
        ),
        pytest.param(
            "agents:\n  sky: {promote_treshold: 1}",
            '2:9: unknown key "promote_treshold" (did you mean "promote_threshold"?)',
            id="typing error in an agent",
        ),
        pytest.param(
            "promote_threshold: 7", "1:20: promote_threshold: 7 is not in 0 to 1", id="above"
        ),
        pytest.param(
            "promote_threshold: -0.1", "1:20: promote_threshold: -0.1 is not in 0 to 1", id="below"
        ),
        pytest.param(
            "promote_threshold: .nan",
            "1:20: promote_threshold: .nan is not a finite number",
            id="NaN",
        ),
        pytest.param(
            "promote_threshold: 1e999",
            "1:20: promote_threshold: 1e999 is not a finite number",
            id="past what a float holds",
        ),
        pytest.param(
            "promote_threshold: true",
            '1:20: promote_threshold: "true" is not a number (such as promote_threshold: 0.70)',
            id="true is no number",
        ),
        pytest.param(
            'promote_threshold: "0.7"',
            '1:20: promote_threshold: "0.7" is not a number but text (write it without quotes)',
            id="quoted number",
        ),
        pytest.param(
            "short_term_max_lines: 0",
            "1:23: short_term_max_lines: 0 is not in 1 to 1000000000",
            id="keeping nothing",
        ),
        pytest.param(
            "short_term_max_lines: 5e3",
            "1:23: short_term_max_lines: 5e3 is not a whole number",
            id="exponent",
        ),
        pytest.param(
            "short_term_max_lines: 5_000",
            '1:23: short_term_max_lines: "5_000" is not a whole number (such as '
            "short_term_max_lines: 5000)",
            id="underscore",
        ),
        pytest.param(
            "line_max: 1024",
            '1:11: line_max: "1024" has no unit (is it "1024B", "1024KiB", "1024MiB" or '
            '"1024GiB"?)',
            id="size without unit",
        ),
        pytest.param(
            "line_max: 1MB",
            '1:11: line_max: "1MB" has an unknown unit (try "1MiB"; units: B, KiB, MiB, GiB)',
            id="size in another unit",
        ),
        pytest.param(
            "line_max: 1GiB", "1:11: line_max: 1GiB is not in 1KiB to 64MiB", id="size too large"
        ),
        pytest.param("line_max: 0B", "1:11: line_max: 0B is not in 1KiB to 64MiB", id="no size"),
        pytest.param(
            "torn_after: 300",
            '1:13: torn_after: "300" has no unit (is it "300s", "300m", "300h" or "300d"?)',
            id="duration without unit",
        ),
        pytest.param(
            "torn_after: 5 minutes",
            '1:13: torn_after: "5 minutes" has an unknown unit (try "5m"; units: s, m, h, d)',
            id="duration in words",
        ),
        pytest.param(
            "torn_after: -5m",
            '1:13: torn_after: "-5m" is not a number with a unit (such as "1h")',
            id="negative duration",
        ),
        pytest.param(
            "torn_after: 0s", "1:13: torn_after: 0s is not in 1s to 7d", id="no time at all"
        ),
        pytest.param(
            "access: public", '1:9: access: "public" is not one of private, group', id="access"
        ),
        pytest.param(
            "agents: [sky]",
            "1:9: agents must be a mapping, not a list (such as agents: {sky: "
            "{promote_threshold: 0.60}})",
            id="list of agents",
        ),
        pytest.param(
            "agents:\n  sky:",
            "2:3: agent sky has no rules (such as sky: {promote_threshold: 0.60})",
            id="agent without rules",
        ),
        pytest.param(
            "promote_threshold: [0.7]",
            "1:20: promote_threshold must be a number, not a list (such as promote_threshold: "
            "0.70)",
            id="list for a number",
        ),
        pytest.param(
            "promote_threshold: 0.7\npromote_threshold: 0.8",
            '2:1: duplicate key "promote_threshold" (first on line 1, again here)',
            id="twice",
        ),
        pytest.param(
            "agents:\n  no: {promote_threshold: 1}\n  'no': {promote_threshold: 0}",
            '3:3: duplicate key "no" (first on line 2, again here)',
            id="agent twice",
        ),
    ],
)
def test_each_fault_is_told_with_its_place_and_the_way_out(
    text: str, complaint: str, path: Path
) -> None:
    assert complaints(path, text) == [f"retention_rules.yaml:{complaint}"]


@pytest.mark.parametrize(
    "key",
    ["promote_threshold", "short_term_max_lines", "agents", "access", "line_max", "torn_after"],
)
@pytest.mark.parametrize("empty", ["", " null", " ~"])
def test_a_key_with_nothing_behind_it_is_never_read_as_the_default(
    key: str, empty: str, path: Path
) -> None:
    [complaint] = complaints(path, f"{key}:{empty}\n")
    assert complaint.startswith(f"retention_rules.yaml:1:1: {key} has no value (such as {key}: ")


def test_an_agents_empty_key_is_refused_too(path: Path) -> None:
    [complaint] = complaints(path, "agents: {sky: {promote_threshold: }}\n")
    assert "promote_threshold has no value" in complaint


def test_all_faults_of_a_file_are_told_at_once_in_its_order(path: Path) -> None:
    text = "agents:\n  Sky: {promote_threshold: 1}\nline_max: 5\npromote_threshold: 2\nx: 1\n"
    found = complaints(path, text)
    assert [line.split(":")[1] for line in found] == ["2", "3", "4", "5"]


def test_a_missing_file_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"retention_rules\.yaml:1:1: .*skymem init"):
        read_rules(path)


KEYS = (
    "promote_threshold",
    "agents",
    "line_max",
    "sky",
    "x",
    *section_values(RetentionRules()),
    "kinds",
    "tenants",
)
VALUES = (
    "",
    "0.5",
    "1",
    "-1",
    "5m",
    "1MiB",
    "true",
    "[1]",
    "{promote_threshold: 0.5}",
    "{older_than: 1d}",
    "{per_run: 5%}",
    "{a: {ttl: 1d}}",
    "*a",
    "'x",
)
LINES = st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(": ".join)


@given(st.one_of(st.binary(), st.text().map(str.encode), st.lists(LINES).map("\n".join)))
def test_any_file_at_all_gives_rules_or_complaints_with_their_places(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_rules.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    reading = examine_rules(path)
    for problem in reading.complaints.found:
        assert str(problem).startswith(f"any_rules.yaml:{problem.line}:{problem.column}: ")
        assert str(problem).isprintable()
        assert problem.line >= 1
    if not reading.complaints.found:
        assert 0 <= read_rules(path).default.promote_threshold <= 1
